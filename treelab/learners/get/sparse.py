"""Sparse oblique splits: the same boundary with fewer columns.

The paper has an L1 penalty for that (equation 5, ``l1``); this is ours.

Shapes: N splits, n rows, F features.
"""

import numpy as np

from treelab.learners.get.rows import Rows
from treelab.learners.get.trees import HardTrees
from treelab.trees.pruning.sparse_sums import N_COLUMNS, approximations


def sparse_splits(
    trees: HardTrees, rows: Rows, valid: Rows, tolerance: float
) -> HardTrees:
    """Leave columns out of the splits while the losses stay within bounds.

    Level by level from the bottom, each split's sum is approximated with few columns,
    their weights refitted, and the leaves are recomputed. The fewest columns are taken
    that keep the loss of the split's own rows within its part of the tolerance, on
    validation rows and, as these may be few, on training rows as well.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training and validation rows.
    tolerance : float
        Fraction of what the tree explains that it may lose, at least 0: of the
        difference between its loss and that of one leaf for all rows.

    Returns
    -------
    HardTrees
        A batch of one tree, its losses within the tolerance.
    """
    both = (valid, rows)
    allowed = [
        tolerance * explained_loss(trees, rows, on) * on.weight.sum() / trees.depth
        for on in both
    ]
    for level in range(trees.depth - 1, -1, -1):
        bounds = [  # on either rows, the most that each node of the level may lose
            trees.node_losses(on, level) + total * _fraction_reached(trees, on, level)
            for on, total in zip(both, allowed)
        ]
        trees = _sparse_level(trees, both, level, bounds)
    return trees


def _sparse_level(
    trees: HardTrees, both: tuple[Rows, Rows], level: int, bounds: list[np.ndarray]
) -> HardTrees:
    """Give each split of a level the fewest columns that keep losses within bounds.

    ``both`` are the validation rows and the training rows.
    """
    first, rows = 2**level - 1, both[1]
    found = _approximations_of_level(trees, rows, level)
    waiting = set(found)
    for step in range(len(N_COLUMNS)):
        trying = [node for node in waiting if len(found[node]) > step]
        if not trying:
            break
        splits = first + np.array(trying)
        weights = np.array([found[node][step][0] for node in trying])
        moved = np.array([found[node][step][1] for node in trying])
        threshold = trees.threshold[0, splits] - moved
        tried = trees.with_splits(splits, weights, threshold, rows)
        within = np.all(
            [tried.node_losses(on, level) <= bound for on, bound in zip(both, bounds)],
            axis=0,
        )
        done = [node for node in trying if within[node]]
        splits = first + np.array(done, dtype=int)
        trees = trees.with_splits(
            splits, tried.weights[0, splits], tried.threshold[0, splits], rows
        )
        waiting -= set(done)
    return trees


def _approximations_of_level(
    trees: HardTrees, rows: Rows, level: int
) -> dict[int, list]:
    """Sums of fewer columns for each split of a level that has any to spare."""
    node = trees.nodes_at(rows.x, level)
    found = {}
    for at in np.unique(node):
        weights = trees.weights[0, 2**level - 1 + at]
        if (weights != 0).sum() > 1:
            found[int(at)] = approximations(rows.x[node == at], weights)
    return found


def explained_loss(trees: HardTrees, rows: Rows, on: Rows) -> float:
    """Loss of one leaf for all rows less that of a batch of one tree, at least 0.

    The one leaf predicts the mean of ``rows``; losses are those of the rows ``on``.
    """
    mean = np.average(rows.target, axis=0, weights=rows.weight)
    constant = np.broadcast_to(mean, (1, len(on.x), len(mean)))
    return float(max(0.0, on.loss(constant)[0] - on.loss(trees.predict(on.x))[0]))


def _fraction_reached(trees: HardTrees, rows: Rows, level: int) -> np.ndarray:
    """Fraction of the rows (2**level,) that reaches each node of the level."""
    node = trees.nodes_at(rows.x, level)
    return np.bincount(node, minlength=2**level) / len(node)
