"""GRANDE's network: many hard trees, each weighted by the leaf that a row reaches."""

import math

import torch
from torch import Tensor, nn

from treelab.learners.common.tree_batch import Rows
from treelab.learners.grande.starts import SPREAD, Starts
from treelab.ops.axis_trees import axis_trees
from treelab.ops.losses import class_loss, squared_error

VALID_ROWS = 2_048  # rows that are validated at once, to bound memory


class WeightedTreesNetwork(nn.Module):
    """Groups of trees; a group's outputs are mixed by a softmax over its leaf weights.

    Each group is one candidate for the training loop: it never sees the rows of its
    own fold, and is judged by them. Parameters have the shape (G, E, ...), G groups of
    E trees.

    Parameters
    ----------
    rows : Rows
        What to train and validate on; fold ``g`` is held out by group ``g``.
    starts : Starts
        Of all ``G * E`` trees, group by group.
    n_groups : int
    n_trees : int
        Trees that count; the last ones beyond, which even the groups out, take no
        part.
    row_share : float
        Share of the training rows that each tree sees.
    dropout : float
        Share of the trees that a step leaves out; the others' weights make up for
        them, as the softmax is over those that stay.
    leaf_weights : bool
        A weight for each leaf; False has one for each tree.
    generator : torch.Generator
        Draws the weights, the subsets and the dropout.
    loss, focal_gamma, soft, transform
        See `class_loss`, `decide` and `select`.
    """

    def __init__(
        self,
        rows: Rows,
        starts: Starts,
        *,
        n_groups: int,
        n_trees: int,
        row_share: float,
        dropout: float,
        leaf_weights: bool,
        generator: torch.Generator,
        loss: str = "cross_entropy",
        focal_gamma: float = 2.0,
        soft: str = "softsign",
        transform: str = "entmax15",
    ):
        super().__init__()
        self.rows = rows
        self.n_candidates = n_groups
        self.dropout = dropout
        self.generator = generator
        self.loss = {"kind": loss, "focal_gamma": focal_gamma}
        self.decision = {"soft": soft, "transform": transform}
        device = rows.x.device
        options = {"generator": generator, "device": device}

        def grouped(part: Tensor) -> Tensor:
            return part.unflatten(0, (n_groups, -1)).contiguous()

        self.logits = nn.Parameter(grouped(starts.logits))
        self.threshold = nn.Parameter(grouped(starts.threshold))
        self.leaf_value = nn.Parameter(grouped(starts.leaf_value))
        n_weights = self.leaf_value.shape[2] if leaf_weights else 1
        shape = (*self.leaf_value.shape[:2], n_weights, 1)
        self.weight = nn.Parameter(SPREAD * torch.randn(shape, **options))
        self.columns = None if starts.columns is None else grouped(starts.columns)
        fold = torch.arange(n_groups, device=device)[:, None]
        self.train_weight = rows.weight[:, 0] * (rows.fold != fold)  # (G, n)
        self.held_out = [(rows.fold == g).nonzero()[:, 0] for g in range(n_groups)]
        n_made = len(starts.logits)
        self.counts = None
        if n_trees < n_made:
            self.counts = grouped(torch.arange(n_made, device=device) < n_trees)
        self.sees = None
        if row_share < 1:
            sees = torch.rand(n_made, rows.n_train, **options) < row_share
            sees = grouped(sees)
            if self.counts is not None:
                sees &= self.counts[..., None]
            # A row that no tree of a group would see: all do.
            self.sees = sees | ~sees.any(1, keepdim=True)

    def packed(self, groups: slice = slice(None)) -> Tensor:
        """Values and weight of each leaf, (G * E, L, C + 1)."""
        value, weight = self.leaf_value[groups], self.weight[groups]
        weight = weight.expand(-1, -1, value.shape[2], -1)
        return torch.cat([value, weight], -1).flatten(0, 1)

    def forward(
        self,
        x: Tensor,
        taking_part: Tensor | None = None,
        groups: slice = slice(None),
    ) -> Tensor:
        """Raw outputs (G, C, B) of some groups on rows (B, F).

        Trees that take no part, False in (G, E, 1) or (G, E, B), are left out.
        """
        logits = self.logits[groups]
        told = axis_trees(
            x,
            logits.flatten(0, 1),
            self.threshold[groups].flatten(0, 1),
            self.packed(groups),
            columns=None
            if self.columns is None
            else self.columns[groups].flatten(0, 1),
            **self.decision,
        ).unflatten(0, logits.shape[:2])  # (G, E, C + 1, B)
        weight = told[:, :, -1]
        if taking_part is not None:
            weight = weight.masked_fill(~taking_part, -math.inf)
        if self.counts is not None:
            weight = weight.masked_fill(~self.counts[groups, :, None], -math.inf)
        share = weight.softmax(1)  # (G, E, B)
        return (share[:, :, None] * told[:, :, :-1]).sum(1)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (G,) on these rows, each group's own fold left out."""
        taking_part = None if self.sees is None else self.sees[:, :, rows]
        if self.dropout > 0:
            taking_part = self._drop(taking_part)
        output = self(self.rows.x[rows], taking_part)
        loss = self._loss(output, self.rows.target[rows])  # (G, B)
        weight = self.train_weight[:, rows]
        return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss (G,) of each group on the rows that it holds out."""
        means = []
        for output, rows in zip(self.valid_outputs(), self.held_out):
            weight = self.rows.weight[rows, 0]
            loss = self._loss(output, self.rows.truth[rows])
            means.append((loss * weight).sum() / weight.sum())
        return torch.stack(means)

    @torch.no_grad()
    def valid_outputs(self) -> list[Tensor]:
        """Raw outputs (C, m) of each group on the m rows that it holds out."""
        return [
            torch.cat(
                [
                    self(part, groups=slice(g, g + 1))[0]
                    for part in self.rows.x[rows].split(VALID_ROWS)
                ],
                1,
            )
            for g, rows in enumerate(self.held_out)
        ]

    @torch.no_grad()
    def state(self) -> dict[str, Tensor]:
        """A copy of every parameter."""
        return {name: t.detach().clone() for name, t in self.named_parameters()}

    @torch.no_grad()
    def reset(self, state: dict[str, Tensor], mask: Tensor) -> None:
        """Put the groups of ``mask`` (G,) back to what `state` copied."""
        for name, now in self.named_parameters():
            now[mask] = state[name][mask]

    def _loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (..., B) of outputs (..., C, B)."""
        if self.rows.n_classes == 0:
            return squared_error(output, target)
        return class_loss(output, target, **self.loss)

    def _drop(self, taking_part: Tensor | None) -> Tensor:
        """Leave out a share of the trees for this step, but never all of a group."""
        shape = (*self.logits.shape[:2], 1)
        stays = torch.rand(shape, generator=self.generator, device=self.logits.device)
        stays = stays >= self.dropout
        possible = (
            torch.ones_like(stays) if self.counts is None else self.counts[..., None]
        )
        if taking_part is not None:
            possible = possible & taking_part
        left = possible & stays
        return torch.where(left.any(1, keepdim=True), left, possible)
