"""The trees of a pruning path in one table: strength, scores and sizes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from treelab.data.split import DataSplit
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.pruned_scores import pruned_depths, pruned_scores
from treelab.evaluation.split_scores import headline_scores
from treelab.trees.pruning.cost_complexity import (
    CostComplexityPath,
    cost_complexity_path,
)
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import shown_tree
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.tree import Tree

SCORED = ("valid", "test")  # data splits that did not fit the trees


@dataclass(frozen=True)
class PruningSteps:
    """A pruning path made ready: each tree that is drawn, and a table of scores.

    Attributes
    ----------
    trees : sequence of Tree
        As they are drawn, large to small; some are made only when they are asked for.
    table : DataFrame
        A row a step, as the functions below make it.
    chosen : int or None
        The step of the model's own tree, where training chose among them.
    kind : {"lambda", "leaves", "alpha"}
        Trees trained one a strength, the best tree found at each size, or one tree cut
        back by cost-complexity pruning.
    """

    trees: Sequence[Tree]
    table: pd.DataFrame
    chosen: int | None
    kind: Literal["lambda", "leaves", "alpha"]

    @property
    def own(self) -> int:
        """The step of the model's own tree; the largest where nothing chose."""
        return 0 if self.chosen is None else self.chosen


def pruning_steps(
    model: Tree | PruningPath,
    path: SizePath | None,
    split: DataSplit,
    fitted: str,
    *,
    has_labels: bool = True,
    tree_alone: bool = False,
) -> PruningSteps:
    """Measure every tree of a model's pruning path.

    Parameters
    ----------
    model : Tree or PruningPath
    path : SizePath or None
        Its trees by size.
    split : DataSplit
    fitted : str
        Name of the rows that the model was fitted to.
    has_labels : bool, default=True
        Whether the target is known, and is not what the model itself found.
    tree_alone : bool, default=False
        Whether a tree of a PruningPath predicts by its leaves.
    """
    if isinstance(model, PruningPath):
        drawn = model
        if tree_alone:
            drawn = replace(model, predictors=(None,) * len(model))
        trees = tuple(shown_tree(drawn, strength=i) for i in range(len(model)))
        table = trained_path_table(
            model, trees, split if has_labels else None, tree_alone=tree_alone
        )
        return PruningSteps(trees, table, model.chosen, "lambda")
    if path is not None and is_scored(path):
        chosen = len(path) - 1 - path.chosen
        return PruningSteps(
            path.trees[::-1], size_path_table(path, split), chosen, "leaves"
        )
    tree = shown_tree(model)
    if np.isnan(tree.impurity).any():
        tree = tree.with_rows(*split.rows(fitted))
    pruned = cost_complexity_path(tree)
    return PruningSteps(
        pruned.trees, cost_complexity_table(pruned, split), None, "alpha"
    )


def step_predictions(
    model: Tree | PruningPath,
    steps: PruningSteps,
    step: int,
    X: pd.DataFrame,
    *,
    tree_alone: bool = False,
) -> np.ndarray:
    """Predict by the tree of one step, as it was scored.

    Parameters
    ----------
    model : Tree or PruningPath
    steps : PruningSteps
        As ``pruning_steps`` made them of the model.
    step : int
    X : DataFrame of shape (n_rows, n_columns)
    tree_alone : bool, default=False
        As ``pruning_steps`` takes it.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if isinstance(model, PruningPath) and not tree_alone:
        return model.predict(X, step)
    return steps.trees[step].predict(X)


def is_scored(path: SizePath) -> bool:
    """Whether the scores of trees by size on held-out rows are known."""
    return bool(path.scores["score"].notna().sum() >= 2)


def trained_path_table(
    path: PruningPath,
    trees: Sequence[Tree],
    split: DataSplit | None,
    *,
    tree_alone: bool = False,
) -> pd.DataFrame:
    """Measure each tree of a path over pruning strengths.

    Parameters
    ----------
    path : PruningPath
    trees : sequence of Tree
        The trees as they are drawn, one a strength: their leaves and splits count.
    split : DataSplit or None
        The rows; None where no labels are known, as a score would hold what the path
        found against itself.
    tree_alone : bool, default=False
        Whether a tree predicts by its leaves, not by the predictor on top of it.

    Returns
    -------
    DataFrame
        A row a strength: ``strength``; ``valid_score`` and ``test_score`` (the task's
        headline score), or ``valid_loss``; ``leaves``, ``active_splits`` and
        ``empty_nodes``; ``purity`` where clusters were held against labels.
    """
    table = pd.DataFrame({"strength": path.strengths})
    if split is None:
        table["valid_loss"] = path.scores["valid_loss"].to_numpy()
    else:
        name = headline(path.task)
        for part in SCORED:
            X, y = split.rows(part)
            table[f"{part}_score"] = [
                scores(path.task, y, predicted)[name]
                for predicted in (
                    tree.predict(X) if tree_alone else path.predict(X, i)
                    for i, tree in enumerate(trees)
                )
            ]
    table["leaves"] = [tree.n_leaves for tree in trees]
    table["active_splits"] = [tree.n_splits for tree in trees]
    table["empty_nodes"] = path.scores.get("empty_nodes", np.nan)
    if "purity" in path.scores:  # of clusters, by labels that no split saw
        table["purity"] = path.scores["purity"].to_numpy()
    return table


def size_path_table(path: SizePath, split: DataSplit) -> pd.DataFrame:
    """Measure each tree of a path by size, the largest first.

    Returns
    -------
    DataFrame
        A row a tree: ``strength``, its number of leaves; ``held_out_score`` with its
        ``standard_error``, as the path has them; ``test_score``, ``leaves`` and
        ``depth``.
    """
    trees = path.trees[::-1]
    scores_held_out = path.scores[::-1].reset_index(drop=True)
    leaves = [tree.n_leaves for tree in trees]
    return pd.DataFrame(
        {
            "strength": leaves,
            "held_out_score": scores_held_out["score"],
            "standard_error": scores_held_out["standard_error"],
            "test_score": headline_scores(trees, trees[0].task, *split.rows("test")),
            "leaves": leaves,
            "depth": [tree.depth for tree in trees],
        }
    )


def cost_complexity_table(path: CostComplexityPath, split: DataSplit) -> pd.DataFrame:
    """Measure each subtree of a cost-complexity path, from the whole tree to its root.

    Returns
    -------
    DataFrame
        A row a step: ``strength`` (alpha), ``valid_score``, ``test_score``,
        ``leaves`` and ``depth``.
    """
    table = pd.DataFrame({"strength": path.alphas})
    for part in SCORED:
        table[f"{part}_score"] = pruned_scores(path, *split.rows(part))
    table["leaves"] = path.n_leaves
    table["depth"] = pruned_depths(path)
    return table
