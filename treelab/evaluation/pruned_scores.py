"""Scores of every tree on a cost-complexity path, without building any of them."""

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import macro_f1_of_counts
from treelab.trees.pruning.cost_complexity import (
    CostComplexityPath,
    cost_complexity_path,
)
from treelab.trees.pruning.sizes import steps_at
from treelab.trees.tree import Tree
from treelab.trees.walk import rows_through, sum_up


def pruned_scores(path: CostComplexityPath, X: pd.DataFrame, y) -> np.ndarray:
    """Score each subtree of a path on the same rows.

    Rows are counted once, at the nodes of the unpruned tree; each node counts in the
    subtrees of which it is a leaf.

    Parameters
    ----------
    path : CostComplexityPath
        Of a tree with rows at its nodes.
    X : DataFrame of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
        Their truth: labels, or values in the target's unit.

    Returns
    -------
    ndarray of shape (n_steps,)
        Macro F1 over the classes that occur, or R²; as ``metrics.scores`` has it.
    """
    tree = path.tree
    y, leaf = np.asarray(y), tree.apply(X)
    if tree.classes is None:
        return _r2(path, X, y.astype(float), leaf)
    position = {label: i for i, label in enumerate(tree.classes)}
    unseen = [label for label in dict.fromkeys(y.tolist()) if label not in position]
    position |= {label: len(position) + i for i, label in enumerate(unseen)}
    truth = np.array([position[label] for label in y.tolist()], dtype=np.int64)
    counts = rows_through(tree, leaf, truth, len(position))
    sums = class_sums(path, counts, tree.predicted_class)
    return _score_of(sums, tree.task)


def sums_at_sizes(tree: Tree, X: pd.DataFrame, y, sizes: np.ndarray) -> np.ndarray:
    """Sum up over held-out rows what the prunings of one fold's tree score by.

    Parameters
    ----------
    tree : Tree
        With rows and impurities of its training rows at its nodes.
    X : DataFrame of shape (n_rows, n_columns)
        Held-out rows.
    y : array-like of shape (n_rows,)
        Their labels, or values in the target's unit.
    sizes : int array of shape (S,)

    Returns
    -------
    ndarray of shape (S, 2, n_classes), or (S, 2, 1) for regression
        Of ``prune_to_size(tree, size)``, for ``pooled_scores``.
    """
    path = cost_complexity_path(tree)
    if tree.classes is None:
        leaf = tree.apply(X)
        sums = value_sums(path, leaf, np.asarray(y, dtype=float))
    else:
        predicted = tree.predicted_class
        sums = class_sums(path, tree.node_counts(X, y), predicted)
    return sums[steps_at(path, sizes)]


def pooled_scores(sums: np.ndarray, task: str) -> np.ndarray:
    """Score cross-validation by its held-out rows, pooled over the folds.

    A rare class may have no row in a fold, so a mean of the folds' macro F1 is
    unsteady; counts that are pooled first are not. A fold's score is what its rows
    make of the pooled one: the scores of all folds have the pooled score as mean,
    and their standard error is the jackknife's over folds.

    Source: Forman and Scholz, "Apples-to-apples in cross-validation studies", SIGKDD
    Explorations 12(1), 2010.

    Parameters
    ----------
    sums : ndarray of shape (n_folds, ..., 2, n_classes)
        As ``sums_at_sizes`` returns them of each fold.
    task : {"binary", "multiclass", "regression"}

    Returns
    -------
    ndarray of shape (..., n_folds)
        Macro F1, or R² against the training mean of each fold.
    """
    n_folds, total = len(sums), sums.sum(axis=0)
    pooled = _score_of(total, task)[..., None]
    without = np.stack([_score_of(total - own, task) for own in sums], axis=-1)
    return pooled + (n_folds - 1) * (without.mean(-1, keepdims=True) - without)


def _score_of(sums: np.ndarray, task: str) -> np.ndarray:
    """Macro F1, or R², of sums (..., 2, n_classes)."""
    first, second = sums[..., 0, :], sums[..., 1, :]
    if task != "regression":
        return macro_f1_of_counts(first, second)
    explained = second - first
    zero = np.zeros_like(first)
    return np.divide(explained, second, out=zero, where=second > 0)[..., 0]


def class_sums(
    path: CostComplexityPath, counts: np.ndarray, predicted: np.ndarray
) -> np.ndarray:
    """Sum up what macro F1 needs of each subtree, from rows that are counted already.

    Parameters
    ----------
    path : CostComplexityPath
    counts : ndarray of shape (n_nodes, ..., n_classes)
        Rows of each class, or of each part and class, that pass each node of the
        unpruned tree.
    predicted : int array of shape (n_nodes,)
        Class that each node predicts where it is a leaf.

    Returns
    -------
    ndarray of shape (n_steps, ..., 2, n_classes)
        Rows of each class that are predicted as it; rows of each class plus rows
        predicted as it.
    """
    n_nodes, n_classes = len(counts), counts.shape[-1]
    is_class = np.eye(n_classes, dtype=counts.dtype)[predicted]
    is_class = is_class.reshape(n_nodes, *[1] * (counts.ndim - 2), n_classes)
    n_predicted = counts.sum(-1, keepdims=True) * is_class
    both = np.stack([counts * is_class, n_predicted], axis=-2)
    sums = pruned_sums(path, both.reshape(n_nodes, -1)).reshape(-1, *both.shape[1:])
    sums[..., 1, :] += counts[0]
    return sums


def value_sums(path: CostComplexityPath, leaf: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum up what R² needs of each subtree of a regression tree.

    Parameters
    ----------
    path : CostComplexityPath
    leaf : int array of shape (n_rows,)
        Leaf of the unpruned tree that each row reaches.
    y : float array of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_steps, 2, 1)
        Squared error; squared error of the root's value alone.
    """
    at_node = _squared_errors(path.tree, leaf, y)
    error = pruned_sums(path, at_node[:, None])
    return np.stack([error, np.full_like(error, at_node[0])], axis=1)


def pruned_sums(path: CostComplexityPath, at_node: np.ndarray) -> np.ndarray:
    """Add up over the leaves of each subtree what stands at each node.

    Parameters
    ----------
    path : CostComplexityPath
    at_node : ndarray of shape (n_nodes, n_columns)

    Returns
    -------
    ndarray of shape (n_steps, n_columns)
    """
    tree = path.tree
    # A node is a leaf from the step at which it is cut until one above it is.
    first = np.where(tree.is_leaf, 0, path.step)
    last = np.concatenate([[len(path)], path.step[tree.parent[1:]]])
    change = np.zeros((len(path) + 1, at_node.shape[1]), dtype=at_node.dtype)
    is_leaf_once = first < last
    np.add.at(change, first[is_leaf_once], at_node[is_leaf_once])
    np.subtract.at(change, last[is_leaf_once], at_node[is_leaf_once])
    return change.cumsum(axis=0)[:-1]


def _squared_errors(tree: Tree, leaf: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared error of the rows that pass each node, were it to predict its value."""
    centre = y.mean() if len(y) else 0.0  # keeps the squares small and exact
    n_rows, first, second = (
        sum_up(tree, np.bincount(leaf, (y - centre) ** power, tree.n_nodes))
        for power in (0, 1, 2)
    )
    value = tree.value[:, 0] - centre
    return np.maximum(second - 2 * value * first + n_rows * value**2, 0.0)


def _r2(path, X, y, leaf) -> np.ndarray:
    """R² at each step, by the prediction of each node's rows."""
    tree = path.tree
    variation = np.sum((y - y.mean()) ** 2)
    if not variation:
        return np.full(len(path), np.nan)
    # By linear models, maybe.
    unpruned = np.bincount(leaf, (y - tree.predict(X)) ** 2, tree.n_nodes)
    error = np.where(tree.is_leaf, unpruned, _squared_errors(tree, leaf, y))
    return 1 - pruned_sums(path, error[:, None])[:, 0] / variation


def pruned_depths(path: CostComplexityPath) -> np.ndarray:
    """Return the depth of each subtree of a path, int (n_steps,)."""
    leaves = np.flatnonzero(path.tree.is_leaf)
    return path.tree.level[_ends(path)[:, leaves]].max(axis=1)


def _ends(path: CostComplexityPath) -> np.ndarray:
    """Where a row that reaches a node ends at each step, int (n_steps, n_nodes)."""
    tree = path.tree
    steps = np.arange(len(path))[:, None]
    ends = np.tile(np.arange(tree.n_nodes), (len(path), 1))
    for level in range(1, tree.depth + 1):
        here = np.flatnonzero(tree.level == level)
        above = tree.parent[here]
        # Where the parent is pruned or lies below a pruned node, so does the child.
        ended = path.step[above][None] <= steps
        ends[:, here] = np.where(ended, ends[:, above], here)
    return ends
