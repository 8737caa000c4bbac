"""What a run adds to a model and reads from it: the target's name, its size."""

from dataclasses import replace

from treelab.data.problem import Problem
from treelab.learners.common.origin import Origin
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

ON_TOP = (
    "A predictor on top of this tree makes the prediction, from how far a row passes "
    "each node; a leaf shows only the training rows that end in it."
)
Model = Tree | WeightedTrees | PruningPath


def with_names(model: Model, problem: Problem) -> Model:
    """Return a model with the target's name and unit, which no learner is given."""
    name, unit = target_names(problem)
    if isinstance(model, PruningPath):
        trees = (replace(tree, target=name, target_unit=unit) for tree in model.trees)
        return replace(model, trees=tuple(trees))
    return replace(model, target=name, target_unit=unit)


def target_names(problem: Problem) -> tuple[str, str]:
    """Return the name and the unit of what a problem predicts."""
    return problem.target, dict(problem.units).get(problem.target, "")


def without_origin(tree: Tree, origin: Origin | None) -> Tree:
    """Return a tree without the note of its origin, for where that is said already."""
    notes = tuple(note for note in tree.notes if note != str(origin))
    return tree if notes == tree.notes else replace(tree, notes=notes)


def model_size(model: Model) -> dict[str, int]:
    """Count a model's leaves, splits and levels; of a pruning path its chosen tree's.

    Returns
    -------
    dict
        ``leaves``, ``splits`` and ``depth``; ``estimators`` for an ensemble, whose
        leaves and splits are those of all its trees; ``strengths`` for a path.
    """
    if isinstance(model, WeightedTrees):
        return {
            "estimators": model.n_estimators,
            "leaves": model.n_estimators * model.n_leaves,
            "splits": model.n_estimators * (model.n_leaves - 1),
            "depth": model.depth,
        }
    if isinstance(model, PruningPath):
        return model_size(model.trees[model.chosen]) | {"strengths": len(model.trees)}
    return {"leaves": model.n_leaves, "splits": model.n_splits, "depth": model.depth}
