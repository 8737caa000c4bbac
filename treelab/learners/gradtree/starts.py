"""Where GradTree's trees begin: greedy trees laid into complete ones, or at random.

Shapes: E trees, N splits, L leaves, F columns, K of them that a tree may test, C
outputs, n rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from treelab.data.split import some_rows
from treelab.learners.common.greedy import ColumnRules, as_columns
from treelab.learners.common.objective import Objective, RegressionObjective
from treelab.ops.axis_trees import axis_leaves
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

MOST_COLUMNS = 32  # that a tree chooses from, unless its start tests more
MOST_ROWS = 256  # of a node, that rank its columns
FAR = 1000.0  # threshold of a place without a split: every row goes left
LEAD = 0.1  # logit of the column that a split tests at first
NO_GAIN = -4.0  # logit of a column that gains nothing; others lie between it and 0
NEVER = -1000.0  # logit of a column that may not be tested: no gradient reaches it
PRIOR = 2.0  # rows of all classes as they are, added to those of a leaf at first

Offered = Callable[[int, int], np.ndarray]
"""Which columns, bool (F,), the split of a node may test, whose level is given, too."""


@dataclass(frozen=True)
class Starts:
    """E complete trees."""

    columns: np.ndarray  # int64 (E, K): that each tree may test
    # float32 (E, N, K): the split tests the column of the largest logit, at its
    # threshold.
    logits: np.ndarray
    threshold: np.ndarray
    leaf_value: np.ndarray  # float32 (E, L, C): raw outputs

    def __len__(self):
        return len(self.columns)

    def take(self, places: np.ndarray) -> "Starts":
        """Return some of the trees, in this order."""
        own = (self.columns, self.logits, self.threshold, self.leaf_value)
        return Starts(*(array[places] for array in own))

    def splits(self, tree: int) -> tuple[np.ndarray, np.ndarray]:
        """Column and threshold (N,) that a tree's splits test."""
        chosen = self.logits[tree].argmax(-1)
        threshold = self.threshold[tree][np.arange(len(chosen)), chosen]
        return self.columns[tree][chosen], threshold

    def trees(
        self,
        features: Sequence[Feature],
        classes: tuple | None,
        outputs: tuple[str, ...] = (),
    ) -> list[Tree]:
        """Return them over encoded columns, which are those features; no rows yet."""
        n_splits, n_outputs = self.logits.shape[1], len(classes or outputs or (None,))
        leaves = np.full((n_splits + 1, n_outputs), 1 / n_outputs)
        none_left = np.zeros(n_splits, dtype=bool)
        known = {
            "classes": classes,
            "outputs": outputs,
            "between": np.full((2 * n_splits + 1, 2), np.nan),  # nobody reads these
            "missing_rows": np.zeros(2 * n_splits + 1, dtype=np.int64),
        }
        return [
            Tree.complete(features, *self.splits(e), none_left, leaves, **known)
            for e in range(len(self))
        ]


def greedy_starts(
    trees: Sequence[Tree],
    x: np.ndarray,
    values: np.ndarray,
    *,
    offered: Sequence[Offered | None] | None = None,
) -> Starts:
    """Lay trees over encoded columns into complete ones.

    Each column stands at each split with the threshold that gains most among the rows
    of the node, so that a split which changes its column lands on a good threshold.
    ``x`` (n, F) are encoded rows, ``values`` (n, C) indicators of their classes, or
    values; of each tree ``offered`` says which columns it may test, None: all.
    """
    offered = offered or [None] * len(trees)
    depth = max(1, *(tree.depth for tree in trees))
    n_splits, n_features = 2**depth - 1, x.shape[1]
    used = [np.unique(tree.feature[~tree.is_leaf]) for tree in trees]
    most = min(n_features, max(MOST_COLUMNS, *(len(own) for own in used)))
    columns = np.empty((len(trees), most), dtype=np.int64)
    logits = np.zeros((len(trees), n_splits, most), dtype=np.float32)
    threshold = np.full(logits.shape, FAR, dtype=np.float32)
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}  # prunings share nodes
    for e, tree in enumerate(trees):
        gains = np.full((n_splits, n_features), -np.inf)
        places = np.full((n_splits, n_features), FAR)
        own = np.full(n_splits, -1)
        here = {0: (0, np.arange(len(x)))}
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            place, rows = here.pop(node)
            ranked = rows if len(rows) else np.arange(len(x))
            ranked = ranked[some_rows(len(ranked), MOST_ROWS)]
            key = ranked.tobytes()
            if key not in known:
                known[key] = best_thresholds(x[ranked], values[ranked])
            gain, best = known[key]
            own[place], column = tree.feature[node], tree.feature[node]
            places[place], places[place, column] = best, _rounded(tree.threshold[node])
            may = offered[e]
            allowed = slice(None) if may is None else may(node, int(tree.level[node]))
            gains[place, allowed] = gain[allowed] / max(gain.max(), 1e-12)
            left = x[rows, column] <= places[place, column].astype(np.float32)
            here[int(tree.left[node])] = 2 * place + 1, rows[left]
            here[int(tree.right[node])] = 2 * place + 2, rows[~left]
        worth = np.where(np.isfinite(gains), gains, 0).sum(0)
        worth[used[e]] += n_splits  # its own columns first
        columns[e] = np.sort(np.argsort(-worth, kind="stable")[:most])
        gains, places = gains[:, columns[e]], places[:, columns[e]]
        allowed = np.isfinite(gains)
        logit = np.where(allowed, NO_GAIN * (1 - np.clip(gains, 0, 1)), NEVER)
        splits = np.flatnonzero(own >= 0)
        logit[own < 0] = 0.0
        logit[splits, np.searchsorted(columns[e], own[splits])] = LEAD
        logits[e], threshold[e] = logit, places
    leaf_value = np.zeros((len(trees), n_splits + 1, 1), dtype=np.float32)
    return Starts(columns, logits, threshold, leaf_value)


def with_leaf_values(
    starts: Starts,
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    objective: Objective,
) -> Starts:
    """Let leaves begin at what the weighted rows (n,) in them say.

    ``weight`` is (n,), or (E, n) where each tree has its own.
    """
    leaf = axis_leaves(
        torch.tensor(x),
        torch.tensor(starts.logits),
        torch.tensor(starts.threshold),
        columns=torch.tensor(starts.columns),
    ).numpy()
    n_leaves, n_classes = starts.logits.shape[1] + 1, objective.n_classes
    target = objective.encode(y)
    weights = np.broadcast_to(weight, leaf.shape)
    values = []
    for own, of_row in zip(leaf, weights):
        if isinstance(objective, RegressionObjective):
            rows = of_row > 0
            some = own[rows], target[rows].astype(np.float64), of_row[rows]
            value = objective.loss_of_rows.constants(*some, n_leaves)
            value = as_columns(np.where(np.isnan(value), 0.0, value))
            values.append(objective.leaf_parameters(value))
            continue
        count = np.bincount(own, of_row, n_leaves)[:, None]
        cell = own * n_classes + target
        held = np.bincount(cell, of_row, n_leaves * n_classes).reshape(-1, n_classes)
        prior = held.sum(0) / held.sum() + 1e-6
        logit = np.log((held + PRIOR * prior) / (count + PRIOR))
        values.append(logit if n_classes > 2 else logit[:, 1:] - logit[:, :1])
    return replace(starts, leaf_value=np.stack(values).astype(np.float32))


def random_starts(
    n_trees: int,
    depth: int,
    n_features: int,
    n_outputs: int,
    generator: torch.Generator,
) -> Starts:
    """Draw complete trees: I, T and L uniformly by Glorot's bounds, algorithm 2."""

    def uniform(*shape: int, bound: float) -> np.ndarray:
        drawn = torch.rand(shape, generator=generator, device=generator.device)
        return ((2 * drawn - 1) * bound).cpu().numpy()

    n_splits = 2**depth - 1
    bound = math.sqrt(6 / (2 ** (2 * depth - 1) + n_features))
    return Starts(
        np.tile(np.arange(n_features), (n_trees, 1)),
        uniform(n_trees, n_splits, n_features, bound=bound),
        uniform(n_trees, n_splits, n_features, bound=bound),
        uniform(
            n_trees,
            n_splits + 1,
            n_outputs,
            bound=math.sqrt(6 / (2 ** (2 * depth) + n_outputs)),
        ),
    )


def offered_within(rules: ColumnRules, tree: Tree) -> Offered:
    """Return which columns the splits of a tree may come to test under constraints.

    Splits choose independently, so where constraints bind several splits together each
    keeps its own column, and only thresholds move.
    """
    bound = not rules.groups.all() or rules.cost.any()
    bound |= rules.max_columns <= rules.column.max()

    def may(node: int, level: int) -> np.ndarray:
        own = rules.column == rules.column[tree.feature[node]]
        return own if bound else rules.may_test(level, ())

    return may


def best_thresholds(x: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, of each column of ``x`` (n, F), its best split's gain and threshold (F,).

    Gain is the fall of the summed squared error of the ``target`` (n, C), indicators of
    classes (Gini) or values; 0 where a column has one value only.
    """
    n_rows = len(x)
    features = np.arange(x.shape[1])
    if n_rows < 2:
        return np.zeros(len(features)), x[0].copy()
    order = np.argsort(x, axis=0, kind="stable")
    ascending = np.take_along_axis(x, order, axis=0)
    left = np.cumsum(target[order], axis=0)[:-1]  # (n - 1, F, C)
    total = target.sum(axis=0)
    n_left = np.arange(1, n_rows)[:, None]
    explained = (left**2).sum(-1) / n_left
    explained += ((total - left) ** 2).sum(-1) / (n_rows - n_left)
    explained[ascending[1:] == ascending[:-1]] = -np.inf
    place = explained.argmax(axis=0)
    gain = explained[place, features] - (total**2).sum() / n_rows
    threshold = (ascending[place, features] + ascending[place + 1, features]) / 2
    return np.where(np.isfinite(gain), np.maximum(gain, 0), 0), threshold


def _rounded(threshold: float) -> np.float32:
    """Return the largest float32 that is not above a threshold."""
    single = np.float32(threshold)
    below = single > threshold
    return np.nextafter(single, np.float32(-np.inf)) if below else single
