"""A complete tree, stored breadth first, becomes a Tree."""

import numpy as np

from treelab.trees.walk import LEAF, OBLIQUE


def complete_arrays(feature, threshold, missing_left, leaf_value, weights=None) -> dict:
    """Return the arrays of a Tree, every node at its breadth-first place.

    Node ``t`` has the children ``2t + 1`` and ``2t + 2``; leaves follow the splits.
    The value of an internal node is the mean of the leaves below it.
    """
    leaf_value = np.asarray(leaf_value, dtype=np.float64)
    if leaf_value.ndim == 1:
        leaf_value = leaf_value[:, None]
    n_leaves, n_outputs = leaf_value.shape
    n_splits = n_leaves - 1
    if n_leaves & n_splits or n_leaves == 0:
        raise ValueError(
            f"A complete tree has 1, 2, 4, 8, ... leaves, got {n_leaves} leaf values."
        )
    given = {"threshold": threshold, "missing_left": missing_left}
    if feature is None:
        feature = np.full(n_splits, OBLIQUE)
    for name, array in {"feature": feature, **given}.items():
        if np.shape(array) != (n_splits,):
            raise ValueError(
                f"{name} must have one entry for each of the {n_splits} splits above "
                f"{n_leaves} leaves, got shape {np.shape(array)}."
            )
    n = n_splits + n_leaves
    split = np.arange(n_splits)
    none = np.full(n_leaves, -1)
    value = np.empty((n, n_outputs))
    value[n_splits:] = leaf_value
    first = n_splits
    while first > 0:  # one level up: nodes (first - 1) / 2 to first - 1
        up = (first - 1) // 2
        value[up:first] = (
            value[first : 2 * first + 1 : 2] + value[first + 1 : 2 * first + 1 : 2]
        ) / 2
        first = up
    return {
        "left": np.concatenate([2 * split + 1, none]),
        "right": np.concatenate([2 * split + 2, none]),
        "feature": np.concatenate([feature, np.full(n_leaves, LEAF)]),
        "threshold": np.concatenate([threshold, np.full(n_leaves, np.nan)]),
        "missing_left": np.concatenate([missing_left, np.zeros(n_leaves, dtype=bool)]),
        "value": value,
        "n_rows": np.zeros(n, dtype=np.int64),
        "impurity": np.full(n, np.nan),
        "weights": pad_nodes(weights, n_leaves, splits_first=True),
    }


def pad_nodes(array, n_fill: int, *, splits_first: bool):
    """Pad per-split rows with zeros for the leaves, or per-leaf rows for the splits."""
    if array is None:
        return None
    array = np.asarray(array, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    zeros = np.zeros((n_fill, array.shape[1]))
    return np.concatenate([array, zeros] if splits_first else [zeros, array])
