"""Many hard, axis-aligned trees as one module: restarts, depths and folds at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.common.rows import FoldedRows
from treelab.ops.axis_trees import axis_leaves, axis_trees
from treelab.ops.losses import class_loss, squared_error
from treelab.ops.select import chosen_split

LEAF_PRIOR = 1.0  # rows' worth of the overall mean that every leaf holds


@dataclass(frozen=True)
class Candidate:
    """One tree of the batch: its depth, the fold it never sees, how it started."""

    depth: int
    fold: int = 0
    start: str = "random"


class TreeBatch(nn.Module):
    """E trees, those of one depth sharing their tensors; see `axis_trees`.

    Parameters
    ----------
    rows : FoldedRows
        What to train and validate on.
    candidates : sequence of E Candidate
        Ordered by depth.
    logits, threshold : list of Tensor of shape (E_d, N_d, K)
        Where the selectors and thresholds start, for each depth in ascending order.
    columns : list of (LongTensor of shape (E_d, K) or None), or None
        The features that each tree may use, for each depth; None: all.
    soft, transform : str
        See `decide` and `select`.
    loss, focal_gamma, poly_epsilon
        See `class_loss`; not used for regression.
    """

    notes = ()  # what a tree of the batch must say of itself

    def __init__(
        self,
        rows: FoldedRows,
        candidates: Sequence[Candidate],
        logits: Sequence[Tensor],
        threshold: Sequence[Tensor],
        columns: Sequence[Tensor | None] | None = None,
        *,
        soft: str = "logistic",
        transform: str = "entmax15",
        loss: str = "cross_entropy",
        focal_gamma: float = 2.0,
        poly_epsilon: float = 1.0,
    ):
        super().__init__()
        self.rows = rows
        self.candidates = tuple(candidates)
        self.n_candidates = len(self.candidates)
        self.depths = tuple(candidate.depth for candidate in self.candidates)
        self.columns = [None] * len(logits) if columns is None else list(columns)
        self.decision = {"soft": soft, "transform": transform}
        self.loss = {
            "kind": loss,
            "focal_gamma": focal_gamma,
            "poly_epsilon": poly_epsilon,
        }
        device = rows.x.device
        fold = torch.tensor([c.fold for c in self.candidates], device=device)
        self.held_out = rows.fold == fold[:, None]  # (E, n)
        self.train_weight = rows.weight[:, 0] * ~self.held_out
        self.valid_weight = rows.weight[:, 0] * self.held_out
        # Rows that no candidate holds out come first; validation passes them by.
        self.first_held_out = int((rows.fold >= 0).long().argmax())
        self.latest_valid_loss = torch.full((self.n_candidates,), torch.inf)
        self.groups = _groups([len(part) for part in logits])  # slices of candidates
        self.logits = nn.ParameterList(logits)
        self.threshold = nn.ParameterList(threshold)
        self.leaf_value = nn.ParameterList(
            leaf_outputs(leaf, rows, self.train_weight[trees], part.shape[1] + 1)
            for trees, leaf, part in zip(
                self.groups, self._leaves(rows.x), logits, strict=True
            )
        )
        # For the training loop: whose each parameter is.
        self.parameter_candidates = {
            f"{name}.{group}": trees
            for group, trees in enumerate(self.groups)
            for name in ("logits", "threshold", "leaf_value")
        }

    def forward(self, x: Tensor) -> Tensor:
        """Raw outputs (E, C, B) on encoded rows (B, F)."""
        return torch.cat(
            [
                axis_trees(
                    x,
                    self.logits[group],
                    self.threshold[group],
                    self.leaf_value[group],
                    columns=self.columns[group],
                    **self.decision,
                )
                for group in range(len(self.groups))
            ]
        )

    def row_loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Loss (E, B) of raw outputs (E, C, B)."""
        if self.rows.n_classes == 0:
            return squared_error(output, target)
        return class_loss(output, target, **self.loss)

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (E,) on these rows, each tree's own fold left out."""
        output = self(self.rows.x[rows])
        loss = self.row_loss(output, self.rows.target[rows])
        return _weighted_mean(loss, self.train_weight[:, rows])

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss (E,) on the rows that each tree's fold holds out."""
        rows = slice(self.first_held_out, None)
        output = self(self.rows.x[rows])
        loss = self.row_loss(output, self.rows.truth[rows])
        self.latest_valid_loss = _weighted_mean(loss, self.valid_weight[:, rows])
        return self.latest_valid_loss

    def leader(self) -> int:
        """Candidate with the lowest validation loss when last measured."""
        return int(torch.nan_to_num(self.latest_valid_loss, nan=torch.inf).argmin())

    def leaves(self, x: Tensor) -> Tensor:
        """Leaf (E, B) that each encoded row (B, F) reaches."""
        return torch.cat(self._leaves(x))

    def _leaves(self, x: Tensor) -> list[Tensor]:
        """Leaf (E_d, B) that each row reaches, for each depth."""
        return [
            axis_leaves(
                x,
                self.logits[group],
                self.threshold[group],
                columns=self.columns[group],
            )
            for group in range(len(self.groups))
        ]

    @torch.no_grad()
    def held_out_answers(self) -> list[Tensor]:
        """What each tree says of the rows it did not see, E of (m, n_classes or 1).

        The leaves answer from the rows that the tree did see.
        """
        leaf = self.leaves(self.rows.x)  # (E, n)
        told = leaf_means(
            leaf, self.rows, self.train_weight, self.n_leaves, prior=LEAF_PRIOR
        )
        return [
            told[tree, leaf[tree, held_out]]
            for tree, held_out in enumerate(self.held_out)
        ]

    @torch.no_grad()
    def answers_fitted(self) -> Iterator[Tensor]:
        """What each tree, fitted to every row, says of it: E of (n, n_classes or 1)."""
        leaf = self.leaves(self.rows.x)  # (E, n)
        weight = self.rows.weight[:, 0].expand(len(leaf), -1)
        told = leaf_means(leaf, self.rows, weight, self.n_leaves, prior=LEAF_PRIOR)
        for tree, reached in enumerate(leaf):
            yield told[tree, reached]

    @property
    def n_leaves(self) -> int:
        """Leaves of the deepest trees."""
        return 2 ** max(self.depths)

    @torch.no_grad()
    def state(self) -> dict[str, Tensor]:
        """A copy of every parameter."""
        return {name: t.detach().clone() for name, t in self.named_parameters()}

    @torch.no_grad()
    def reset(self, state: dict[str, Tensor], mask: Tensor) -> None:
        """Put the candidates of ``mask`` (E,) back to what `state` copied."""
        for name, now in self.named_parameters():
            own = mask[self.parameter_candidates[name]]
            own = own.view(-1, *[1] * (now.ndim - 1))
            now.copy_(torch.where(own, state[name], now))

    def one(self, tree: int) -> dict:
        """Selector, thresholds and columns of one tree, as a batch of one."""
        group = sum(tree >= trees.stop for trees in self.groups)
        place = tree - self.groups[group].start
        only = slice(place, place + 1)
        columns = self.columns[group]
        return {
            "logits": self.logits[group][only],
            "threshold": self.threshold[group][only],
            "columns": None if columns is None else columns[only],
        }

    @torch.no_grad()
    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        _, feature, threshold = chosen_split(**self.one(tree))
        return feature[0].cpu().numpy(), threshold[0].cpu().numpy()

    @torch.no_grad()
    def refitted(self, tree: int, x: Tensor, weighting: int = 0) -> np.ndarray:
        """What the leaves of one tree say when fitted to the first rows.

        Parameters
        ----------
        x : Tensor of shape (m, F)
            The first m rows, as they will be encoded at prediction.
        weighting : int
            Column of the rows' weights to use.

        Returns
        -------
        ndarray of shape (L, n_classes or 1)
            Class shares, or means in the units of the rows' target.
        """
        leaf = axis_leaves(x, **self.one(tree))
        weight = self.rows.weight[: len(x), weighting][None]
        value = leaf_means(
            leaf, self.rows, weight, 2 ** self.depths[tree], prior=LEAF_PRIOR
        )
        return value[0].double().cpu().numpy()


def leaf_outputs(
    leaf: Tensor, rows: FoldedRows, weight: Tensor, n_leaves: int
) -> Tensor:
    """Raw outputs (E, L, C) that fit each leaf's rows; see `leaf_means`."""
    told = leaf_means(leaf, rows, weight, n_leaves, prior=LEAF_PRIOR)
    if rows.n_classes == 0:
        return told
    log_p = told.clamp(min=1e-6).log()
    if rows.n_classes == 2:
        return log_p[..., 1:] - log_p[..., :1]
    return log_p - log_p.mean(-1, keepdim=True)


def leaf_means(
    leaf: Tensor, rows: FoldedRows, weight: Tensor, n_leaves: int, *, prior: float = 0.0
) -> Tensor:
    """Weighted mean target in each leaf, drawn to the mean of all rows.

    Parameters
    ----------
    leaf : LongTensor of shape (E, m)
        Leaf that each of the first m rows reaches.
    rows : FoldedRows
        Targets of the rows.
    weight : Tensor of shape (E, m)
        What each row counts for each tree.
    n_leaves : int
        Leaves a tree, L.
    prior : float, default=0.0
        Rows' worth of the overall mean that is added to every leaf. A leaf that no
        row reaches takes the mean of all rows.

    Returns
    -------
    Tensor of shape (E, L, n_classes or 1)
        Class shares, or means.
    """
    target = rows.target[: leaf.shape[1]]
    if rows.n_classes and target.ndim == 1:
        target = nn.functional.one_hot(target, rows.n_classes)
    target = target.reshape(len(target), -1).to(weight.dtype)  # (m, C)
    n_trees, n_outputs = len(leaf), target.shape[1]
    first = n_leaves * torch.arange(n_trees, device=leaf.device)[:, None]
    place = (leaf + first).view(-1)  # (E * m,)
    total = weight.new_empty(n_outputs, n_trees * n_leaves)
    for output in range(n_outputs):
        part = (weight * target[:, output]).view(-1)
        total[output] = torch.bincount(place, part, minlength=n_trees * n_leaves)
    count = torch.bincount(place, weight.reshape(-1), minlength=n_trees * n_leaves).to(
        weight.dtype
    )
    total = total.view(n_outputs, n_trees, n_leaves).permute(1, 2, 0)
    count = count.view(n_trees, n_leaves, 1)
    overall = (weight @ target) / weight.sum(1, keepdim=True).clamp(min=1e-12)
    prior = torch.where(count > 0, prior, max(prior, 1.0))
    return (total + prior * overall[:, None]) / (count + prior)


def _groups(sizes: Sequence[int]) -> list[slice]:
    """Slices of these sizes, one after another."""
    stops = np.cumsum(sizes).tolist()
    return [slice(stop - size, stop) for stop, size in zip(stops, sizes)]


def _weighted_mean(loss: Tensor, weight: Tensor) -> Tensor:
    """Mean (E,) of losses (E, B); zero where nothing counts."""
    return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)
