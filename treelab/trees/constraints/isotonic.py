"""Leaf values that are nearest to those wanted and in the order that is asked."""

from dataclasses import replace

import numpy as np
from scipy.optimize import nnls

from treelab.trees.constraints.boxes import node_boxes
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.tree import Tree

_MOST_ROUNDS = 50  # of adding violated pairs; a handful are ever needed
_CLOSE = 1e-9  # of the values' range: what counts as violated while solving


def isotonic(value: np.ndarray, weight: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the values nearest to these, by weighted squares, that are in order.

    Isotonic regression over a partial order: minimise ``sum w (v - value)^2`` where
    ``v[a] <= v[b]`` for each pair. Its dual is least squares without negative
    multipliers (Lawson and Hanson, 1974), over the pairs that are violated as far.

    Parameters
    ----------
    value, weight : float arrays of shape (n,)
    pairs : int array of shape (n_pairs, 2)
        Without a circle.

    Returns
    -------
    float array of shape (n,)
        In order to the last bit.
    """
    fitted = value.astype(np.float64)
    close = _CLOSE * max(np.ptp(fitted), 1e-300) if len(fitted) else 0.0
    root = np.sqrt(np.maximum(weight, 1e-9 * max(weight.max(initial=0.0), 1e-300)))
    active = np.zeros(len(pairs), dtype=bool)
    for _ in range(_MOST_ROUNDS):
        violated = fitted[pairs[:, 0]] > fitted[pairs[:, 1]] + close
        if not (violated & ~active).any():
            break
        active |= violated
        low, high = pairs[active].T
        place = np.arange(len(low))
        matrix = np.zeros((len(value), len(low)))
        matrix[low, place] = 1 / root[low]
        matrix[high, place] = -1 / root[high]
        multiplier, _ = nnls(matrix, root * value, maxiter=10 * sum(matrix.shape))
        fitted = value - matrix @ multiplier / root
    return _exactly_ordered(fitted, pairs)


def with_order(tree: Tree, constraints: Constraints) -> Tree:
    """Return a tree whose leaves keep the order that monotone columns ask.

    Of a classifier the probability of the class that is meant moves, and the other
    classes share the rest as before. Leaves weigh as many rows as they hold.
    """
    if not constraints.monotone or tree.n_splits == 0:
        return tree
    leaves = np.flatnonzero(tree.is_leaf)
    pairs = node_boxes(tree).of(leaves).ordered(constraints.monotone)
    if not len(pairs):
        return tree
    value = tree.value.copy()
    at = output_of(tree.classes, constraints)
    weight = np.maximum(tree.n_rows[leaves], 1e-3)
    value[leaves] = ordered_values(value[leaves], weight, pairs, at, tree.classes)
    return replace(tree, value=value)


def ordered_values(
    value: np.ndarray,
    weight: np.ndarray,
    pairs: np.ndarray,
    output: int,
    classes: tuple | None,
) -> np.ndarray:
    """Return leaf values (L, C) in order; ``output`` is the column that is ordered."""
    wanted = value[:, output]
    if not (wanted[pairs[:, 0]] > wanted[pairs[:, 1]]).any():
        return value
    fitted = isotonic(wanted, weight, pairs)
    if classes is None:
        return fitted[:, None]
    fitted = np.clip(fitted, 0.0, 1.0)
    others = np.delete(value, output, axis=1)
    total = others.sum(axis=1, keepdims=True)
    even = np.full_like(others, 1 / others.shape[1])
    share = np.divide(others, total, out=even, where=total > 0)
    moved = np.insert(share * (1 - fitted)[:, None], output, fitted, axis=1)
    return np.where((fitted == wanted)[:, None], value, moved)


def output_of(classes: tuple | None, constraints: Constraints) -> int:
    """Column of ``Tree.value`` whose order is meant."""
    if classes is None:
        return 0
    if constraints.monotone_class is None:
        return len(classes) - 1
    return [str(label) for label in classes].index(constraints.monotone_class)


def _exactly_ordered(value: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Take rounding out: no value is below one that must not exceed it."""
    fitted = value.copy()
    for _ in range(len(value)):
        before = fitted.copy()
        np.maximum.at(fitted, pairs[:, 1], fitted[pairs[:, 0]])
        if (fitted == before).all():
            break
    return fitted
