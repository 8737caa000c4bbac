"""The tree of a model that people see: counted, drawn, routed and exported alike."""

import numpy as np

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.tree import Tree

Model = Tree | WeightedTrees | PruningPath


def shown_tree(
    model: Model, *, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the one tree by which a model is shown, everywhere.

    Branches that none of the rows it was fitted to takes are left out: nothing was
    learned there. A row that would take one goes where the tree goes on.

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
        tree = model.trees[model.chosen if strength is None else strength]
    else:
        tree = model
    has_empty = tree.n_rows[0] > 0 and (tree.n_rows == 0).any()
    return prune_empty(tree) if has_empty else tree


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
