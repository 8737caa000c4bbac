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
    return pruned_macro_f1(path, counts, tree.value.argmax(axis=1))


def scores_at_sizes(tree: Tree, X: pd.DataFrame, y, sizes: np.ndarray) -> np.ndarray:
    """Score the prunings of one tree on held-out rows.

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
    ndarray of shape (S,)
        Macro F1 or R² of ``prune_to_size(tree, size)``.
    """
    path = cost_complexity_path(tree)
    return pruned_scores(path, X, y)[steps_at(path, sizes)]


def pruned_macro_f1(
    path: CostComplexityPath, counts: np.ndarray, predicted: np.ndarray
) -> np.ndarray:
    """Macro F1 of each subtree, from rows that are counted already.

    Parameters
    ----------
    path : CostComplexityPath
    counts : ndarray of shape (n_nodes, n_classes)
        Rows of each class that pass each node of the unpruned tree.
    predicted : int array of shape (n_nodes,)
        Class that each node predicts where it is a leaf.

    Returns
    -------
    ndarray of shape (n_steps,)
    """
    is_class = np.arange(counts.shape[1]) == predicted[:, None]
    hits = pruned_sums(path, counts * is_class)
    n_predicted = pruned_sums(path, counts.sum(1, keepdims=True) * is_class)
    return macro_f1_of_counts(hits, counts[0] + n_predicted)


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


def _r2(path, X, y, leaf) -> np.ndarray:
    """R² at each step, by the prediction of each node's rows."""
    tree = path.tree
    variation = np.sum((y - y.mean()) ** 2)
    if not variation:
        return np.full(len(path), np.nan)

    def at_node(values):
        return sum_up(tree, np.bincount(leaf, values, minlength=tree.n_nodes))

    value = tree.value[:, 0]
    centred = y - y.mean()
    moved = value - y.mean()
    n_rows, first, second = (at_node(centred**power) for power in (0, 1, 2))
    error = second - 2 * moved * first + n_rows * moved**2
    unpruned = at_node((y - tree.predict(X)) ** 2)  # by linear models, maybe
    error = np.where(tree.is_leaf, unpruned, error)
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
