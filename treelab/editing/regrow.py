"""Growing a branch again, and what its leaves predict."""

from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from treelab.editing.candidates import Candidate
from treelab.editing.edited import Edited, below
from treelab.editing.limits import EditRows
from treelab.editing.paths import node_of, paths
from treelab.trees.constraints import Constraints, cost_matrix, with_order
from treelab.trees.shrinkage import with_shrunk_values
from treelab.trees.tree import Tree, goes_left, leaf_of, sum_up, with_leaves

_SAME = 1e-6  # of probabilities


def refit(edited: Edited, rows: EditRows) -> Tree:
    """Return the tree with its rows, and leaves fitted where rows may have changed.

    A leaf that no edit touched predicts what it did, to the last bit. The others
    predict the mean of their rows: a class by the weights of the first tree's leaves,
    with a probability that is shrunk as theirs are; linear leaves become constant
    there. Where constraints ask for an order, leaves that are out of it take the
    nearest values that are in order. The rows are those that the first tree was fitted
    to.
    """
    named = paths(edited.tree)
    tops = edited.changed
    touched = [any(p == top or below(p, top) for top in tops) for p in named]
    fitted = refit_nodes(
        edited.tree,
        rows,
        np.array(touched),
        class_weights(edited.start),
        edited.constraints,
    )
    return with_order(fitted, edited.constraints)


def refit_all(
    tree: Tree, rows: EditRows, weights: np.ndarray, constraints: Constraints
) -> Tree:
    """Return the tree with all its leaves fitted to rows, by ``class_weights``."""
    touched = np.ones(tree.n_nodes, dtype=bool)
    return refit_nodes(tree, rows, touched, weights, constraints)


def refit_nodes(
    tree: Tree,
    rows: EditRows,
    touched: np.ndarray,
    weights: np.ndarray,
    constraints: Constraints,
) -> Tree:
    """Return the tree with rows, and new values at the nodes that are ``touched``.

    Leaves go by ``class_weights``, or by what the constraints say that errors cost.
    """
    matrix = rows.matrix(tree)
    leaf = leaf_of(tree, matrix)
    bare = replace(
        tree,
        between=None,
        missing_rows=None,
        activity=None,
        interval=None,  # as new rows fell into the leaves that were
        interval_level=None,
    )
    counted = with_leaves(bare, matrix, leaf, rows.y, rows.weight)
    if tree.shrinkage is not None or tree.decision is not None:
        costs = cost_matrix(constraints, tree.classes)
        return _shrunk(tree, counted, touched, weights, costs)
    weight = rows.weights(np.arange(len(rows)))
    if tree.classes is not None:
        weight = weight * weights[rows.y]
    columns = [weight, *(weight * rows.values().T)]
    at_leaf = [np.bincount(leaf, column, tree.n_nodes) for column in columns]
    total, *sums = sum_up(tree, np.stack(at_leaf, axis=1)).T
    mean = np.stack(sums, axis=1) / np.where(total > 0, total, 1)[:, None]
    value = np.where(touched[:, None] & (total > 0)[:, None], mean, tree.value)
    for node in tree.depth_first:
        if touched[node] and not total[node] > 0 and node:
            value[node] = value[tree.parent[node]]  # nobody comes here
    linear: dict[str, Any] = {}
    if tree.leaf_weights is not None and tree.leaf_bias is not None:
        constant = touched[:, None]
        linear = {
            "leaf_weights": np.where(constant, 0.0, tree.leaf_weights),
            "leaf_bias": np.where(constant, value, tree.leaf_bias),
        }
    return replace(counted, value=value, **linear)


def _shrunk(
    tree: Tree,
    counted: Tree,
    touched: np.ndarray,
    weights: np.ndarray,
    costs: np.ndarray | None,
) -> Tree:
    """Return ``refit_nodes`` of a tree that holds classes apart from probabilities."""
    plain = replace(counted, decision=None, shrinkage=None)
    assert counted.class_counts is not None
    weighted = counted.class_counts * weights
    total = weighted.sum(axis=1, keepdims=True)
    for node in tree.depth_first:
        if not total[node] > 0 and node:
            weighted[node] = weighted[tree.parent[node]]  # nobody comes here
            total[node] = total[tree.parent[node]]
    strength = tree.shrinkage or 0.0
    plain = replace(plain, value=weighted / total)
    fitted = with_shrunk_values(plain, strength, costs)
    value = np.where(touched[:, None], fitted.value, tree.value)
    chosen = np.where(touched, fitted.predicted_class, tree.predicted_class)
    return replace(
        counted, value=value, decision=chosen, class_weights=weights / weights.max()
    )


def why_no_class_weights(tree: Tree) -> str:
    """Say why the weights of a tree's classes are not known; "" where they are.

    Its probabilities are of rows that count alike where they are shrunk, or its classes
    are chosen apart from them.
    """
    is_apart = tree.shrinkage is not None or tree.decision is not None
    if tree.class_weights is not None or not is_apart:
        return ""
    return (
        "This tree does not name the weights of its classes, as it was saved before "
        "trees did, and its probabilities do not show them: new leaves might choose "
        "other classes. Train it again."
    )


def class_weights(tree: Tree) -> np.ndarray:
    """Return by which weights of the classes a tree's leaves predict, (n_classes,).

    Trees from elsewhere do not name them: there the probability of a class in a leaf is
    proportional to its rows times its weight. The root, or the largest leaf with rows
    of every class, shows the weights; ones where they do not explain all leaves, or
    rows are not known. ValueError if the tree neither names nor shows them.
    """
    if reason := why_no_class_weights(tree):
        raise ValueError(reason)
    if tree.class_weights is not None:
        return tree.class_weights / tree.class_weights.max()
    if tree.classes is None or tree.class_counts is None:
        return np.ones(1 if tree.classes is None else len(tree.classes))
    leaves = np.flatnonzero(tree.is_leaf & (tree.n_rows > 0))
    counts, value = tree.class_counts[leaves], tree.value[leaves]
    largest = leaves[np.argsort(-tree.n_rows[leaves], kind="stable")]
    mixed = largest[(tree.class_counts[largest] > 0).all(axis=1)]
    for node in (0, *mixed[:1]):
        if not (tree.class_counts[node] > 0).all():
            continue
        weights = tree.value[node] / tree.class_counts[node]
        predicted = counts * weights
        predicted /= np.maximum(predicted.sum(axis=1, keepdims=True), 1e-300)
        if weights.all() and np.abs(predicted - value).max() <= _SAME:
            return weights / weights.max()
    return np.ones(len(tree.classes))


FEWEST_LEAVES = 4  # of a branch whose size nobody names


def regrow(
    edited: Edited, path: str, rows: EditRows, max_leaf_nodes: int | None = None
) -> Edited:
    """Grow what hangs at a node anew, best split first, as CART does.

    Splits that are locked, or have something locked below them, stay; the tree grows
    from what hangs below them. It grows on the rows, to ``max_leaf_nodes`` at and below
    the node; None: as many as there were, at least 4.
    """
    if max_leaf_nodes is None:
        max_leaf_nodes = max(FEWEST_LEAVES, len(_leaves(edited, path)))
    edited, tips = _bare(edited, path)
    n_leaves = len(_leaves(edited, path))
    waiting = [
        _offer(edited, tip, rows, rows.at(edited.tree, node_of(edited.tree, tip)))
        for tip in tips
        if tip not in edited.locked
    ]
    waiting = [one for one in waiting if one[2] is not None]
    heapify(waiting)
    while waiting and n_leaves < max_leaf_nodes:
        _, tip, split, at = heappop(waiting)
        assert split is not None
        if split.column in edited.closed_at(tip):  # by a split that came since
            offer = _offer(edited, tip, rows, at)
            if offer[2] is not None:
                heappush(waiting, offer)
            continue
        edited = edited.with_split(split.edit(tip))
        n_leaves += 1
        node = node_of(edited.tree, tip)
        matrix = rows.matrix(edited.tree)
        left = goes_left(edited.tree, matrix, np.full(len(at), node), at)
        for side, own in (("L", at[left]), ("R", at[~left])):
            offer = _offer(edited, tip + side, rows, own)
            if offer[2] is not None:
                heappush(waiting, offer)
    return replace(edited, changed=edited.changed | {path})


def _leaves(edited: Edited, path: str) -> list[str]:
    """Return the paths of the leaves at a node and below."""
    named = zip(paths(edited.tree), edited.tree.is_leaf)
    return [p for p, is_leaf in named if is_leaf and p.startswith(path)]


def _bare(edited: Edited, path: str) -> tuple[Edited, list[str]]:
    """Cut all that is free at a node and below; return the leaves that are left."""
    for own in edited.splits_below(path):
        held = any(lock == own or below(lock, own) for lock in edited.locked)
        there = {*paths(edited.tree)}
        if own in there and not held:
            edited = edited.cut(own)
    return edited, _leaves(edited, path)


def _offer(
    edited: Edited, path: str, rows: EditRows, at: np.ndarray
) -> tuple[float, str, Candidate | None, np.ndarray]:
    """Return a leaf's best split, by how much it removes; None where there is none.

    No two paths are equal, so a heap of offers never compares further.
    """
    best = edited.best(path, edited.candidates_of(path, rows, at))
    return (0.0 if best is None else -best.gain * rows.mass(at), path, best, at)
