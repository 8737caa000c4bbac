"""The trees of a pruning path in one table: strength, scores and sizes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.data.split import DataSplit
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.pruned_scores import pruned_depths, pruned_scores
from treelab.evaluation.split_scores import headline_scores
from treelab.trees.pruning.cost_complexity import CostComplexityPath
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.tree import Tree

SCORED = ("valid", "test")  # data splits that did not fit the trees


def trained_path_table(
    path: PruningPath,
    trees: Sequence[Tree],
    split: DataSplit | None,
    *,
    tree_alone: bool = False,
) -> pd.DataFrame:
    """Measure each tree of a path whose pruning strengths were trained together.

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
