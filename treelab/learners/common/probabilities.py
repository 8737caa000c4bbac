"""How far a tree's probabilities are shrunk, measured on rows that trees did not fit.

How far fractions in leaves overfit hangs on the table and on how many numbers their
splits fit, hardly on who grew them. So the loss on new rows is that of the tree's own
rows, plus what greedy trees of as many numbers, grown on folds, lose more on the rows
that they did not see than on their own (the optimism of the training error: Efron,
"Estimating the error rate of a prediction rule", JASA 1983).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.data.encoding import TableEncoder, to_float32
from treelab.learners.common.folds import FEWEST_ROWS, Rows, repeated_folds
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
    path: TreesBySize, rows: Rows, *, task: str, seed: int, constraints: Constraints
) -> TreesBySize:
    """Return a path whose trees predict shrunk probabilities, and the same classes.

    Parameters
    ----------
    path : SizePath or PruningPath
        Of trees fitted to these rows, whose leaves predict.
    rows : Rows
        Of classes.
    task : {"binary", "multiclass"}
    seed : int
        Of the folds.
    constraints : Constraints
        Whose order the probabilities keep.
    """
    smallest = path.tree.n_rows[path.tree.is_leaf].min()
    optimism = measured_optimism(
        rows,
        [greedy_size(tree) for tree in path.trees],
        min_samples_leaf=max(1, int(smallest * _LEAF_FRACTION)),
        task=task,
        seed=seed,
    )
    unit = float(rows.weights.mean())  # what a row weighs
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
    rows: Rows, sizes: Sequence[int], *, min_samples_leaf: int, task: str, seed: int
) -> np.ndarray:
    """Return how much greater held-out log loss is than that of rows that were seen.

    Returns
    -------
    float64 array of shape (n_sizes, n_strengths)
        In nats, of greedy trees by their leaves and their strength; NaN with too few
        rows for folds.
    """
    frame, y, weight, groups = rows
    if len(y) < FEWEST_ROWS:
        return np.full((len(sizes), len(STRENGTHS)), np.nan)
    if weight is not None:
        rows = rows._replace(weight=weight / weight.mean())
    n_classes = int(y.max()) + 1
    repeats = repeated_folds(y, seed=seed, n_columns=frame.shape[1], groups=groups)
    found = []
    for held_out in chain.from_iterable(repeats):
        grown_on = rows, y, held_out, max(2, *sizes), min_samples_leaf
        tree, leaf = grown_without(*grown_on, task=task, seed=seed)
        own = None if weight is None else rows.weights[~held_out]
        counts = rows_through(tree, leaf[~held_out], y[~held_out], n_classes, own)
        logs = _logs(shrunk_fractions(tree, counts, STRENGTHS))
        more = np.zeros((len(sizes), len(STRENGTHS)))
        for sign, some in ((1, held_out), (-1, ~held_out)):
            for i, size in enumerate(sizes):
                cells = node_at_size(tree, leaf[some], size) * n_classes + y[some]
                reached = np.bincount(cells, rows.weights[some], counts.size)
                reached = reached.reshape(counts.shape)
                more[i] += [sign * loss for loss in _log_losses(reached, logs)]
        found.append(more)
    return np.mean(found, axis=0)


def grown_without(
    rows: Rows,
    target: np.ndarray,
    held_out: np.ndarray,
    n_leaves: int,
    min_samples_leaf: int = 1,
    *,
    task: str,
    seed: int,
) -> tuple[Tree, np.ndarray]:
    """Grow scikit-learn's tree on the rows that a fold does not hold out.

    Parameters
    ----------
    rows : Rows
        By whose ``y`` categories are encoded.
    target : ndarray of shape (n_rows,)
        What the tree fits.
    held_out : bool array of shape (n_rows,)
    n_leaves, min_samples_leaf : int
        At most, and of at least so many rows.
    task : {"binary", "multiclass", "regression"}
    seed : int

    Returns
    -------
    Tree
        Over encoded columns, without rows; see ``node_at_size``.
    leaf : int array of shape (n_rows,)
        That each row reaches, as prediction sees it: by plain rates of categories,
        which are cross-fitted for growing.
    """
    seen = rows.take(~held_out)
    encoder = TableEncoder("rank", task=task, random_state=seed)
    X = to_float32(encoder.fit_transform(*seen))
    is_regression = task == "regression"
    kind = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    grown = kind(
        max_leaf_nodes=n_leaves, min_samples_leaf=min_samples_leaf, random_state=seed
    )
    grown = grown.fit(X, target[~held_out], sample_weight=seen.weight).tree_
    leaf = grown.apply(to_float32(encoder.transform(rows.frame)))
    return encoded_tree(grown, encoder.features_, None), leaf


def node_at_size(tree: Tree, leaf: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return the node that rows reach while a tree has so many leaves.

    scikit-learn grows the best split first and numbers children as it splits: the
    first ``2 * n_leaves - 1`` nodes are the tree of ``n_leaves``.
    """
    node = leaf
    while (later := node > 2 * n_leaves - 2).any():
        node = np.where(later, tree.parent[node], node)
    return node
