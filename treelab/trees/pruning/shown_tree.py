"""The tree of a model that people see: counted, drawn, routed and exported alike."""

from dataclasses import replace

import numpy as np

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.cut import rebuild
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

Model = Tree | WeightedTrees | PruningPath
ON_TOP = (
    "A predictor on top of this tree makes the prediction, from how far a row passes "
    "each node; a leaf shows only the training rows that end in it."
)


def shown_tree(
    model: Model, *, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the one tree by which a model is shown, everywhere.

    Branches that none of the rows it was fitted to takes are left out: nothing was
    learned there. A row that would take one goes where the tree goes on. A sum of a
    single column is a split of that column: not −0.95·Mg ≤ −2.51, but Mg ≤ 2.63, with
    the branches exchanged. A note says where a predictor on top of it predicts.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    estimator : int or None, default=None
        Which tree of an ensemble.
    strength : int or None, default=None
        Which tree of a pruning path; None: the chosen one.

    Raises
    ------
    ValueError
        If an ensemble has no such tree, or none is named.
    """
    if isinstance(model, WeightedTrees):
        if estimator is None:
            raise ValueError("The model is an ensemble; name one of its trees.")
        return model.estimator(estimator)
    if isinstance(model, PruningPath):
        at = model.chosen if strength is None else strength
        tree = model.trees[at]
        if model.predictors[at] is not None:
            tree = replace(tree, notes=(*tree.notes, ON_TOP))
    else:
        tree = model
    has_empty = tree.n_rows[0] > 0 and (tree.n_rows == 0).any()
    return _without_single_sums(prune_empty(tree) if has_empty else tree)


def _without_single_sums(tree: Tree) -> Tree:
    """Return the tree with splits of one column in place of sums of a single one."""
    if tree.weights is None:
        return tree
    is_single = (tree.feature == OBLIQUE) & ((tree.weights != 0).sum(axis=1) == 1)
    nodes = np.flatnonzero(is_single)
    if not len(nodes):
        return tree
    column = np.argmax(tree.weights[nodes] != 0, axis=1)
    weight, bound = tree.weights[nodes, column], tree.threshold[nodes]
    fill = np.array([tree.features[j].fill for j in column])
    missing = weight * fill <= bound
    swapped = weight < 0
    bound = bound / weight
    # What was at least the bound went left; below it is now left, and it is not.
    bound[swapped] = np.nextafter(bound[swapped], -np.inf)
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    feature[nodes], threshold[nodes] = column, bound
    missing_left, weights = tree.missing_left.copy(), tree.weights.copy()
    missing_left[nodes], weights[nodes] = missing ^ swapped, 0
    left, right = tree.left.copy(), tree.right.copy()
    left[nodes[swapped]] = tree.right[nodes[swapped]]
    right[nodes[swapped]] = tree.left[nodes[swapped]]
    changed = replace(
        tree,
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        weights=weights if weights.any() else None,
    )
    return rebuild(changed)


def takes_empty_branch(model: Model, X, estimator: int | None = None) -> np.ndarray:
    """Return which rows take a branch that ``shown_tree`` leaves out, bool (n_rows,).

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns)
    estimator : int or None, default=None
        Which tree of an ensemble.
    """
    if isinstance(model, WeightedTrees):
        if model.n_rows is None:
            return np.zeros(len(X), dtype=bool)
        at_leaf = model.n_rows[estimator, -model.n_leaves :]
        return at_leaf[model.leaves(X)[:, estimator]] == 0
    tree = model.tree if isinstance(model, PruningPath) else model
    return (tree.n_rows[tree.apply(X)] == 0) & (tree.n_rows[0] > 0)
