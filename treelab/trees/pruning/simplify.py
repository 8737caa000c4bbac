"""Smaller trees of the same predictions: no empty branches, no two equal leaves."""

from dataclasses import replace

import numpy as np

from treelab.trees.pruning.cut import rebuild
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

TOLERANCE = 1e-9  # of the range of a tree's values: what differs by less is equal
ROUNDED = 1e-6  # of the largest value: what a range of rounding errors falls below


def simplify(tree: Tree) -> Tree:
    """Drop empty branches, then merge sibling leaves of equal predictions."""
    return merge_equal(prune_empty(tree))


def prune_empty(tree: Tree) -> Tree:
    """Drop branches that no training row takes; the other branch moves up.

    So is a split that sends every possible row to one side (an infinite threshold).
    The prediction for every training row stays the same. A tree without rows loses
    only splits of that second kind.

    Parameters
    ----------
    tree : Tree
        Branches are empty where its ``n_rows`` are 0.

    Returns
    -------
    Tree
        Nodes are numbered anew, depth first.
    """
    has_rows = tree.n_rows[0] > 0
    replacement = np.arange(tree.n_nodes)  # the node that takes each node's place
    for node in _bottom_up(tree):
        if tree.is_leaf[node]:
            continue
        left, right = tree.left[node], tree.right[node]
        only = _only_branch(tree, node)
        if only is None and has_rows:
            if tree.n_rows[right] == 0:
                only = left
            elif tree.n_rows[left] == 0:
                only = right
        if only is not None:
            replacement[node] = replacement[only]
    return rebuild(tree, replacement)


def _only_branch(tree: Tree, node: int) -> int | None:
    """Return the child that every possible row takes, or None where it depends."""
    threshold = tree.threshold[node]
    oblique = tree.feature[node] == OBLIQUE
    if oblique and tree.weights is not None and not tree.weights[node].any():
        goes_left = threshold >= 0  # a sum of nothing is 0
    elif np.isfinite(threshold):
        return None
    else:
        goes_left = threshold > 0
        is_number = tree.features[tree.feature[node]].kind == "number"
        if not oblique and not goes_left and is_number:
            return None  # minus infinity itself goes left
        if not oblique and tree.missing_left[node] != goes_left:
            return None  # it tests whether the value is missing
    return tree.left[node] if goes_left else tree.right[node]


def merge_equal(
    tree: Tree, *, same_class: bool = False, tolerance: float = TOLERANCE
) -> Tree:
    """Merge sibling leaves of equal predictions, from the bottom up.

    Parameters
    ----------
    tree : Tree
    same_class : bool, default=False
        Merge leaves that predict the same class with whatever probabilities; the
        merged leaf predicts their mean, weighted by rows. Changes nothing for
        regression.
    tolerance : float, default=1e-9
        Values that differ by at most this fraction of the range of all are equal.

    Returns
    -------
    Tree
        With the same predictions; nodes are numbered anew, depth first.
    """
    value, leaf = tree.value.copy(), tree.is_leaf.copy()
    decision = None if tree.decision is None else tree.decision.copy()
    linear = _linear_leaves(tree)
    close = tolerance * (np.ptp(value) + ROUNDED * np.abs(value).max())
    bias = None if tree.leaf_bias is None else tree.leaf_bias.copy()
    leaf_weights = None if tree.leaf_weights is None else tree.leaf_weights.copy()
    for node in _bottom_up(tree):
        if tree.is_leaf[node]:
            continue
        pair = [tree.left[node], tree.right[node]]
        if not leaf[pair].all():
            continue
        first, second = value[pair]
        same = np.abs(first - second).max() <= close
        if linear is not None and same:
            same = np.abs(np.subtract(*linear[pair])).max() <= close
        if tree.classes is not None:
            chosen = value[pair].argmax(axis=1) if decision is None else decision[pair]
            class_is_same = chosen[0] == chosen[1]
            same = class_is_same and (same or same_class)
        if not same:
            continue
        leaf[node] = True
        fraction = tree.n_rows[pair] / max(tree.n_rows[pair].sum(), 1)
        if not fraction.any():
            fraction = np.array([0.5, 0.5])
        # Leaves that agree to the last bit stay so: rounding a mean could move them.
        value[node] = first if (first == second).all() else fraction @ value[pair]
        if decision is not None:
            decision[node] = decision[pair[0]]
        if linear is not None:
            linear[node] = linear[pair[0]]
        if leaf_weights is not None and bias is not None:
            leaf_weights[node], bias[node] = leaf_weights[pair[0]], bias[pair[0]]
    changed = replace(
        tree, value=value, decision=decision, leaf_weights=leaf_weights, leaf_bias=bias
    )
    return rebuild(changed, cut=leaf)


def _linear_leaves(tree: Tree) -> np.ndarray | None:
    """Return linear leaves as numbers in the unit of the target, or None.

    What they add for one spread of each column, and predict for usual values.
    """
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return None
    usual = np.nan_to_num([feature.fill for feature in tree.features])
    spread = np.array([feature.spread for feature in tree.features])
    by_column = tree.leaf_weights * np.where(spread > 0, spread, 1.0)
    at_usual = tree.leaf_bias + (tree.leaf_weights @ usual)[:, None]
    return np.concatenate([by_column, at_usual], axis=1)


def _bottom_up(tree: Tree) -> list[int]:
    """Return node numbers, children before their parents."""
    return np.argsort(-tree.level, kind="stable").tolist()
