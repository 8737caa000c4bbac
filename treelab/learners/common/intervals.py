"""Between which values most rows lie, beside what a tree of regression predicts.

A leaf knows the quantiles of what its training rows have more or less than it predicts.
On rows that the tree has not seen fewer lie between these, since the leaf's few rows
shaped its splits, too. So both ends are moved apart by what greedy trees of as many
numbers, grown on folds, lack on the rows that they did not see: conformalized quantile
regression (Romano, Patterson and Candes, NeurIPS 2019, arXiv:1905.03222) across folds.
Where leaves are linear these grow on what the tree leaves unexplained: the ends of
constant leaves are counts where the target is, and say nothing of ends that change from
row to row.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from treelab.data.encoding import TableEncoder, to_float32
from treelab.learners.common.folds import FEWEST_ROWS, repeated_folds
from treelab.learners.common.probabilities import greedy_size
from treelab.trees.losses import Loss
from treelab.trees.tree import Tree, rows_by_level

MOST_ROWS = (
    20_000  # on which trees are grown for this; leaves hold as many rows as ours
)


def with_interval(
    tree: Tree,
    frame: pd.DataFrame,
    y: np.ndarray,
    *,
    level: float,
    seed: int,
    weight: np.ndarray | None = None,
) -> Tree:
    """Return a tree that knows between which values a fraction of the rows lies.

    Parameters
    ----------
    tree : Tree
        Of regression, with these rows.
    frame : DataFrame of shape (n_rows, n_columns)
        Training rows.
    y : float array of shape (n_rows,)
        Their targets.
    level : float
        The fraction, in (0, 1); as many rows shall lie below as above.
    seed : int
        Of the folds.
    weight : ndarray of shape (n_rows,) or None, default=None
        Of each row, above 0; None: all count alike.

    Returns
    -------
    Tree
        The same where there are too few rows for folds.
    """
    if len(y) < FEWEST_ROWS:
        return tree
    each = np.ones(len(y)) if weight is None else weight
    off = y - tree.predict(frame)
    ends = np.full((tree.n_nodes, 2), np.nan)
    for rows, node in rows_by_level(tree, tree.apply(frame)):
        found = _quantiles(node, off[rows], each[rows], tree.n_nodes, level)
        ends = np.where(np.isnan(ends), found, ends)
    for node in np.argsort(tree.level, kind="stable"):  # parents first
        if np.isnan(ends[node]).any():
            ends[node] = ends[tree.parent[node]]  # nobody comes here
    target = y if tree.leaf_weights is None else off
    return replace(
        tree,
        interval=_apart(ends, _lacking(tree, frame, target, each, level, seed)),
        interval_level=level,
    )


def _apart(ends: np.ndarray, by: float) -> np.ndarray:
    """Move ends (n_nodes, 2) apart, or closer together, but never past one another."""
    half = np.maximum(np.diff(ends, axis=1) / 2 + by, 0)
    return ends.mean(axis=1, keepdims=True) + half * [-1.0, 1.0]


def _quantiles(group, y, weight, n_groups: int, level: float) -> np.ndarray:
    """Lower and upper quantile of each group's targets, (n_groups, 2)."""
    ends = (Loss("quantile", q) for q in ((1 - level) / 2, (1 + level) / 2))
    return np.stack([end.constants(group, y, weight, n_groups) for end in ends], axis=1)


def _lacking(tree, frame, y, weight, level: float, seed: int) -> float:
    """How far intervals of greedy trees must widen to hold as many unseen rows.

    Their leaves hold as many rows as the tree's, which is what optimism hangs on.
    """
    some = slice(None, None, -(-len(y) // MOST_ROWS))
    leaves_a_row = greedy_size(tree) / len(y)
    frame, y, weight = frame[some], y[some], weight[some]
    beyond = []
    for of_repeat in repeated_folds(y, seed=seed, n_columns=frame.shape[1]):
        found = np.empty(len(y))
        for held_out in of_repeat:
            encoder = TableEncoder("rank", task="regression", random_state=seed)
            X = to_float32(encoder.fit_transform(frame[~held_out], y[~held_out]))
            n_leaves = max(2, round(leaves_a_row * len(X)))
            grown = DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=seed)
            grown.fit(X, y[~held_out], sample_weight=weight[~held_out])
            leaf = grown.apply(to_float32(encoder.transform(frame)))
            own = leaf[~held_out], y[~held_out], weight[~held_out]
            ends = _quantiles(*own, grown.tree_.node_count, level)[leaf[held_out]]
            found[held_out] = np.maximum(
                ends[:, 0] - y[held_out], y[held_out] - ends[:, 1]
            )
        beyond.append(found)
    n_repeats = len(beyond)
    together = np.zeros(len(y) * n_repeats, dtype=np.int64)
    rows = np.concatenate(beyond), np.tile(weight, n_repeats)
    return float(Loss("quantile", level).constants(together, *rows, 1)[0])
