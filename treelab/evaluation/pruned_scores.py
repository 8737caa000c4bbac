"""Scores of every tree on a cost-complexity path, without building any of them."""

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import macro_f1_of_counts
from treelab.trees.pruning.cost_complexity import CostComplexityPath


def pruned_scores(path: CostComplexityPath, X: pd.DataFrame, y) -> np.ndarray:
    """Score each subtree of a path on the same rows.

    Rows are counted once, at the leaves of the unpruned tree; in a smaller tree they
    end at the highest pruned node above their leaf.

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
    leaves, row_leaf = np.unique(tree.apply(X), return_inverse=True)
    ends = _ends(path)[:, leaves]  # (n_steps, n_leaves)
    y = np.asarray(y)
    if tree.classes is None:
        return _r2(tree, X, y.astype(float), leaves, row_leaf, ends)
    position = {label: i for i, label in enumerate(tree.classes)}
    truth = np.array([position.get(label, -1) for label in y.tolist()])
    predicted = tree.value.argmax(axis=1)[ends]  # of each leaf's rows at each step
    n_rows = np.bincount(row_leaf, minlength=len(leaves))
    n_unseen = len(set(y.tolist()) - set(position))  # never predicted
    hits = np.zeros((len(ends), len(tree.classes) + n_unseen))
    occurrences = np.ones_like(hits)
    for k in range(len(tree.classes)):
        n_true = np.bincount(row_leaf[truth == k], minlength=len(leaves))
        hits[:, k] = (predicted == k) @ n_true
        occurrences[:, k] = (predicted == k) @ n_rows + n_true.sum()
    return macro_f1_of_counts(hits, occurrences)


def _r2(tree, X, y, leaves, row_leaf, ends) -> np.ndarray:
    """R² at each step, by the prediction of each leaf's rows there."""
    variation = np.sum((y - y.mean()) ** 2)
    if not variation:
        return np.full(len(ends), np.nan)

    def at_leaf(values):
        return np.bincount(row_leaf, values, minlength=len(leaves))

    n_rows = at_leaf(np.ones(len(y)))
    mean = at_leaf(y) / n_rows
    around = at_leaf((y - mean[row_leaf]) ** 2)
    unpruned = at_leaf((y - tree.predict(X)) ** 2)  # by linear models, maybe
    pruned = around + n_rows * (tree.value[ends, 0] - mean) ** 2
    return 1 - np.where(ends == leaves, unpruned, pruned).sum(axis=1) / variation


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
