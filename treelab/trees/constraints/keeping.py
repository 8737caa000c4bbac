"""The last step of a constrained fit: the leaves are put in order, for good.

Learners grow and train within the constraints; what encoded and user's columns, rows
of a fold and all rows disagree on is settled here.
"""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.isotonic import with_order
from treelab.trees.constraints.violations import wrong_splits
from treelab.trees.pruning.cut import cut_at
from treelab.trees.pruning.simplify import merge_equal, prune_empty
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.pruning.sizes import path_of_sizes
from treelab.trees.tree import Tree

Model = TypeVar("Model", bound=Any)


def kept(tree: Tree, constraints: Constraints) -> Tree:
    """Return a tree that keeps its constraints on every possible row.

    A split that is wrong where it stands, or parts too few rows, becomes a leaf. Leaves
    out of order take the nearest values that are in order (isotonic regression), and
    those that become equal are merged.

    Parameters
    ----------
    tree : Tree
        With the training rows at its nodes and a prediction at each.
    constraints : Constraints
    """
    if not constraints.limits_splits:
        return tree
    while True:
        small = tree.is_leaf & (tree.n_rows < constraints.min_samples_leaf)
        wrong = wrong_splits(tree, constraints)
        wrong[tree.parent[small & (tree.level > 0)]] = True
        if not wrong.any():
            break
        tree = prune_empty(cut_at(tree, wrong))
    return merge_equal(with_order(tree, constraints), tolerance=0)


def kept_path(path: SizePath, constraints: Constraints) -> SizePath:
    """Return a path whose trees keep their constraints."""
    if not constraints.limits_splits:
        return path
    scores = path.scores
    return path_of_sizes(
        [kept(tree, constraints) for tree in path.trees],
        scores["n_leaves"].to_numpy(),
        scores["score"].to_numpy(),
        scores["standard_error"].to_numpy(),
        path.chosen,
    )


def with_note(model: Model, constraints: Constraints) -> Model:
    """Return a Tree or WeightedTrees whose notes say what it keeps."""
    if not constraints:
        return model
    return replace(
        model, notes=(*model.notes, f"Trained under constraints: {constraints}.")
    )


def votes(
    constraints: Constraints, classes: tuple | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a training row of each class adds to a leaf, by class costs.

    A row votes for each class by what it saves that this one is predicted rather than
    the worst for the row. So the class with most votes is the one with the lowest
    expected cost; of two classes this is weighting the rows by the cost of their error.

    Returns
    -------
    values : ndarray of shape (C, C)
        Fractions of a row's vote, a row of it a class; the identity without costs.
    weights : ndarray of shape (C,)
        Weight of a row of each class.
    """
    if classes is None:
        return np.ones((1, 1)), np.ones(1)
    saved = cost_matrix(constraints, classes)
    saved = saved.max(axis=1, keepdims=True) - saved
    weights = saved.sum(axis=1)
    even = np.eye(len(classes))
    values = np.divide(saved, weights[:, None], out=even, where=weights[:, None] > 0)
    return values, weights


def cost_matrix(constraints: Constraints, classes: tuple) -> np.ndarray:
    """Return what each prediction (column) costs a row of each class (row), (C, C)."""
    costs = 1 - np.eye(len(classes))
    labels = [str(label) for label in classes]
    for truth, row in constraints.class_costs.items():
        for predicted, cost in row.items():
            costs[labels.index(truth), labels.index(predicted)] = cost
    return costs
