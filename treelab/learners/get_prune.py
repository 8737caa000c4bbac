"""How deep each branch should be: prune a tree to what its validation rows support."""

import numpy as np

from treelab.learners.get_leaves import level_formulas, level_means
from treelab.learners.get_trees import HardTrees, Rows
from treelab.ops.oblique import hard_leaf

SHRINKAGES = (1.0, 3.0, 10.0, 30.0)  # rows; validation chooses
SURENESS = 0.5  # standard errors by which the larger tree must be better


def prune_on(
    trees: HardTrees, rows: Rows, valid: Rows, shrinkages=SHRINKAGES
) -> tuple[HardTrees, float]:
    """Prune one tree where its validation rows do no worse without a branch.

    Reduced-error pruning from the bottom up: a split stays only if the leaves below it
    have a lower loss on the validation rows than the node has as a leaf, by more than
    ``SURENESS`` standard errors, as luck decides on few rows. The strength of shrinkage
    is chosen by the loss of the pruned tree.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training rows give the answers, validation rows judge them.
    shrinkages : sequence of float
        Strengths to choose from, in rows.

    Returns
    -------
    trees : HardTrees
        The pruned tree, complete down to its deepest split: one that went asks nothing.
    loss : float
        Of the pruned tree on the validation rows.

    References
    ----------
    Quinlan, "Simplifying decision trees", 1987 (reduced-error pruning).
    """
    leaf = hard_leaf(rows.x, trees.weights, trees.threshold)
    leaf_valid = hard_leaf(valid.x, trees.weights, trees.threshold)[0]
    best = None
    for shrinkage in shrinkages:
        losses = _losses(trees, leaf, rows, leaf_valid, valid, shrinkage)
        gone = []
        below = losses[-1]  # (n,), each row's loss in the tree as pruned so far
        for level in range(len(losses) - 2, -1, -1):
            node = leaf_valid >> (len(losses) - 1 - level)
            gain = losses[level] - below
            sure = SURENESS * np.sqrt(np.bincount(node, gain**2, 2**level))
            gives_up = np.bincount(node, gain, 2**level) <= sure
            gone.append(2**level - 1 + np.flatnonzero(gives_up))
            below = np.where(gives_up[node], losses[level], below)
        if best is None or below.sum() < best[0]:
            best = (below.sum(), np.concatenate([*gone, []]).astype(int), shrinkage)
    total, gone, shrinkage = best
    weights, threshold = trees.weights.copy(), trees.threshold.copy()
    weights[0, gone], threshold[0, gone] = 0.0, np.inf
    for split in range(
        len(threshold[0])
    ):  # below a split that went there is nothing to ask
        if split and np.isinf(threshold[0, (split - 1) // 2]):
            weights[0, split], threshold[0, split] = 0.0, np.inf
    asks = np.flatnonzero(np.isfinite(threshold[0]))
    depth = int(asks.max() + 1).bit_length() if len(asks) else 1
    pruned = HardTrees.fit(
        weights[:, : 2**depth - 1],
        threshold[:, : 2**depth - 1],
        rows,
        linear=trees.linear is not None,
        shrinkage=shrinkage,
    )
    return pruned, float(total / valid.weight.sum())


def surely_better(trees: HardTrees, than: HardTrees, valid: Rows) -> bool:
    """Whether one tree beats another on validation rows by ``SURENESS`` or more.

    Parameters
    ----------
    trees, than : HardTrees
        Batches of one tree.
    valid : Rows
        Validation rows.
    """
    loss, loss_than = (valid.row_loss(t.answers(valid.x))[0] for t in (trees, than))
    gain = loss_than - loss
    return bool(gain.sum() > SURENESS * np.sqrt((gain**2).sum()))


def _losses(trees, leaf, rows, leaf_valid, valid, shrinkage) -> list[np.ndarray]:
    """Loss of each validation row were its node of a level a leaf, level by level."""
    n_leaves = trees.threshold.shape[1] + 1
    losses = []
    if trees.linear is not None:
        levels = level_formulas(leaf[0], rows.x, rows.y, n_leaves, shrinkage)
    else:
        levels = level_means(leaf, rows.target, rows.weight, n_leaves, shrinkage)
    for level, answer in enumerate(levels):
        node = leaf_valid >> (len(levels) - 1 - level)
        if trees.linear is not None:
            told = answer.predict(valid.x, node[None])[0][:, None]
        else:
            told = answer[0, node]
        losses.append(valid.row_loss(told))
    return losses
