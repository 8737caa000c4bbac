"""Statistics of rows at every node of a tree: counts, impurity, means."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from treelab.trees.walk import OBLIQUE, leaf_of, read_features, rows_through, sum_up

if TYPE_CHECKING:
    from treelab.trees.tree import Tree


def class_codes(classes: tuple, y, target: str = "target") -> np.ndarray:
    """Return the position of each label of ``y`` in ``classes``, int64 (n_rows,).

    Raises
    ------
    ValueError
        If a label is missing or not among the classes.
    """
    codes, labels = pd.factorize(np.asarray(y), use_na_sentinel=True)
    position = {label: i for i, label in enumerate(classes)}
    table = np.array([position.get(label, -1) for label in labels] + [-1])
    found = table[codes]
    if (found < 0).any():
        row = int((found < 0).argmax())
        raise ValueError(
            f"{target!r} holds {np.asarray(y)[row]!r} in row {row + 1}, which is "
            f"none of the classes {list(classes)[:8]}."
        )
    return found


def check_target(tree: "Tree", n_rows: int, y) -> np.ndarray:
    """Return ``y`` as class positions, or as float64 values where there are none."""
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(
            f"y must have one value for each of the {n_rows} rows, got shape {y.shape}."
        )
    if tree.classes is not None:
        return class_codes(tree.classes, y, tree.target)
    y = y.astype(np.float64)
    if np.isnan(y).any():
        row = int(np.isnan(y).argmax())
        raise ValueError(f"{tree.target!r} is missing in row {row + 1}.")
    return y


def node_counts(tree: "Tree", X, y=None) -> np.ndarray:
    """Count the rows of ``X`` that pass each node; see ``Tree.node_counts``."""
    leaf = tree.apply(X)
    if y is None:
        return rows_through(tree, leaf)
    if tree.classes is None:
        raise ValueError("y can only be counted by class; this tree is a regression.")
    return rows_through(tree, leaf, check_target(tree, len(leaf), y), len(tree.classes))


def with_rows(tree: "Tree", X, y) -> "Tree":
    """Return the tree with the numbers of these rows; see ``Tree.with_rows``."""
    matrix = read_features(tree, X)
    leaf = leaf_of(tree, matrix)
    return with_leaves(tree, matrix, leaf, check_target(tree, len(leaf), y))


def with_leaves(
    tree: "Tree", matrix: np.ndarray | None, leaf: np.ndarray, y: np.ndarray
) -> "Tree":
    """Return ``with_rows`` of rows whose numbers and leaves are known already.

    Parameters
    ----------
    tree : Tree
    matrix : float64 array of shape (n_rows, n_features) or None
        As ``walk.read_features`` returns it; None: what the rows leave free around
        the thresholds stays unknown where it was.
    leaf : int64 array of shape (n_rows,)
    y : array of shape (n_rows,)
        As ``check_target`` returns it.
    """
    n_rows = rows_through(tree, leaf)
    some = np.maximum(n_rows, 1)
    if tree.classes is not None:
        counts = rows_through(tree, leaf, y, len(tree.classes)).astype(np.float64)
        mean = counts / some[:, None]
        impurity = np.where(n_rows > 0, 1 - (mean**2).sum(axis=1), 0.0)
    else:
        counts = None
        centre = y.mean() if len(y) else 0.0  # keeps the squares small and exact
        first, second = (
            sum_up(tree, np.bincount(leaf, power, minlength=tree.n_nodes)) / some
            for power in (y - centre, (y - centre) ** 2)
        )
        mean = (first + centre)[:, None]
        impurity = np.maximum(second - first**2, 0.0)
    reached = (n_rows > 0) & ~tree.is_leaf
    if tree.shrinkage is not None:  # they are known, and hold for any rows
        reached[:] = False
    value = np.where(reached[:, None], mean, tree.value)
    between, missing_rows = tree.between, tree.missing_rows
    if matrix is not None and (between is None or missing_rows is None):
        # Once only, from the training rows: a split is written alike when the tree
        # takes its numbers from other rows.
        between, missing_rows = _neighbours(tree, matrix, leaf)
    return replace(
        tree,
        n_rows=n_rows,
        impurity=impurity,
        value=value,
        class_counts=counts,
        between=between,
        missing_rows=missing_rows,
    )


def _neighbours(tree: "Tree", matrix, leaf):
    """Return what the rows leave free around each threshold, and its missing rows.

    The first is float64 (n_nodes, 2): of the rows that reach an axis split, the
    largest value at or below its threshold and the smallest above it. Any number
    between the two sends these rows the same way.
    """
    n = tree.n_nodes
    between = np.tile([-np.inf, np.inf], (n, 1))
    missing_rows = np.zeros(n, dtype=np.int64)
    rows = np.arange(len(leaf))
    node = leaf.copy()
    for level in range(tree.depth, 0, -1):
        climb = tree.level[node] == level
        rows_here = rows[climb]
        parent = tree.parent[node[climb]]
        node[climb] = parent
        axis = tree.feature[parent] != OBLIQUE
        rows_here, parent = rows_here[axis], parent[axis]
        x = matrix[rows_here, tree.feature[parent]]
        missing = np.isnan(x)
        missing_rows += np.bincount(parent[missing], minlength=n)
        x, parent = x[~missing], parent[~missing]
        below = x <= tree.threshold[parent]
        np.maximum.at(between[:, 0], parent[below], x[below])
        np.minimum.at(between[:, 1], parent[~below], x[~below])
    between[(tree.feature < 0)] = np.nan
    return between, missing_rows
