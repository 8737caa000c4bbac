"""What a run knows about a model beyond its learner: the target's name, the size."""

from dataclasses import replace

from treelab.data.problem import Problem
from treelab.data.split import SPLITS, Split
from treelab.evaluation import metrics
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.labels import labels
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

ON_TOP = (
    "A predictor on top of this tree gives the answer, from how far a row passes each "
    "node; a leaf shows only the training rows that end in it."
)
Model = Tree | WeightedTrees | PruningPath


def with_names(model: Model, problem: Problem) -> Model:
    """Write the target's name and unit into a model; a learner only saw its values."""
    names = {
        "target": problem.target,
        "target_unit": dict(problem.units).get(problem.target, ""),
    }
    if isinstance(model, PruningPath):
        return replace(
            model, trees=tuple(replace(tree, **names) for tree in model.trees)
        )
    return replace(model, **names)


def model_scores(model: Model, task: str, split: Split) -> dict[str, dict[str, float]]:
    """Score a model on each split that has rows."""
    found = {}
    for name in SPLITS:
        X, y = split.rows(name)
        if len(y) == 0:
            continue
        given = {}
        if task != "regression":
            given = {"proba": model.predict_proba(X), "classes": labels(model.classes)}
        found[name] = metrics.scores(task, y, model.predict(X), **given)
    return found


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
