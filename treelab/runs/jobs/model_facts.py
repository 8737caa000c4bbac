"""What a run adds to a model and reads from it: the target's name, its size."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.problem import Problem
from treelab.data.split import JOINED, DataSplit
from treelab.trees.cells import noted_form
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning_path import Model, PruningPath, shown_tree
from treelab.trees.tree import Tree


def with_names(model: Model, problem: Problem, X: pd.DataFrame | None = None) -> Model:
    """Return a model with what ``target_facts`` says, which no learner is given."""
    facts = target_facts(problem, X)
    if isinstance(model, PruningPath):
        trees = (replace(tree, **facts) for tree in model.trees)
        return replace(model, trees=tuple(trees))
    return replace(model, **facts)


def target_facts(problem: Problem, X: pd.DataFrame | None = None) -> dict[str, Any]:
    """Return the name, the unit and the cells' form of what a problem predicts.

    ``X`` is the table that was trained on, with its note on how it was read.
    """
    unit = dict(problem.units).get(problem.target, "")
    form = None if X is None else noted_form(X, problem.target)
    return {"target": problem.target, "target_unit": unit, "target_form": form}


def without_origin(tree: Tree, provenance: str) -> Tree:
    """Return a tree without the note of its origin, for where that is said already."""
    notes = tuple(note for note in tree.notes if note != provenance)
    return tree if notes == tree.notes else replace(tree, notes=notes)


def fitted_split(model: Model, split: DataSplit) -> str:
    """Name the rows that a model was fitted to, by its count of them.

    Returns
    -------
    str
        ``JOINED`` where the validation rows trained as well, else "train".
    """
    if isinstance(model, WeightedTrees):
        n_rows = 0 if model.n_rows is None else int(model.n_rows[0, 0])
    else:
        tree = model.tree if isinstance(model, PruningPath) else model
        n_rows = int(tree.n_rows[0])
    return JOINED if n_rows == split.n_rows(JOINED) else "train"


def model_size(model: Model) -> dict[str, int]:
    """Count the leaves, splits and levels of the trees by which a model is shown.

    Returns
    -------
    dict
        ``leaves``, ``splits`` and ``depth``; ``estimators`` for an ensemble, whose
        leaves and splits are those of all its trees; ``strengths`` for a path, whose
        tree is the chosen one, and ``predictors`` where one on top of it predicts.
    """
    if isinstance(model, WeightedTrees):
        return _ensemble_size(model)
    tree = shown_tree(model)
    size = {"leaves": tree.n_leaves, "splits": tree.n_splits, "depth": tree.depth}
    if isinstance(model, PruningPath):
        size["strengths"] = len(model)
        if model.has_predictor:
            size["predictors"] = 1  # on top of the tree
    return size


def _ensemble_size(model: WeightedTrees) -> dict[str, int]:
    """Count what training rows reach in all trees, without building any of them."""
    n_splits = model.n_leaves - 1
    n_rows = np.ones((model.n_estimators, n_splits + model.n_leaves))
    if model.n_rows is not None:
        n_rows = model.n_rows
    divides = (n_rows[:, 1::2] > 0) & (n_rows[:, 2::2] > 0)  # (E, N)
    level = np.zeros(n_rows.shape, dtype=np.int64)
    for node in range(n_splits):
        below = level[:, node] + divides[:, node]
        level[:, 2 * node + 1] = level[:, 2 * node + 2] = below
    return {
        "estimators": model.n_estimators,
        "leaves": int((n_rows[:, n_splits:] > 0).sum()),
        "splits": int(divides.sum()),
        "depth": int(level.max()),
    }
