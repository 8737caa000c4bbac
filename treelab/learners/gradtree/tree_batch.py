"""Many hard, axis-aligned trees as one module: restarts, depths and folds at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.common.objective import Objective
from treelab.learners.common.rows import FoldedRows
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.ops.axis_trees import axis_leaves, axis_trees
from treelab.ops.select import chosen_split

LEAF_PRIOR = 1.0  # rows' worth of the overall mean that every leaf holds


@dataclass(frozen=True)
class Candidate:
    """One tree of the batch: its depth, the fold it never sees, how it started."""

    depth: int
    fold: int = 0
    start: str = "random"


@dataclass(frozen=True)
class SplitTensors:
    """Splits of E trees of one depth, to train or to read.

    Attributes
    ----------
    logits, threshold : Tensor of shape (E, N, K)
        In the paper's symbols, I and T.
    columns : LongTensor of shape (E, K) or None
        The features that each tree may use; None: all.
    """

    logits: Tensor
    threshold: Tensor
    columns: Tensor | None = None


class TreeBatch(nn.Module):
    """E trees, those of one depth sharing their tensors; see ``axis_trees``.

    Parameters
    ----------
    rows : FoldedRows
        What to train and validate on.
    candidates : sequence of E Candidate
        Ordered by depth.
    splits : sequence of SplitTensors
        Before the first step, of each depth, ascending.
    objective : Objective
        Its loss.
    settings : GradTreeSettings
        Its differentiable split function and selector.
    """

    notes: tuple[str, ...] = ()  # of every tree of the batch, once exported

    def __init__(
        self,
        rows: FoldedRows,
        candidates: Sequence[Candidate],
        splits: Sequence[SplitTensors],
        objective: Objective,
        settings: GradTreeSettings,
    ):
        super().__init__()
        self.rows = rows
        self.candidates = tuple(candidates)
        self.n_candidates = len(self.candidates)
        self.depths = tuple(candidate.depth for candidate in self.candidates)
        self.columns = [group.columns for group in splits]
        self.objective = objective
        self.settings = settings
        device = rows.x.device
        fold = torch.tensor([c.fold for c in self.candidates], device=device)
        self.held_out = rows.fold == fold[:, None]  # (E, n)
        self.train_weight = rows.weight[:, 0] * ~self.held_out
        self.valid_weight = rows.weight[:, 0] * self.held_out
        # Rows that no candidate holds out come first; validation passes them by.
        self.first_held_out = int((rows.fold >= 0).long().argmax())
        self.latest_valid_loss = torch.full((self.n_candidates,), torch.inf)
        self.groups = _slices([len(group.logits) for group in splits])  # of candidates
        self.logits = nn.ParameterList(group.logits for group in splits)
        self.threshold = nn.ParameterList(group.threshold for group in splits)
        self.leaf_value = nn.ParameterList(
            leaf_outputs(leaf, rows, self.train_weight[trees], 2 ** self._depth(trees))
            for trees, leaf in zip(self.groups, self._leaves(rows.x), strict=True)
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
                    soft=self.settings.decision,
                    transform=self.settings.selector,
                )
                for group in range(len(self.groups))
            ]
        )

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Mean training loss (E,) on these rows, each tree's own fold left out."""
        output = self(self.rows.x[rows])
        loss = self.objective.loss(output, self.rows.target[rows])
        return _weighted_mean(loss, self.train_weight[:, rows])

    @torch.no_grad()
    def valid_loss(self) -> Tensor:
        """Mean loss (E,) on the rows that each tree's fold holds out."""
        rows = slice(self.first_held_out, None)
        output = self(self.rows.x[rows])
        loss = self.objective.loss(output, self.rows.target[rows])
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

    def _depth(self, trees: slice) -> int:
        """Depth of the trees of one group."""
        return self.depths[trees.start]

    @torch.no_grad()
    def held_out_predictions(self) -> list[Tensor]:
        """Each tree's predictions on the rows it did not see, E of (m, n_classes or 1).

        The leaves' values come from the rows that the tree did see.
        """
        leaf = self.leaves(self.rows.x)  # (E, n)
        value = leaf_means(leaf, self.rows, self.train_weight, self.n_leaves)
        return [
            value[tree, leaf[tree, held_out]]
            for tree, held_out in enumerate(self.held_out)
        ]

    @torch.no_grad()
    def refitted_predictions(self) -> Iterator[Tensor]:
        """Each tree's predictions, leaves refitted to every row: (n, n_classes or 1).

        One Tensor a tree, for all rows.
        """
        leaf = self.leaves(self.rows.x)  # (E, n)
        weight = self.rows.weight[:, 0].expand(len(leaf), -1)
        value = leaf_means(leaf, self.rows, weight, self.n_leaves)
        for tree, reached in enumerate(leaf):
            yield value[tree, reached]

    @property
    def n_leaves(self) -> int:
        """Leaves of the deepest trees."""
        return 2 ** max(self.depths)

    def _tensors_of(self, tree: int) -> SplitTensors:
        """Splits of one tree, as a batch of one."""
        group = sum(tree >= trees.stop for trees in self.groups)
        place = tree - self.groups[group].start
        only = slice(place, place + 1)
        columns = self.columns[group]
        return SplitTensors(
            self.logits[group][only],
            self.threshold[group][only],
            None if columns is None else columns[only],
        )

    @torch.no_grad()
    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Feature and threshold (encoded, float32) of every split of one tree."""
        own = self._tensors_of(tree)
        _, feature, threshold = chosen_split(own.logits, own.threshold, own.columns)
        return feature[0].cpu().numpy(), threshold[0].cpu().numpy()

    @torch.no_grad()
    def refitted_values(self, tree: int, x: Tensor, weighting: int = 0) -> np.ndarray:
        """Leaf values of one tree, refitted to the first rows.

        Parameters
        ----------
        tree : int
            Position in the batch.
        x : Tensor of shape (m, F)
            The first m rows, as they will be encoded at prediction.
        weighting : int
            Column of the rows' weights to use.

        Returns
        -------
        ndarray of shape (L, n_classes or 1)
            Class probabilities, or means of the rows' target.
        """
        own = self._tensors_of(tree)
        leaf = axis_leaves(x, own.logits, own.threshold, columns=own.columns)
        weight = self.rows.weight[: len(x), weighting][None]
        value = leaf_means(leaf, self.rows, weight, 2 ** self.depths[tree])
        return value[0].double().cpu().numpy()


def leaf_outputs(
    leaf: Tensor, rows: FoldedRows, weight: Tensor, n_leaves: int
) -> Tensor:
    """Raw outputs (E, L, C) that fit each leaf's rows; see ``leaf_means``."""
    value = leaf_means(leaf, rows, weight, n_leaves)
    if rows.n_classes == 0:
        return value
    log_p = value.clamp(min=1e-6).log()
    if rows.n_classes == 2:
        return log_p[..., 1:] - log_p[..., :1]
    return log_p - log_p.mean(-1, keepdim=True)


def leaf_means(leaf: Tensor, rows: FoldedRows, weight: Tensor, n_leaves: int) -> Tensor:
    """Weighted mean target in each leaf, shrunk towards the mean of all rows.

    `LEAF_PRIOR` rows' worth of the overall mean is added to every leaf; one that no
    row reaches takes the mean of all rows.

    Parameters
    ----------
    leaf : LongTensor of shape (E, m)
        Leaf that each of the first m rows reaches.
    rows : FoldedRows
        Targets of the rows.
    weight : Tensor of shape (E, m)
        Weight of each row for each tree.
    n_leaves : int
        Leaves of a tree, L.

    Returns
    -------
    Tensor of shape (E, L, n_classes or 1)
        Class probabilities, or means.
    """
    target = rows.target[: leaf.shape[1]]
    if rows.n_classes:
        target = nn.functional.one_hot(target, rows.n_classes)
    target = target.reshape(len(target), -1).to(weight.dtype)  # (m, C)
    n_trees, n_outputs = len(leaf), target.shape[1]
    first = n_leaves * torch.arange(n_trees, device=leaf.device)[:, None]
    place = (leaf + first).view(-1)  # (E * m,)
    total = weight.new_empty(n_outputs, n_trees * n_leaves)
    for output in range(n_outputs):
        weighted = (weight * target[:, output]).view(-1)
        total[output] = torch.bincount(place, weighted, minlength=n_trees * n_leaves)
    count = torch.bincount(place, weight.reshape(-1), minlength=n_trees * n_leaves).to(
        weight.dtype
    )
    total = total.view(n_outputs, n_trees, n_leaves).permute(1, 2, 0)
    count = count.view(n_trees, n_leaves, 1)
    overall = (weight @ target) / weight.sum(1, keepdim=True).clamp(min=1e-12)
    return (total + LEAF_PRIOR * overall[:, None]) / (count + LEAF_PRIOR)


def _slices(sizes: Sequence[int]) -> list[slice]:
    """Slices of these sizes, one after another."""
    stops = np.cumsum(sizes).tolist()
    return [slice(stop - size, stop) for stop, size in zip(stops, sizes)]


def _weighted_mean(loss: Tensor, weight: Tensor) -> Tensor:
    """Mean (E,) of losses (E, B); zero where no row has weight."""
    return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)
