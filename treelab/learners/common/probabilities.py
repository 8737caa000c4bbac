"""How far a tree's probabilities are shrunk, measured on rows that trees did not fit.

How far fractions in leaves overfit hangs on the table and on how many numbers their
splits fit, hardly on who grew them. So the loss on new rows is that of the tree's own
rows, plus what greedy trees of as many numbers, grown on folds, lose more on the rows
that they did not see than on their own (the optimism of the training error: Efron,
"Estimating the error rate of a prediction rule", JASA 1983).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from treelab.data.encoding import TableEncoder, to_float32
from treelab.learners.common.folds import FEWEST_ROWS, repeated_folds
from treelab.learners.common.greedy import encoded_tree
from treelab.trees.constraints import Constraints, with_order
from treelab.trees.pruning import SizePath
from treelab.trees.pruning_path import PruningPath
from treelab.trees.shrinkage import shrunk_fractions, with_shrunk_values
from treelab.trees.tree import Tree, rows_through

# Rows that a node's parent counts for: from hardly any to more than all.
STRENGTHS = 2.0 ** np.arange(-3, 21)
UNMEASURED = 1.0  # of tables too small for folds
TreesBySize = TypeVar("TreesBySize", SizePath, PruningPath)
_LEAST = 1e-12  # probability, where a fold lacks a class
_LEAF_FRACTION = 0.8  # of the rows: as many as four of five folds hold


def with_measured_shrinkage(
    path: TreesBySize,
    frame: pd.DataFrame,
    y: np.ndarray,
    *,
    task: str,
    seed: int,
    constraints: Constraints,
    weight: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> TreesBySize:
    """Return a path whose trees predict shrunk probabilities, and the same classes.

    Parameters
    ----------
    path : SizePath or PruningPath
        Of trees with these rows, whose leaves predict.
    frame : DataFrame of shape (n_rows, n_columns)
        Training rows.
    y : int array of shape (n_rows,)
        Their class codes.
    task : {"binary", "multiclass"}
    seed : int
        Of the folds.
    constraints : Constraints
        Whose order the probabilities keep.
    weight : ndarray of shape (n_rows,) or None, default=None
        Of each row, above 0; None: all count alike.
    groups : ndarray of shape (n_rows,) or None, default=None
        Rows of one value are held out together; see ``folds.assign_folds``.
    """
    smallest = path.tree.n_rows[path.tree.is_leaf].min()
    optimism = measured_optimism(
        frame,
        y,
        [greedy_size(tree) for tree in path.trees],
        min_samples_leaf=max(1, int(smallest * _LEAF_FRACTION)),
        task=task,
        seed=seed,
        weight=weight,
        groups=groups,
    )
    unit = 1.0 if weight is None else float(weight.mean())  # what a row weighs
    trees = []
    for tree, more in zip(path.trees, optimism):
        strength = UNMEASURED * unit
        if np.isfinite(more).all():
            strength = unit * STRENGTHS[np.argmin(_own_losses(tree, unit) + more)]
        trees.append(with_order(with_shrunk_values(tree, strength), constraints))
    return replace(path, trees=tuple(trees))


def _own_losses(tree: Tree, unit: float) -> np.ndarray:
    """Return the log loss of a tree's training rows by strength, (n_strengths,)."""
    counts = tree.class_counts
    assert counts is not None
    counts = counts / unit
    leaves = counts[tree.is_leaf]
    logs = _logs(shrunk_fractions(tree, counts, STRENGTHS)[:, tree.is_leaf])
    return np.array(_log_losses(leaves, logs))


def _logs(value: np.ndarray) -> np.ndarray:
    """Return the logarithms of probabilities, finite ones of 0."""
    return np.log(np.maximum(value, _LEAST))


def _log_losses(counts: np.ndarray, logs: np.ndarray) -> list[float]:
    """Return the mean log loss of rows, counted by place and class, by strength."""
    n_rows = counts.sum()
    return [float(-(counts * log).sum() / n_rows) for log in logs]


def greedy_size(tree: Tree) -> int:
    """Return how many leaves a greedy tree has with as many numbers to fit.

    A split of one column has one; a weighted sum has as many as it weighs columns.
    """
    if tree.weights is None:
        return tree.n_leaves
    n_weights = (tree.weights != 0).sum(axis=1)
    return 1 + int(np.maximum(n_weights, 1)[~tree.is_leaf].sum())


def measured_optimism(
    frame: pd.DataFrame,
    y: np.ndarray,
    sizes: Sequence[int],
    *,
    min_samples_leaf: int,
    task: str,
    seed: int,
    weight: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return how much greater held-out log loss is than that of rows that were seen.

    Returns
    -------
    float64 array of shape (n_sizes, n_strengths)
        In nats, of greedy trees by their leaves and their strength; NaN with too few
        rows for folds.
    """
    if len(y) < FEWEST_ROWS:
        return np.full((len(sizes), len(STRENGTHS)), np.nan)
    folds = repeated_folds(y, seed=seed, n_columns=frame.shape[1], groups=groups)
    return np.mean(
        [
            _fold_optimism(
                frame, y, sizes, held_out, min_samples_leaf, task, seed, weight, groups
            )
            for of_repeat in folds
            for held_out in of_repeat
        ],
        axis=0,
    )


def _fold_optimism(
    frame, y, sizes, held_out, min_samples_leaf, task, seed, weight, groups
):
    """Return a fold's held-out loss less that of its other rows, by size, strength."""
    is_weighted = weight is not None
    weight = weight / weight.mean() if is_weighted else np.ones(len(y))
    seen = weight[~held_out] if is_weighted else None
    encoder = TableEncoder("rank", task=task, random_state=seed)
    own = None if groups is None else groups[~held_out]
    X = to_float32(encoder.fit_transform(frame[~held_out], y[~held_out], seen, own))
    grown = DecisionTreeClassifier(
        max_leaf_nodes=max(2, *sizes),
        min_samples_leaf=min_samples_leaf,
        random_state=seed,
    )
    grown = grown.fit(X, y[~held_out], sample_weight=seen).tree_
    n_classes = int(y.max()) + 1
    tree = encoded_tree(grown, encoder.features_, None)
    # Categories were cross-fitted; prediction sees their plain rates.
    leaf = grown.apply(to_float32(encoder.transform(frame)))
    counts = rows_through(tree, leaf[~held_out], y[~held_out], n_classes, seen)
    more = np.zeros((len(sizes), len(STRENGTHS)))
    logs = _logs(shrunk_fractions(tree, counts, STRENGTHS))
    for sign, rows in ((1, held_out), (-1, ~held_out)):
        for i, size in enumerate(sizes):
            cells = node_at_size(tree, leaf[rows], size) * n_classes + y[rows]
            reached = np.bincount(cells, weight[rows], counts.size)
            reached = reached.reshape(counts.shape)
            more[i] += [sign * loss for loss in _log_losses(reached, logs)]
    return more


def node_at_size(tree: Tree, leaf: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return the node that rows reach while a tree has so many leaves.

    scikit-learn grows the best split first and numbers children as it splits: the
    first ``2 * n_leaves - 1`` nodes are the tree of ``n_leaves``.
    """
    node = leaf
    while (later := node > 2 * n_leaves - 2).any():
        node = np.where(later, tree.parent[node], node)
    return node
