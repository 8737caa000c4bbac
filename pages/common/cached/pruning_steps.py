"""Every tree of a run's pruning path with its scores, measured once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import size_path_of
from pages.common.cached.trees import shown_tree
from treelab.evaluation.pruning_table import (
    cost_complexity_table,
    size_path_table,
    trained_path_table,
)
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class PruningSteps:
    """A pruning path made ready: each tree that is drawn, and a table of scores.

    Attributes
    ----------
    trees : sequence of Tree
        As they are drawn, large to small; some are made only when they are asked for.
    table : DataFrame
        A row a step; see ``treelab.evaluation.pruning_table``.
    chosen : int or None
        The step of the run's own tree, where training chose among them.
    kind : {"lambda", "leaves", "alpha"}
        Trees trained one a strength, the best tree found at each size, or one tree cut
        back by cost-complexity pruning.
    """

    trees: Sequence[Tree]
    table: pd.DataFrame
    chosen: int | None
    kind: Literal["lambda", "leaves", "alpha"]


def scored_path_of(loaded: LoadedRun) -> SizePath | None:
    """Return a run's trees by size, where their scores on held-out rows are known."""
    path = None if loaded.epoch is not None else size_path_of(loaded.run)
    if path is None or path.scores["score"].notna().sum() < 2:
        return None
    return path


def pruning_steps(loaded: LoadedRun, tree_alone: bool = False) -> PruningSteps:
    """Return every tree of a run's pruning path with its scores.

    With ``tree_alone`` a tree predicts by its leaves, not by the predictor on top.
    """
    return _pruning_steps(*loaded.key, tree_alone, loaded)


@st.cache_resource(show_spinner="Measuring every tree on the path…", max_entries=16)
def _pruning_steps(
    home: Path, run_id: str, epoch, tree_alone: bool, _loaded
) -> PruningSteps:
    """``pruning_steps``, by values that name them."""
    if isinstance(_loaded.model, PruningPath):
        return _trained_steps(_loaded, tree_alone)
    if (path := scored_path_of(_loaded)) is not None:
        table = size_path_table(path, _loaded.split)
        chosen = len(path) - 1 - path.chosen
        return PruningSteps(path.trees[::-1], table, chosen, "leaves")
    return _cost_complexity_steps(_loaded)


def _trained_steps(loaded: LoadedRun, tree_alone: bool) -> PruningSteps:
    """Steps of a path whose strengths were trained together."""
    path: PruningPath = loaded.model
    trees = tuple(shown_tree(loaded, strength=i) for i in range(len(path)))
    split = loaded.split if loaded.has_labels else None
    table = trained_path_table(path, trees, split, tree_alone=tree_alone)
    return PruningSteps(trees, table, path.chosen, "lambda")


def _cost_complexity_steps(loaded: LoadedRun) -> PruningSteps:
    """Steps of cost-complexity pruning, from the tree as trained to its root."""
    tree = shown_tree(loaded)
    if np.isnan(tree.impurity).any():
        tree = tree.with_rows(*loaded.rows("fitted"))
    path = cost_complexity_path(tree)
    table = cost_complexity_table(path, loaded.split)
    return PruningSteps(path.trees, table, None, "alpha")
