"""Many trees whose splits are soft while they train, and hard in the end.

A split of a row is the mean of what its features would do: ``s = sum_k p_k
sigmoid(slope (threshold_k - x_k))``, with ``p`` a softmax of the features' logits. It
is the probability of going left where the feature is drawn from ``p`` and the
threshold is blurred by logistic noise, so the loss of the mixture of leaves is a true,
differentiable loss. Slope and sharpness of ``p`` grow until each split is the hard one
that is exported: its best feature, at that threshold. DESIGN's axis-aligned splits take
the gradient of a soft choice at the hard one instead (straight-through, which
``recipe="paper"`` follows); from a greedy start that gradient points away from it.

Shapes: E trees of about one size, S splits and L leaves of the largest, K features that
a split chooses from, C outputs, B rows of a batch, G encodings of the table, F columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.objective import Objective
from treelab.learners.gradtree.constrained.penalties import Penalties
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.starts import Start

SLOPE = (2.0, 100.0)  # at the start and in the end; columns have unit variance
SHARPNESS = (3.0, 10.0)  # of the choice among features
PRIOR = 1.0  # rows' worth of the overall mean in every leaf at the start
SMALLEST = 1e-6  # probability


@dataclass(frozen=True)
class TrainingRows:
    """Encoded rows, once for each fold, as its encoder saw them.

    Attributes
    ----------
    x : Tensor of shape (G, F, n)
    target : Tensor of shape (n,)
        Class codes (long), or standardised values (float32).
    objective : Objective
    rules : sequence of G ColumnRules, or empty
        What constraints say of the columns of each encoding.
    """

    x: Tensor
    target: Tensor
    objective: Objective
    rules: Sequence[ColumnRules] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.target)

    def targets(self) -> Tensor:
        """Indicators of the classes, or the values, (n, n_classes or 1)."""
        if self.objective.n_classes:
            return nn.functional.one_hot(self.target, self.objective.n_classes).float()
        return self.target[:, None]

    @property
    def root_loss(self) -> float:
        """Loss of one leaf: entropy of the classes in nats, or the variance, 1."""
        if not self.objective.n_classes:
            return 1.0
        fraction = self.targets().mean(0)
        return float(torch.special.entr(fraction).sum())


class AnnealedTrees(nn.Module):
    """E trees, those of about one size sharing their tensors.

    Parameters
    ----------
    rows : TrainingRows
    starts : sequence of E Start
        Those that choose from equally many features side by side, ascending in splits.
    encoding : sequence of E int
        Which encoding of the rows each tree reads.
    weight : Tensor of shape (E, n)
        Weight of each row in each tree's loss; 0 for those it must not see.
    """

    def __init__(
        self,
        rows: TrainingRows,
        starts: Sequence[Start],
        encoding: Sequence[int],
        weight: Tensor,
    ):
        super().__init__()
        self.rows, self.starts, self.weight = rows, tuple(starts), weight
        self.encoding = tuple(encoding)
        shapes = [start.columns.shape for start in starts]
        self.groups = [
            _Group(rows, starts[own], encoding[own], weight[own])
            for own in _slices_by_shape(shapes)
        ]
        self.logits = nn.ParameterList([own.logits for own in self.groups])
        self.threshold = nn.ParameterList([own.threshold for own in self.groups])
        self.value = nn.ParameterList([own.value for own in self.groups])
        self.leader = 0  # the tree with the lowest loss when last measured

    def batch_loss(self, rows: Tensor, done: float) -> Tensor:
        """Mean training loss (E,) on these rows, ``done`` of the training over."""
        slope = SLOPE[0] * (SLOPE[1] / SLOPE[0]) ** done
        sharpness = SHARPNESS[0] * (SHARPNESS[1] / SHARPNESS[0]) ** done
        x, target = self.rows.x[:, :, rows], self.rows.target[rows]
        loss = torch.cat(
            [group.loss(x, target, slope, sharpness) for group in self.groups]
        )
        weight = self.weight[:, rows]
        return (loss * weight).sum(1) / weight.sum(1).clamp(min=1e-12)

    def hard_loss(self, rows: Tensor, *, held_out: bool = False) -> Tensor:
        """Mean loss (E,) on these rows of the hard trees, their leaves refitted.

        Or on those of these rows that a tree must not see, its leaves refitted to the
        others; NaN where there are none.
        """
        x = self.rows.x[:, :, rows].transpose(1, 2).cpu().numpy()
        targets = self.rows.targets()[rows].cpu().numpy()
        fitted = np.ones((len(self.starts), len(targets)), dtype=bool)
        if held_out:
            fitted = (self.weight[:, rows] > 0).cpu().numpy()
        objective, losses = self.rows.objective, []
        for tree, encoding, own in zip(self.hard_trees(), self.encoding, fitted):
            place = np.searchsorted(tree.leaves, tree.apply(x[encoding]))
            value = leaf_values(place, targets, 1.0 * own, tree.n_leaves, objective)
            output = torch.tensor(value[place].T, device=self.rows.x.device)
            if objective.n_classes == 2:
                output = output[1:] - output[:1]
            loss = objective.loss(output[None], self.rows.target[rows])
            losses.append(loss.ravel()[~own].mean() if held_out else loss.mean())
        return torch.stack(losses)

    @torch.no_grad()
    def hard_trees(self) -> list[HardTree]:
        """Return the hard trees of the moment."""
        return [tree for group in self.groups for tree in group.hard_trees()]


class _Group:
    """Trees of about one size, padded to the largest."""

    def __init__(self, rows, starts, encoding, weight):
        self.objective, self.starts = rows.objective, starts
        device = rows.x.device
        paths = [start.tree.paths() for start in starts]
        n_splits = max(1, *(path.shape[2] for path in paths))
        n_leaves = max(len(path) for path in paths)
        n_columns = starts[0].columns.shape[1]
        shape = (len(starts), n_splits, n_columns)
        columns, threshold = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        logits = np.zeros(shape, np.float32)
        passed = np.zeros((len(starts), n_leaves, 2, n_splits), np.float32)
        absent = np.zeros((len(starts), n_leaves, 1), np.float32)
        for e, (start, path) in enumerate(zip(starts, paths)):
            used = slice(len(start.columns))
            columns[e, used], threshold[e, used] = start.columns, start.threshold
            logits[e, used] = start.logits
            passed[e, : len(path), :, used] = path
            absent[e, len(path) :] = -np.inf
        self.encoding = torch.tensor(encoding, device=device)
        self.columns = torch.tensor(columns, device=device)
        self.passed = torch.tensor(passed, device=device).flatten(2)  # (E, L, 2 S)
        self.absent = torch.tensor(absent, device=device)
        self.penalties = None
        if rows.rules:
            rules = [rows.rules[own] for own in encoding]
            penalties = Penalties.of(rules, columns, rows.root_loss)
            self.penalties = None if penalties is None else penalties.to(device)
        x = rows.x.transpose(1, 2).cpu().numpy()
        targets = rows.targets().cpu().numpy()
        value = []
        for start, own, each in zip(starts, encoding, weight.cpu().numpy()):
            place = np.searchsorted(start.tree.leaves, start.tree.apply(x[own]))
            value.append(leaf_values(place, targets, each, n_leaves, rows.objective))
        # (E, S, K) of the features that a split chooses from; leaves (E, L, C).
        self.logits, self.threshold, self.value = (
            nn.Parameter(torch.tensor(whole, device=device))
            for whole in (logits, threshold, np.stack(value))
        )

    def loss(self, x: Tensor, target: Tensor, slope: float, sharpness: float) -> Tensor:
        """Loss (E, B) of soft trees on encoded rows ``x`` (G, F, B)."""
        own = x[self.encoding[:, None, None], self.columns]  # (E, S, K, B)
        value = self.value
        choice = torch.softmax(sharpness * self.logits, -1)
        left = torch.sigmoid(slope * (self.threshold[..., None] - own))
        left = (
            (choice[..., None] * left).sum(2).clamp(SMALLEST, 1 - SMALLEST)
        )  # (E, S, B)
        steps = torch.cat([left.log(), torch.log1p(-left)], 1)
        reach = (self.passed @ steps + self.absent).exp()  # (E, L, B)
        loss = self._fit(reach, value, target)
        if self.penalties is None:
            return loss
        predicted = value[..., 0]
        if self.objective.n_classes:
            predicted = torch.softmax(value, -1)[..., self.penalties.output]
        return loss + self.penalties.loss(choice, reach, predicted, self.passed)

    def _fit(self, reach: Tensor, value: Tensor, target: Tensor) -> Tensor:
        """Loss (E, B) of rows that arrive at the leaves as ``reach`` (E, L, B) says."""
        if self.objective.n_classes == 0:
            # Expected squared error: that of the mean, and the leaves' spread about it.
            mean = value.transpose(1, 2) @ reach  # (E, 1, B)
            square = (value**2).transpose(1, 2) @ reach
            return self.objective.loss(mean, target) + (square - mean**2)[:, 0]
        proba = torch.softmax(value, -1).transpose(1, 2) @ reach  # (E, C, B)
        log = proba.clamp(min=SMALLEST).log()
        if self.objective.n_classes == 2:
            log = log[:, 1:] - log[:, :1]
        return self.objective.loss(log, target)

    def hard_trees(self) -> list[HardTree]:
        """Each split takes its best feature, at its threshold."""
        best = self.logits.argmax(-1, keepdim=True)
        feature = self.columns.gather(-1, best)[..., 0].cpu().numpy()
        threshold = self.threshold.gather(-1, best)[..., 0].cpu().numpy()
        return [
            start.tree.with_splits(f[: len(start.columns)], t[: len(start.columns)])
            for start, f, t in zip(self.starts, feature, threshold)
        ]


def leaf_values(
    place: np.ndarray,
    targets: np.ndarray,
    weight: np.ndarray,
    n_leaves: int,
    objective: Objective,
) -> np.ndarray:
    """Leaf values (L, C) that fit rows: log probabilities, or means.

    Parameters
    ----------
    place : int array of shape (m,)
        Leaf that each row reaches, left to right.
    targets : ndarray of shape (m, C)
        Indicators of the classes, or values.
    weight : ndarray of shape (m,)
    n_leaves : int
    objective : Objective
    """
    weighted = targets * weight[:, None]
    overall = weighted.sum(0) / max(weight.sum(), 1e-12)
    count = np.bincount(place, weight, n_leaves)[:, None] + PRIOR
    total = [np.bincount(place, column, n_leaves) for column in weighted.T]
    value = (np.stack(total, 1) + PRIOR * overall) / count
    if objective.n_classes:
        value = np.log(np.maximum(value, SMALLEST))
    return value.astype(np.float32)


def _slices_by_shape(shapes: Sequence[tuple[int, int]]) -> list[slice]:
    """Cut a list of (splits, features) where features change or splits have doubled."""
    slices, first = [], 0
    for place, (n_splits, n_columns) in enumerate(shapes):
        if n_columns != shapes[first][1] or n_splits > 2 * max(1, shapes[first][0]):
            slices.append(slice(first, place))
            first = place
    return [*slices, slice(first, len(shapes))]
