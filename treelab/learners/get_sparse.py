"""Sparse oblique splits: leave out the columns that hardly matter.

Shapes: N splits, n rows, F features.
"""

from dataclasses import replace

import numpy as np

from treelab.learners.get_trees import HardTrees, Rows
from treelab.ops.oblique import hard_leaf

SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)  # of a split's weight, below which one goes


def weight_shares(
    weights: np.ndarray, threshold: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How much each column moves each split, and its mean among the rows there.

    Parameters
    ----------
    weights : ndarray of shape (N, F)
        Splits of one complete tree, breadth first.
    threshold : ndarray of shape (N,)
    x : ndarray of shape (n, F)
        Encoded rows.

    Returns
    -------
    shares : ndarray of shape (N, F)
        ``|weight| * deviation`` among the rows that reach the split; each row of the
        array sums to 1, or to 0 where no row comes.
    means : ndarray of shape (N, F)
    """
    n_splits = len(threshold)
    moves, means = np.zeros_like(weights), np.zeros_like(weights)
    node = hard_leaf(x, weights[None], threshold[None])[0] + n_splits
    while node[0] > 0:
        node = (node - 1) // 2
        order = np.argsort(node, kind="stable")
        splits, first = np.unique(node[order], return_index=True)
        for split, rows in zip(splits, np.split(order, first[1:])):
            means[split] = x[rows].mean(axis=0)
            moves[split] = np.abs(weights[split]) * x[rows].std(axis=0)
    total = moves.sum(axis=1, keepdims=True)
    return moves / np.where(total > 0, total, 1.0), means


def sparse_splits(
    trees: HardTrees, rows: Rows, valid: Rows, tolerance: float
) -> HardTrees:
    """Set small weights to zero while the validation loss stays within a tolerance.

    Level by level from the bottom, each split drops every column whose share of its
    weight is small; the threshold moves by what these columns add on average, and the
    leaves are recomputed. The largest bound is taken that keeps the validation loss
    of the split's own rows within its part of the tolerance.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training and validation rows.
    tolerance : float
        Share of its validation loss that the whole tree may lose, at least 0.

    Returns
    -------
    HardTrees
        A batch of one tree; its validation loss is at most ``1 + tolerance`` times
        that of `trees`.
    """
    depth = trees.threshold.shape[1].bit_length()
    allowed = tolerance * valid.loss(trees.answers(valid.x))[0] * valid.weight.sum()
    n_valid = len(valid.x)
    for level in range(depth - 1, -1, -1):
        waiting = np.arange(2**level - 1, 2 ** (level + 1) - 1)
        reached = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
        reached = np.bincount(reached >> (depth - level), minlength=2**level)
        budget = allowed / depth * reached / n_valid  # (nodes of the level,)
        before = _losses(trees, valid, level, depth)
        shares, means = weight_shares(trees.weights[0], trees.threshold[0], rows.x)
        for bound in SHARES:
            dropped = np.zeros(shares.shape, dtype=bool)
            small = shares[waiting] < bound
            # The heaviest column stays, whatever its share.
            small[np.arange(len(waiting)), shares[waiting].argmax(axis=1)] = False
            dropped[waiting] = small & (trees.weights[0, waiting] != 0)
            if not dropped.any():
                continue
            gone = np.where(dropped, trees.weights[0], 0.0)
            weights = trees.weights - gone[None]
            threshold = trees.threshold - (gone * means).sum(axis=1)[None]
            tried = replace(trees, weights=weights, threshold=threshold).refit(rows)
            after = _losses(tried, valid, level, depth)
            fine = (after <= before + budget)[waiting - (2**level - 1)]
            done = waiting[fine]
            weights, threshold = trees.weights.copy(), trees.threshold.copy()
            weights[0, done] = tried.weights[0, done]
            threshold[0, done] = tried.threshold[0, done]
            trees = replace(trees, weights=weights, threshold=threshold).refit(rows)
            waiting = waiting[~fine]
            if not len(waiting):
                break
    return trees


def _losses(trees, valid, level, depth) -> np.ndarray:
    """Summed validation loss (2**level,) of the rows under each node of the level."""
    leaf = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    losses = valid.row_loss(trees.answers(valid.x))[0]
    return np.bincount(leaf >> (depth - level), losses, 2**level)
