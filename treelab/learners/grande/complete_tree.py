"""A greedy tree of scikit-learn as a complete tree."""

import numpy as np


def lay_out(tree, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay scikit-learn's ``tree_`` of at most `depth` levels into a complete tree.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    depth : int
        Splits on every path of the complete tree.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        Breadth first; -1 below the tree's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        Splits float32 values as the tree does; NaN where nothing is split.
    source : ndarray of shape (L,), int64
        Node of `tree` that each leaf of the complete tree stands for.
    """
    feature = np.empty(2**depth - 1, dtype=np.int64)
    threshold = np.empty(2**depth - 1, dtype=np.float32)
    source = np.zeros(1, dtype=np.int64)
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        ends = tree.children_left[source] < 0
        feature[nodes] = np.where(ends, -1, tree.feature[source])
        exact = tree.threshold[source]
        single = exact.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        single = np.where(single > exact, below, single)
        threshold[nodes] = np.where(ends, np.nan, single)
        left = np.where(ends, source, tree.children_left[source])
        right = np.where(ends, source, tree.children_right[source])
        source = np.stack([left, right], 1).ravel()
    return feature, threshold, source
