"""What regression trees predict of new rows: quantiles, and where most of them lie.

A leaf knows the quantiles of its training rows. On rows that the tree has not seen
fewer lie between these, since the leaf's few rows shaped its splits, too. So they are
moved by what greedy trees of as many numbers, grown on folds, lack on the rows that
they did not see: conformalized quantile regression (Romano, Patterson and Candes,
NeurIPS 2019, arXiv:1905.03222) across folds. Where leaves are linear these grow on what
the tree leaves unexplained: the ends of constant leaves are counts where the target is,
and say nothing of ends that change from row to row.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treelab.data.encoding import power_of_two
from treelab.data.split import some_rows
from treelab.learners.common.folds import FEWEST_ROWS, Rows, repeated_folds
from treelab.learners.common.probabilities import (
    greedy_size,
    grown_without,
    node_at_size,
)
from treelab.trees.losses import Loss
from treelab.trees.pruning import SizePath
from treelab.trees.tree import Tree, rows_by_level

# On which trees are grown for this; leaves hold as many rows as ours.
MOST_ROWS = 20_000
MOVED = "Quantiles were moved to where those of held-out rows lie."


def with_interval(tree: Tree, rows: Rows, *, level: float, seed: int) -> Tree:
    """Return a tree that knows between which values a fraction of the rows lies.

    Parameters
    ----------
    tree : Tree
        Of regression, fitted to these rows.
    rows : Rows
        Of one target.
    level : float
        The fraction, in (0, 1); as many rows shall lie below as above.
    seed : int
        Of the folds.

    Returns
    -------
    Tree
        The same where there are too few rows for folds.
    """
    if len(rows.y) < FEWEST_ROWS:
        return tree
    off = rows.y - tree.predict(rows.frame)
    levels = (1 - level) / 2, (1 + level) / 2
    ends = np.full((tree.n_nodes, 2), np.nan)
    for some, node in rows_by_level(tree, tree.apply(rows.frame)):
        found = _quantiles(node, off[some], rows.weights[some], tree.n_nodes, levels)
        ends = np.where(np.isnan(ends), found, ends)
    for node in np.argsort(tree.level, kind="stable"):  # parents first
        if np.isnan(ends[node]).any():
            ends[node] = ends[tree.parent[node]]  # nobody comes here
    target = rows.y if tree.leaf_weights is None else off
    [residual], weights = _unseen([tree], rows._replace(y=target), levels, seed)
    beyond = np.maximum(-residual[:, 0], residual[:, 1])
    widened = _apart(ends, quantile_of(beyond, weights, level))
    return replace(tree, interval=widened, interval_level=level)


def with_quantiles(
    path: SizePath, rows: Rows, *, levels: Sequence[float], seed: int
) -> SizePath:
    """Return trees whose quantiles are moved to where those of new rows lie.

    All leaves of a tree move by the same, constant ones no farther than targets go.
    Where there are too few rows for folds, the trees are the same.

    Parameters
    ----------
    path : SizePath
        Trees whose leaves predict quantiles, fitted to these rows.
    rows : Rows
        Of one target.
    levels : sequence of float
        Those that they predict, ascending.
    seed : int
        Of the folds.
    """
    if len(rows.y) < FEWEST_ROWS:
        return path
    is_linear = path.tree.leaf_weights is not None
    batches, trees = [path.trees], []
    if is_linear:  # each leaves something else unexplained
        batches = [(tree,) for tree in path.trees]
    for batch in batches:
        target = rows.y - batch[0].predict(rows.frame) if is_linear else rows.y
        found, weights = _unseen(batch, rows._replace(y=target), levels, seed)
        for tree, residuals in zip(batch, found):
            columns = zip(residuals.T, levels)
            by = [quantile_of(own, weights, level) for own, level in columns]
            trees.append(_moved(tree, np.array(by), rows.y))
    return replace(path, trees=tuple(trees))


def _moved(tree: Tree, by: np.ndarray, y: np.ndarray) -> Tree:
    """Move quantiles by (n_levels,), never past one another, with a note of it."""
    if not by.any():
        return tree
    value = np.maximum.accumulate(tree.value + by, axis=1).clip(y.min(), y.max())
    bias = None if tree.leaf_bias is None else tree.leaf_bias + by
    return replace(tree, value=value, leaf_bias=bias, notes=(*tree.notes, MOVED))


def _apart(ends: np.ndarray, by: float) -> np.ndarray:
    """Move ends (n_nodes, 2) apart, or closer together, but never past one another."""
    half = np.maximum(np.diff(ends, axis=1) / 2 + by, 0)
    return ends.mean(axis=1, keepdims=True) + half * [-1.0, 1.0]


def _quantiles(group, y, weight, n_groups: int, levels: Sequence[float]) -> np.ndarray:
    """Quantiles of each group's targets, (n_groups, n_levels)."""
    ends = (Loss("quantile", level) for level in levels)
    return np.stack([end.constants(group, y, weight, n_groups) for end in ends], axis=1)


def quantile_of(y: np.ndarray, weight: np.ndarray, level: float) -> float:
    """Quantile of all values (n,)."""
    return float(_quantiles(np.zeros(len(y), dtype=int), y, weight, 1, [level])[0, 0])


def _unseen(
    trees: Sequence[Tree], rows: Rows, levels: Sequence[float], seed: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """What rows have beyond the quantiles of greedy trees that did not see them.

    Leaves hold as many rows as those of each of the trees, which is what optimism hangs
    on; where these are linear, there are as many leaves as numbers. Returns residuals
    (n, n_levels) for each tree, and the weights (n,) of the rows.
    """
    n_leaves = [
        tree.n_leaves if tree.leaf_weights is None else greedy_size(tree)
        for tree in trees
    ]
    leaves_a_row = [n / len(rows.y) for n in n_leaves]
    some = some_rows(len(rows.y), MOST_ROWS)
    rows = rows._replace(weight=rows.weights).take(some)
    frame, y, _, groups = rows
    # Of small variances scikit-learn makes leaves, near large means it sees none.
    scaled = (y - y.mean()) / power_of_two(y)
    repeats = repeated_folds(y, seed=seed, n_columns=frame.shape[1], groups=groups)
    found = np.empty((len(trees), len(repeats), len(y), len(levels)))
    for repeat, folds in enumerate(repeats):
        for held_out in folds:
            seen = ~held_out
            sizes = [max(2, round(each * seen.sum())) for each in leaves_a_row]
            grown_on = rows, scaled, held_out, max(sizes)
            tree, leaf = grown_without(*grown_on, task="regression", seed=seed)
            for place, size in enumerate(sizes):
                node = node_at_size(tree, leaf, size)
                own = node[seen], y[seen], rows.weights[seen]
                ends = _quantiles(*own, tree.n_nodes, levels)[node[held_out]]
                found[place, repeat, held_out] = y[held_out, None] - ends
    residuals = found.reshape(len(trees), -1, len(levels))
    return [*residuals], np.tile(rows.weights, len(repeats))
