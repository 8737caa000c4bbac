"""Sparse oblique splits: the same border with fewer columns.

Shapes: N splits, n rows, F features.
"""

from dataclasses import replace

import numpy as np

from treelab.learners.get.trees import HardTrees, Rows
from treelab.ops.oblique import hard_leaf

COLUMNS = (1, 2, 3, 5, 8, 13, 21)  # that a split may be left with, fewest first


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
        Share of what the tree explains that it may lose, at least 0: of the difference
        between its loss and that of one answer for all rows.

    Returns
    -------
    HardTrees
        A batch of one tree, its losses within the tolerance.
    """
    depth = trees.threshold.shape[1].bit_length()
    judges = (valid, rows)
    allowed = [
        tolerance * explained(trees, rows, judge) * judge.weight.sum() / depth
        for judge in judges
    ]
    for level in range(depth - 1, -1, -1):
        first = 2**level - 1
        bounds = [  # for each judge, what each node of the level may lose
            _losses(trees, judge, level, depth)
            + total * _shares_reached(trees, judge, level, depth)
            for judge, total in zip(judges, allowed)
        ]
        fewer = _fewer_columns(trees, rows, level, depth)
        waiting = set(fewer)
        for step in range(len(COLUMNS)):
            tried_weights, tried_threshold = (
                trees.weights.copy(),
                trees.threshold.copy(),
            )
            trying = [at for at in waiting if len(fewer[at]) > step]
            if not trying:
                break
            for at in trying:
                tried_weights[0, first + at], moved = fewer[at][step]
                tried_threshold[0, first + at] -= moved
            tried = replace(trees, weights=tried_weights, threshold=tried_threshold)
            tried = tried.refit(rows)
            fine = np.all(
                [
                    _losses(tried, judge, level, depth) <= bound
                    for judge, bound in zip(judges, bounds)
                ],
                axis=0,
            )
            done = [at for at in trying if fine[at]]
            splits = first + np.array(done, dtype=int)
            weights, threshold = trees.weights.copy(), trees.threshold.copy()
            weights[0, splits] = tried_weights[0, splits]
            threshold[0, splits] = tried_threshold[0, splits]
            trees = replace(trees, weights=weights, threshold=threshold).refit(rows)
            waiting -= set(done)
    return trees


def _fewer_columns(trees, rows, level, depth) -> dict[int, list]:
    """Sums of fewer columns for each split of a level that has any to spare."""
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)[0]
    node = leaf >> (depth - level)
    found = {}
    for at in np.unique(node):
        weights = trees.weights[0, 2**level - 1 + at]
        if (weights != 0).sum() > 1:
            found[int(at)] = approximations(rows.x[node == at], weights)
    return found


def approximations(x: np.ndarray, weights: np.ndarray) -> list:
    """Approximate a weighted sum with 1, 2, 3, 5, ... of its columns.

    Orthogonal matching pursuit: the column that explains most of what is left over
    enters next, and all weights are fitted again.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        The rows on which the sums shall agree.
    weights : ndarray of shape (F,)

    Returns
    -------
    list of (weights (F,), float)
        For each number in ``COLUMNS`` below that of the sum's own columns: weights,
        and what the approximation lacks to the sum on average.
    """
    mean = x.mean(axis=0)
    gram = (x - mean).T @ (x - mean)
    spread = np.sqrt(np.diag(gram))
    usable = (weights != 0) & (spread > 1e-9)
    scale = np.where(usable, spread, 1.0)
    gram = gram / np.outer(scale, scale)
    wanted = gram @ (weights * scale)
    chosen: list[int] = []
    found = []
    for n_columns in range(1, int(usable.sum())):
        fitted = np.zeros(len(weights))
        if chosen:
            fitted[chosen] = _solve(gram, wanted, chosen)
        left_over = np.where(usable, np.abs(wanted - gram @ fitted), -1.0)
        left_over[chosen] = -1.0
        chosen.append(int(left_over.argmax()))
        if n_columns in COLUMNS:
            sparse = np.zeros(len(weights))
            sparse[chosen] = _solve(gram, wanted, chosen) / scale[chosen]
            found.append((sparse, float(mean @ (weights - sparse))))
        if n_columns == COLUMNS[-1]:
            break
    return found


def _solve(gram, wanted, chosen) -> np.ndarray:
    """Weights of the chosen columns that fit best; a touch of ridge for twins."""
    part = gram[np.ix_(chosen, chosen)] + 1e-9 * np.eye(len(chosen))
    return np.linalg.solve(part, wanted[chosen])


def explained(trees: HardTrees, rows: Rows, valid: Rows) -> float:
    """Loss of one answer for all rows less that of a batch of one tree.

    Never below 0; the one answer is the mean of the training rows.
    """
    mean = np.average(rows.target, axis=0, weights=rows.weight)
    told = np.broadcast_to(mean, (1, len(valid.x), len(mean)))
    return float(max(0.0, valid.loss(told)[0] - valid.loss(trees.answers(valid.x))[0]))


def _shares_reached(trees, rows, level, depth) -> np.ndarray:
    """Share of the rows (2**level,) that reaches each node of the level."""
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)[0]
    return np.bincount(leaf >> (depth - level), minlength=2**level) / len(leaf)


def _losses(trees, valid, level, depth) -> np.ndarray:
    """Summed loss (2**level,) of the rows under each node of the level."""
    leaf = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    losses = valid.row_loss(trees.answers(valid.x))[0]
    return np.bincount(leaf >> (depth - level), losses, 2**level)
