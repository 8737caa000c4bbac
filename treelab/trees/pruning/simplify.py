"""Smaller trees that say the same: no empty branches, no two leaves that agree."""

from dataclasses import replace

import numpy as np

from treelab.trees.pruning.cost_complexity import (
    CostComplexityPath,
    cost_complexity_path,
    cost_complexity_prune,
)
from treelab.trees.pruning.cut import rebuild
from treelab.trees.walk import OBLIQUE

__all__ = [
    "CostComplexityPath",
    "cost_complexity_path",
    "cost_complexity_prune",
    "merge_equal",
    "prune_empty",
    "simplify",
]


def simplify(tree):
    """Drop empty branches, then merge sibling leaves that say the same."""
    return merge_equal(prune_empty(tree))


def prune_empty(tree):
    """Drop branches that no training row takes; the other branch moves up.

    A split that sends every possible row the same way (an infinite threshold) goes as
    well. Every training row keeps its answer. A tree that was shown no rows loses only
    splits of that second kind.

    Parameters
    ----------
    tree : Tree
        Its ``n_rows`` say which branches are empty.

    Returns
    -------
    Tree
        Nodes are numbered anew, depth first.
    """
    shown = tree.n_rows[0] > 0
    stands_for = np.arange(tree.n_nodes)  # the node that takes each node's place
    for node in _bottom_up(tree):
        if tree.is_leaf[node]:
            continue
        left, right = tree.left[node], tree.right[node]
        only = _only_branch(tree, node)
        if only is None and shown:
            if tree.n_rows[right] == 0:
                only = left
            elif tree.n_rows[left] == 0:
                only = right
        if only is not None:
            stands_for[node] = stands_for[only]
    return rebuild(tree, stands_for)


def _only_branch(tree, node: int):
    """Return the child that every possible row takes, or None where it depends."""
    threshold = tree.threshold[node]
    oblique = tree.feature[node] == OBLIQUE
    if oblique and not tree.weights[node].any():
        goes_left = threshold >= 0  # it sums up nothing
    elif np.isfinite(threshold):
        return None
    else:
        goes_left = threshold > 0
        if not oblique and tree.missing_left[node] != goes_left:
            return None  # it asks whether the value is missing
    return tree.left[node] if goes_left else tree.right[node]


def merge_equal(tree, *, same_answer: bool = False, tolerance: float = 1e-9):
    """Merge sibling leaves that say the same, from the bottom up.

    Parameters
    ----------
    tree : Tree
    same_answer : bool, default=False
        Merge leaves that predict the same class, however sure each of them is. The
        merged leaf says the mean of both, by rows. Changes nothing for regression.
    tolerance : float, default=1e-9
        Values that differ by at most this are the same.

    Returns
    -------
    Tree
        With the same predictions; nodes are numbered anew, depth first.
    """
    value, leaf = tree.value.copy(), tree.is_leaf.copy()
    linear = _linear_leaves(tree)
    bias = None if tree.leaf_bias is None else tree.leaf_bias.copy()
    leaf_weights = None if tree.leaf_weights is None else tree.leaf_weights.copy()
    for node in _bottom_up(tree):
        if tree.is_leaf[node]:
            continue
        pair = [tree.left[node], tree.right[node]]
        if not leaf[pair].all():
            continue
        first, second = value[pair]
        same = np.abs(first - second).max() <= tolerance
        if linear is not None and same:
            same = np.abs(np.subtract(*linear[pair])).max() <= tolerance
        if tree.classes is not None:
            answers_same = first.argmax() == second.argmax()
            same = answers_same and (same or same_answer)
        if not same:
            continue
        leaf[node] = True
        share = tree.n_rows[pair] / max(tree.n_rows[pair].sum(), 1)
        if not share.any():
            share = np.array([0.5, 0.5])
        # Leaves that agree to the last bit stay so: rounding a mean could move them.
        value[node] = first if (first == second).all() else share @ value[pair]
        if linear is not None:
            linear[node] = linear[pair[0]]
        if leaf_weights is not None and bias is not None:
            leaf_weights[node], bias[node] = leaf_weights[pair[0]], bias[pair[0]]
    changed = replace(tree, value=value, leaf_weights=leaf_weights, leaf_bias=bias)
    return rebuild(changed, cut=leaf)


def _linear_leaves(tree):
    """Return weights and bias of linear leaves side by side, or None."""
    if tree.leaf_weights is None:
        return None
    return np.concatenate([tree.leaf_weights, tree.leaf_bias], axis=1)


def _bottom_up(tree):
    """Return node numbers, children before their parents."""
    return np.argsort(-tree.level, kind="stable").tolist()
