"""Scores of every tree on a cost-complexity path, without building any of them."""

import numpy as np
import pandas as pd

from treelab.trees.cost_complexity import CostComplexityPath


def pruned_scores(path: CostComplexityPath, X: pd.DataFrame, y) -> np.ndarray:
    """Score each subtree of a path on the same rows.

    A row's leaf in the whole tree is found once; in a smaller tree it ends at the
    highest node above that leaf which is cut.

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
    leaf, y = tree.apply(X), np.asarray(y)
    ends = _ends(path)  # (n_steps, n_nodes)
    if tree.classes is None:
        whole, y = tree.predict(X), y.astype(float)
        spread = np.sum((y - y.mean()) ** 2)
        missed = [
            np.sum((np.where(end == leaf, whole, tree.value[end, 0]) - y) ** 2)
            for end in ends[:, leaf]
        ]
        return 1 - np.array(missed) / spread if spread else np.full(len(ends), np.nan)
    position = {label: i for i, label in enumerate(tree.classes)}
    truth = np.array([position.get(label, -1) for label in y.tolist()])
    said = tree.value.argmax(axis=1)  # what each node says as a leaf
    n_classes = len(tree.classes)
    return np.array([_macro_f1(truth, said[end], n_classes) for end in ends[:, leaf]])


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
        # A parent that is cut, or itself lies below a cut, hands its end down.
        ended = path.step[above][None] <= steps
        ends[:, here] = np.where(ended, ends[:, above], here)
    return ends


def _macro_f1(truth: np.ndarray, said: np.ndarray, n_classes: int) -> float:
    """Macro F1 over the classes that occur in either; -1 is a class never seen."""
    both = np.bincount(said[truth == said], minlength=n_classes)
    either = np.bincount(said, minlength=n_classes)
    either = either + np.bincount(truth[truth >= 0], minlength=n_classes)
    f1 = 2 * both[either > 0] / either[either > 0]
    unseen = len(np.unique(truth[truth < 0]))  # such a class is never said
    return float(f1.sum() / (len(f1) + unseen))
