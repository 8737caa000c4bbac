"""Thresholds midway between the values that they separate."""

from dataclasses import replace

import numpy as np

from treelab.trees.tree import Tree


def with_midpoint_thresholds(tree: Tree) -> Tree:
    """Move each threshold midway between the values that it separates at its node.

    These are ``tree.between``: of the training rows that reach the split, the largest
    value on the left and the smallest on the right. No training row changes sides; of
    other rows those do whose value lies in that gap. So CART sets its thresholds: in
    the unit of the column, as far as can be from the rows on both sides.

    Parameters
    ----------
    tree : Tree
        A tree with its training rows; see ``Tree.with_rows``.

    Returns
    -------
    Tree
        Splits with no training row on one side, and oblique ones, stay as they are.
    """
    assert tree.between is not None  # as of every tree that saw its training rows
    low, high = tree.between.T
    movable = (tree.feature >= 0) & np.isfinite(low) & np.isfinite(high)
    middle = midpoint(np.where(movable, low, 0.0), np.where(movable, high, 1.0))
    return replace(tree, threshold=np.where(movable, middle, tree.threshold))


def midpoint(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a number in [low, high) near the middle, where ``low < high``.

    Next to an infinite bound it is that bound.
    """
    with np.errstate(invalid="ignore"):
        middle = low + (high - low) / 2
    middle = np.where(np.isinf(low), low, middle)
    # Between neighbouring floats the middle may round up to high.
    return np.where((middle >= high) & np.isfinite(high), low, middle)
