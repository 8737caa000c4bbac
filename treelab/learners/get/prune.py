"""How large a tree should be: cost-complexity pruning, priced by validation."""

import numpy as np

from treelab.learners.get.leaves import level_formulas, level_means
from treelab.learners.get.trees import HardTrees, Rows
from treelab.ops.oblique import hard_leaf

# Rows that draw a node to its parent; validation chooses.
SHRINKAGES = {False: (0.3, 1.0, 3.0, 10.0, 30.0), True: (0.1, 1.0, 10.0, 100.0)}
# Price of a leaf, as a share of what one answer for all rows costs; validation chooses.
PRICES = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)


def prune_on(
    trees: HardTrees, rows: Rows, valid: Rows, shrinkages=None
) -> tuple[HardTrees, float]:
    """Prune one tree to the cost and complexity that its validation rows like best.

    For each price of a leaf the tree is cut where training error plus price is lowest;
    for each strength of shrinkage the leaves are drawn towards the nodes above them.
    The pair with the lowest validation loss is taken.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training rows give the answers, validation rows judge them.
    shrinkages : sequence of float, optional
        Strengths to choose from, in rows.

    Returns
    -------
    trees : HardTrees
        The pruned tree, complete down to its deepest split: one that went asks nothing.
    loss : float
        Of the pruned tree on the validation rows.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984,
    chapter 3; hierarchical shrinkage, Agarwal et al., arXiv:2202.00858.
    """
    linear = trees.linear is not None
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)
    leaf_valid = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    asks = np.isfinite(trees.threshold[0])
    best = None
    # Constants are cut by their plain error, formulas by that of the shrunk ones.
    errors = None if linear else _errors(_levels(trees, leaf, rows, 1e-6), leaf, rows)
    for shrinkage in SHRINKAGES[linear] if shrinkages is None else shrinkages:
        levels = _levels(trees, leaf, rows, shrinkage)
        if linear:
            errors = _errors(levels, leaf, rows)
        losses = _losses(levels, leaf_valid, valid)
        before = None
        for price in PRICES:
            kept = _kept(errors, asks, price * errors[0][0])
            if before is not None and np.array_equal(kept, before):
                continue
            before = kept
            total = _cut(losses, kept, leaf_valid).sum()
            if best is None or total < best[0]:
                best = (total, kept, shrinkage)
    total, kept, shrinkage = best
    weights, threshold = trees.weights.copy(), trees.threshold.copy()
    weights[0, ~kept], threshold[0, ~kept] = 0.0, np.inf
    depth = int(np.flatnonzero(kept).max(initial=0) + 1).bit_length()
    pruned = HardTrees.fit(
        weights[:, : 2**depth - 1],
        threshold[:, : 2**depth - 1],
        rows,
        linear=linear,
        shrinkage=shrinkage,
    )
    return pruned, float(total / valid.weight.sum())


def _kept(errors: list[np.ndarray], asks: np.ndarray, price: float) -> np.ndarray:
    """Splits (N,) of the subtree whose error plus price a leaf is lowest."""
    kept = np.zeros(len(asks), dtype=bool)
    cost = errors[-1] + price
    for level in range(len(errors) - 2, -1, -1):
        below, own = cost[0::2] + cost[1::2], errors[level] + price
        splits = slice(2**level - 1, 2 ** (level + 1) - 1)
        kept[splits] = asks[splits] & (below < own)
        cost = np.where(kept[splits], below, own)
    for split in range(1, len(kept)):  # below a split that went there is none
        kept[split] &= kept[(split - 1) // 2]
    return kept


def _cut(losses: list[np.ndarray], kept: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Loss (n,) of each row in the tree of the splits that were kept."""
    depth = len(losses) - 1
    cut, alive = losses[0].copy(), np.ones(len(leaf), dtype=bool)
    for level in range(depth):
        alive = alive & kept[2**level - 1 + (leaf >> (depth - level))]
        cut = np.where(alive, losses[level + 1], cut)
    return cut


def _errors(levels, leaf, rows) -> list[np.ndarray]:
    """Squared error on the training rows of each node as a leaf, level by level."""
    errors = []
    for level, answer in enumerate(levels):
        node = leaf[0] >> (len(levels) - 1 - level)
        missed = (rows.target - _told(answer, rows.x, node)) ** 2
        errors.append(np.bincount(node, missed.sum(axis=1) * rows.weight, 2**level))
    return errors


def _losses(levels, leaf, valid) -> list[np.ndarray]:
    """Loss of each validation row were its node of a level a leaf, level by level."""
    return [
        valid.row_loss(_told(answer, valid.x, leaf >> (len(levels) - 1 - level)))
        for level, answer in enumerate(levels)
    ]


def _levels(trees, leaf, rows, shrinkage) -> list:
    """What every node answers, level by level: means, or formulas."""
    n_leaves = trees.threshold.shape[1] + 1
    if trees.linear is not None:
        return level_formulas(
            leaf[0], rows.x, rows.y, n_leaves, shrinkage, rows.n_imagined
        )
    return level_means(leaf, rows.target, rows.weight, n_leaves, shrinkage)


def _told(answer, x: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Answers (n, C) of one level to rows in these nodes."""
    if isinstance(answer, np.ndarray):
        return answer[0, node]
    return answer.predict(x, node[None])[0][:, None]
