"""How large a tree should be: how many leaves, and how many columns in its splits.

Both are chosen by held-out rows. The paper tunes the depth instead (section 5.1), and
has an L1 penalty for the columns (equation 5).

Shapes: N splits and L leaves breadth first, S sizes, n rows.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix

from treelab.evaluation.metrics import macro_f1, macro_f1_error
from treelab.learners.get.rows import Rows, join_rows
from treelab.learners.get.trees import HardTrees
from treelab.trees.feature import Feature
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.size_path import COLUMNS, within_one_standard_error
from treelab.trees.pruning.sizes import size_grid, steps_at
from treelab.trees.pruning.sparse_sums import N_COLUMNS, approximations
from treelab.trees.tree import Tree


def subtrees(trees: HardTrees, rows: Rows) -> list[HardTrees]:
    """Cost-complexity subtrees of a batch of one tree, ascending in leaves.

    The smallest is one leaf; beyond it there is one for each size of ``size_grid``.
    Splits fall by the loss on these rows, from which the leaves are computed, too.
    """
    n_splits = trees.threshold.shape[1]
    retained = np.isfinite(trees.threshold[0])
    losses, n_rows = [], []
    for level in range(trees.depth + 1):
        cut = trees.cut_to(retained[: 2**level - 1]).refit(rows)
        losses.append(cut.node_losses(rows, level))
        n_rows.append(np.bincount(trees.nodes_at(rows.x, level), minlength=2**level))
    reached = np.concatenate(n_rows)
    nothing = np.zeros(n_splits)
    tree = replace(
        Tree.complete(
            (Feature("any"),), nothing, nothing, nothing > 0, np.zeros(n_splits + 1)
        ),
        n_rows=reached,
        impurity=np.concatenate(losses) / np.maximum(reached, 1),
    )
    path = cost_complexity_path(tree)
    steps = [len(path) - 1, *steps_at(path, size_grid(path.n_leaves[0])), 0]
    left = {}  # splits by their number
    for step in steps:
        own = retained & (path.step[:n_splits] > step)
        left[int(own.sum())] = own
    found = []
    for number in sorted(left):
        depth = int(np.flatnonzero(left[number]).max(initial=0) + 1).bit_length()
        found.append(trees.cut_to(left[number][: 2**depth - 1]).refit(rows))
    return found


def prune_by_validation(trees: HardTrees, rows: Rows, valid: Rows) -> HardTrees:
    """Prune a batch of one tree for the lowest validation loss."""
    found = subtrees(trees, rows)
    losses = [valid.loss(tree.predict(valid.x))[0] for tree in found]
    return found[int(np.argmin(losses))]


def choose_sizes(
    trees: HardTrees, rows: Rows, valid: Rows, max_leaf_nodes: int | None = None
) -> tuple[list[HardTrees], pd.DataFrame, int]:
    """Prune a batch of one tree to all sizes, and choose one.

    Chosen is the smallest tree whose mean validation loss is within one standard error
    of the best one's; with ``max_leaf_nodes`` the best of those that are small enough.

    Returns the trees, ascending in leaves, the scores of a ``SizePath`` and the number
    of the tree that is chosen.
    """
    found = subtrees(trees, rows)
    predicted = [tree.predict(valid.x)[0] for tree in found]
    gain = -np.array([valid.row_loss(each) for each in predicted])  # (S, n)
    chosen, _ = within_one_standard_error(gain)
    if max_leaf_nodes is not None:
        fits = np.array([tree.n_leaves for tree in found]) <= max_leaf_nodes
        chosen = int(np.where(fits, gain.mean(1), -np.inf).argmax())
    scores = [
        (tree.n_leaves, *_score(each, valid)) for tree, each in zip(found, predicted)
    ]
    return found, pd.DataFrame(scores, columns=[*COLUMNS]), chosen


def _score(predicted: np.ndarray, valid: Rows) -> tuple[float, float]:
    """R² or macro F1 of predictions (n, C) for the rows, and its standard error."""
    if valid.n_classes:
        classes = range(valid.n_classes)
        confusion = confusion_matrix(valid.y, predicted.argmax(1), labels=classes)
        return float(macro_f1(confusion)), macro_f1_error(confusion)
    variance = valid.y.var()
    if variance == 0:
        return np.nan, np.nan
    explained = 1 - (predicted[:, 0] - valid.y) ** 2 / variance
    return explained.mean(), explained.std() / np.sqrt(len(explained))


def sparse_splits(
    trees: HardTrees, rows: Rows, valid: Rows, tolerance: float
) -> HardTrees:
    """Leave columns out of the splits while the loss stays within bounds.

    Level by level from the bottom, each split's sum is approximated with few columns,
    their weights refitted, and the leaves are recomputed. The fewest columns are taken
    with which the loss of the split's own rows rises by no more than the tolerance.

    Parameters
    ----------
    trees : HardTrees
        A batch of one tree.
    rows, valid : Rows
        Training rows, from which leaves are computed, and validation rows; the loss is
        that of all of them.
    tolerance : float
        Fraction by which the loss may rise on each level, at least 0.

    Returns
    -------
    HardTrees
        A batch of one tree.
    """
    both = join_rows(rows, valid)
    for level in range(trees.depth - 1, -1, -1):
        bound = (1 + tolerance) * trees.node_losses(both, level)
        trees = _sparse_level(trees, rows, both, bound)
    return trees


def _sparse_level(
    trees: HardTrees, rows: Rows, both: Rows, bound: np.ndarray
) -> HardTrees:
    """Give splits the fewest columns that keep each node's loss (2**level,) bounded."""
    first, level = len(bound) - 1, len(bound).bit_length() - 1
    node = trees.nodes_at(rows.x, level)
    waiting = {
        int(at): approximations(rows.x[node == at], trees.weights[0, first + at])
        for at in np.unique(node)
        if np.count_nonzero(trees.weights[0, first + at]) > 1
    }
    for step in range(len(N_COLUMNS)):
        waiting = {at: sums for at, sums in waiting.items() if len(sums) > step}
        if not waiting:
            break
        nodes = np.array([*waiting])
        weights, lacking = zip(*[sums[step] for sums in waiting.values()])
        threshold = trees.threshold[0, first + nodes] - lacking
        tried = trees.with_splits(first + nodes, weights, threshold, rows)
        within = tried.node_losses(both, level)[nodes] <= bound[nodes]
        trees = trees.with_splits(
            first + nodes[within],
            np.array(weights)[within],
            threshold[within],
            rows,
        )
        waiting = {at: waiting[at] for at in nodes[~within].tolist()}
    return trees
