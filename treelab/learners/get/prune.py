"""How large a tree should be: cost-complexity pruning, chosen by validation.

The paper tunes the depth instead (section 5.1).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from treelab.learners.get.leaves import (
    LinearLeaves,
    level_linear_models,
    level_means,
)
from treelab.learners.get.rows import Rows
from treelab.learners.get.trees import HardTrees
from treelab.ops.oblique import hard_leaf

# Pseudo-rows that shrink a node towards its parent, by linear leaves.
SHRINKAGES = {False: (0.3, 1.0, 3.0, 10.0, 30.0), True: (0.1, 1.0, 10.0, 100.0)}
# Complexity parameter, as a fraction of the error of one leaf for all rows.
CCP_ALPHAS = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)


def prune_by_validation(
    trees: HardTrees, rows: Rows, valid: Rows, shrinkages: Sequence[float] | None = None
) -> tuple[HardTrees, float]:
    """Prune one tree to the complexity with the lowest validation loss.

    For each complexity parameter the tree is cut where training error plus penalty is
    lowest; for each shrinkage the leaves are shrunk towards the nodes above them. The
    pair with the lowest validation loss is taken.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training rows fit the leaves, validation rows choose.
    shrinkages : sequence of float, optional
        To choose from, in rows.

    Returns
    -------
    trees : HardTrees
        The pruned tree, complete down to its deepest split: a split that was pruned
        sends all rows left.
    loss : float
        Of the pruned tree on the validation rows.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984,
    chapter 3; hierarchical shrinkage, Agarwal et al., arXiv:2202.00858.
    """
    linear = trees.linear is not None
    if shrinkages is None:
        shrinkages = SHRINKAGES[linear]
    candidates = _candidates(trees, rows, valid, shrinkages)
    total, retained, shrinkage = min(candidates, key=lambda candidate: candidate[0])
    weights, threshold = trees.weights.copy(), trees.threshold.copy()
    weights[0, ~retained], threshold[0, ~retained] = 0.0, np.inf
    depth = int(np.flatnonzero(retained).max(initial=0) + 1).bit_length()
    pruned = HardTrees.fit(
        weights[:, : 2**depth - 1],
        threshold[:, : 2**depth - 1],
        rows,
        linear=linear,
        shrinkage=shrinkage,
    )
    return pruned, float(total / valid.weight.sum())


def _candidates(
    trees: HardTrees, rows: Rows, valid: Rows, shrinkages: Sequence[float]
) -> Iterator[tuple[float, np.ndarray, float]]:
    """Subtrees: their summed validation loss, the splits (N,) retained, shrinkage."""
    linear = trees.linear is not None
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)
    leaf_valid = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    is_split = np.isfinite(trees.threshold[0])
    # Constants are cut by their plain error, linear models by that of the shrunk ones.
    errors = _errors(_levels(trees, leaf, rows, 1e-6), leaf, rows) if not linear else []
    for shrinkage in shrinkages:
        levels = _levels(trees, leaf, rows, shrinkage)
        if linear:
            errors = _errors(levels, leaf, rows)
        losses = _losses(levels, leaf_valid, valid)
        before = None
        for ccp_alpha in CCP_ALPHAS:
            retained = _retained_splits(errors, is_split, ccp_alpha * errors[0][0])
            if before is not None and np.array_equal(retained, before):
                continue
            before = retained
            yield (
                _pruned_losses(losses, retained, leaf_valid).sum(),
                retained,
                shrinkage,
            )


def _retained_splits(
    errors: list[np.ndarray], is_split: np.ndarray, ccp_alpha: float
) -> np.ndarray:
    """Splits (N,) of the subtree whose error plus penalty on leaves is lowest."""
    retained = np.zeros(len(is_split), dtype=bool)
    cost = errors[-1] + ccp_alpha
    for level in range(len(errors) - 2, -1, -1):
        as_split, as_leaf = cost[0::2] + cost[1::2], errors[level] + ccp_alpha
        splits = slice(2**level - 1, 2 ** (level + 1) - 1)
        retained[splits] = is_split[splits] & (as_split < as_leaf)
        cost = np.where(retained[splits], as_split, as_leaf)
    for split in range(1, len(retained)):  # below a split that was cut there is none
        retained[split] &= retained[(split - 1) // 2]
    return retained


def _pruned_losses(
    losses: list[np.ndarray], retained: np.ndarray, leaf: np.ndarray
) -> np.ndarray:
    """Loss (n,) of each row in the tree of the splits that are retained."""
    depth = len(losses) - 1
    pruned, reached = losses[0].copy(), np.ones(len(leaf), dtype=bool)
    for level in range(depth):
        reached = reached & retained[2**level - 1 + (leaf >> (depth - level))]
        pruned = np.where(reached, losses[level + 1], pruned)
    return pruned


def _errors(levels: list, leaf: np.ndarray, rows: Rows) -> list[np.ndarray]:
    """Squared error on the training rows of each node as a leaf, level by level."""
    errors = []
    for level, predictor in enumerate(levels):
        node = leaf[0] >> (len(levels) - 1 - level)
        squared = (rows.target - _predict(predictor, rows.x, node)) ** 2
        errors.append(np.bincount(node, squared.sum(axis=1) * rows.weight, 2**level))
    return errors


def _losses(levels: list, leaf: np.ndarray, valid: Rows) -> list[np.ndarray]:
    """Loss of each validation row were its node of a level a leaf, level by level."""
    return [
        valid.row_loss(_predict(predictor, valid.x, leaf >> (len(levels) - 1 - level)))
        for level, predictor in enumerate(levels)
    ]


def _levels(trees: HardTrees, leaf: np.ndarray, rows: Rows, shrinkage: float) -> list:
    """What every node predicts with, level by level: means, or linear models."""
    n_leaves = trees.threshold.shape[1] + 1
    if trees.linear is not None:
        return level_linear_models(
            leaf[0], rows.x, rows.y, n_leaves, shrinkage, rows.n_synthetic
        )
    return level_means(leaf, rows.target, rows.weight, n_leaves, shrinkage)


def _predict(
    predictor: np.ndarray | LinearLeaves, x: np.ndarray, node: np.ndarray
) -> np.ndarray:
    """Predictions (n, C) of one level for rows in these nodes."""
    if isinstance(predictor, np.ndarray):
        return predictor[0, node]
    return predictor.predict(x, node[None])[0][:, None]
