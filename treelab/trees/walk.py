"""How rows walk through a tree: sides, leaves, and how many rows pass each node."""

from typing import TYPE_CHECKING

import numpy as np

from treelab.trees.feature import feature_matrix

if TYPE_CHECKING:
    from treelab.trees.tree import Tree

AXIS, LEAF, OBLIQUE = 0, -1, -2  # in ``Tree.feature``: an index, or one of these


def used_features(tree: "Tree", *, leaves: bool = False) -> np.ndarray:
    """Return indices of the features that splits (and linear leaves) read."""
    used = np.zeros(len(tree.features), dtype=bool)
    used[tree.feature[tree.feature >= AXIS]] = True
    if tree.weights is not None:
        used |= (tree.weights[tree.feature == OBLIQUE] != 0).any(axis=0)
    if leaves and tree.leaf_weights is not None:
        used |= (tree.leaf_weights[tree.is_leaf] != 0).any(axis=0)
    return np.flatnonzero(used)


def read_features(tree: "Tree", X, *, leaves: bool = False) -> np.ndarray:
    """Return the float64 matrix (n_rows, n_features) of what the tree reads of X."""
    return feature_matrix(tree.features, X, used_features(tree, leaves=leaves))


def filled(features, matrix: np.ndarray, index: int, rows=None) -> np.ndarray:
    """Return one column of the matrix with its missing values filled.

    Parameters
    ----------
    features : sequence of Feature
    matrix : float64 array of shape (n_rows, n_features)
    index : int
    rows : int array of shape (k,) or None, default=None
        The rows wanted, in this order; None: all.

    Raises
    ------
    ValueError
        If a value is missing and the feature knows no number that stands for it.
    """
    x = matrix[:, index]
    if rows is not None:
        x = x[rows]
    missing = np.isnan(x)
    if not missing.any():
        return x
    feature = features[index]
    if np.isnan(feature.fill):
        raise ValueError(
            f"Column {feature.column!r} has missing values, and this tree, which "
            "adds up columns, has no number to put in their place. Fill them in."
        )
    return np.where(missing, feature.fill, x)


def leaf_of(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return the leaf, int64 (n_rows,), of each row of the feature matrix."""
    node = np.zeros(len(matrix), dtype=np.int64)
    rows = np.arange(len(matrix)) if tree.n_nodes > 1 else np.arange(0)
    while len(rows):
        here = node[rows]
        left = goes_left(tree, matrix, here, rows)
        here = np.where(left, tree.left[here], tree.right[here])
        node[rows] = here
        rows = rows[tree.left[here] >= 0]
    return node


def goes_left(tree: "Tree", matrix: np.ndarray, node: np.ndarray, rows: np.ndarray):
    """Whether, bool (k,), row ``rows[i]`` takes the left branch at ``node[i]``."""
    index = tree.feature[node]
    oblique = index == OBLIQUE
    if not oblique.any():
        return _axis_left(tree, matrix, node, rows)
    left = np.empty(len(node), dtype=bool)
    axis = ~oblique
    left[axis] = _axis_left(tree, matrix, node[axis], rows[axis])
    node, rows = node[oblique], rows[oblique]
    # One column after the other: the sum of a row never depends on the other rows,
    # as it would in a matrix product, so no row changes sides with the batch.
    total = np.zeros(len(node))
    assert tree.weights is not None  # as `check_tree` holds for an oblique split
    weights = tree.weights.T
    tested = np.bincount(node, minlength=tree.n_nodes) > 0
    for j in np.flatnonzero((weights[:, tested] != 0).any(axis=1)).tolist():
        weight = weights[j][node]
        if weight.all():
            total += weight * filled(tree.features, matrix, j, rows)
        else:  # a split that ignores a column needs no fill
            reads = np.flatnonzero(weight)
            x = filled(tree.features, matrix, j, rows[reads])
            total[reads] += weight[reads] * x
    left[oblique] = total <= tree.threshold[node]
    return left


def _axis_left(tree: "Tree", matrix, node, rows):
    """Whether rows take the left branch at splits that test one feature."""
    x = matrix[rows, tree.feature[node]]
    left = x <= tree.threshold[node]
    missing = np.isnan(x)
    if missing.any():
        left = np.where(missing, tree.missing_left[node], left)
    return left


def margins(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return threshold - value at every node, float64 (n_rows, n_nodes).

    A row takes the left branch exactly where its margin is at least 0. A missing
    value at an axis split gives +inf or -inf; leaves have NaN.
    """
    margin = np.full((tree.n_nodes, len(matrix)), np.nan)
    axis = np.flatnonzero(tree.feature >= AXIS)
    value = matrix.T[tree.feature[axis]]
    missing = np.where(tree.missing_left[axis], np.inf, -np.inf)[:, None]
    margin[axis] = np.where(np.isnan(value), missing, _side(tree, axis, value))
    oblique = np.flatnonzero(tree.feature == OBLIQUE)
    margin[oblique] = _side(tree, oblique, _weighted_sums(tree, matrix, oblique))
    return margin.T


def _side(tree: "Tree", nodes: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Threshold less value, (k, n_rows); where that is no number, as <= compares."""
    threshold = tree.threshold[nodes, None]
    with np.errstate(invalid="ignore"):
        side = threshold - value
    unknown = np.isnan(side)  # inf - inf is NaN, yet value <= threshold is known
    if unknown.any():
        side = np.where(unknown, np.where(value <= threshold, 0, -np.inf), side)
    return side


def _weighted_sums(tree: "Tree", matrix: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """What each of these oblique splits adds up, (k, n_rows); columns in order."""
    total = np.zeros((len(nodes), len(matrix)))
    if tree.weights is None or not len(nodes):
        return total
    weights = tree.weights[nodes]
    for j in np.flatnonzero((weights != 0).any(axis=0)).tolist():
        weight, x = weights[:, j], filled(tree.features, matrix, j)
        if weight.all():
            total += np.multiply.outer(weight, x)
        else:  # a split that ignores a column is not affected by it, be it infinite
            reads = np.flatnonzero(weight)
            total[reads] += np.multiply.outer(weight[reads], x)
    return total


def regression_values(tree: "Tree", matrix: np.ndarray) -> np.ndarray:
    """Return a regression tree's predictions, float64 (n_rows,), linear leaves too."""
    leaf = leaf_of(tree, matrix)
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return tree.value[leaf, 0]
    value = tree.leaf_bias[leaf, 0]
    used = (tree.leaf_weights[np.unique(leaf)] != 0).any(axis=0)
    for j in np.flatnonzero(used).tolist():
        weight = tree.leaf_weights[leaf, j]
        reads = np.flatnonzero(weight)  # a leaf that ignores a column needs no fill
        x = filled(tree.features, matrix, j, reads)
        value[reads] += weight[reads] * x
    return value


def sum_up(tree: "Tree", at_leaf: np.ndarray) -> np.ndarray:
    """Add what stands at the leaves to every node above them, along the first axis."""
    total = np.array(at_leaf)
    order = np.argsort(tree.level, kind="stable")
    starts = np.searchsorted(tree.level[order], np.arange(1, tree.depth + 1))
    for nodes in reversed(np.split(order, starts)[1:]):  # the deepest level first
        np.add.at(total, tree.parent[nodes], total[nodes])
    return total


def rows_through(
    tree: "Tree", leaf: np.ndarray, code=None, n_classes: int = 0
) -> np.ndarray:
    """Count the rows that pass each node.

    Parameters
    ----------
    leaf : int array of shape (n_rows,)
        Leaf of each row.
    code : int array of shape (n_rows,) or None
        Class of each row; counts are then made for each class.

    Returns
    -------
    int64 array of shape (n_nodes,), or (n_nodes, n_classes) where classes are given
    """
    n = tree.n_nodes
    if code is None:
        return sum_up(tree, np.bincount(leaf, minlength=n))
    flat = np.bincount(leaf * n_classes + code, minlength=n * n_classes)
    return sum_up(tree, flat.reshape(n, n_classes))
