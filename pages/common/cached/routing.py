"""Rows of a table sent through a run's tree once, counted by group at each node."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.trees import shown_tree
from pages.common.words import SPLIT_NAMES
from treelab.evaluation.routing.bands import BANDS, target_bands
from treelab.evaluation.routing.node_table import routing_table
from treelab.evaluation.routing.passes import rows_passing
from treelab.trees.text.numerals import significant
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class RoutedRows:
    """Rows at the nodes of a tree, by group.

    Attributes
    ----------
    tree : Tree
    rows_name : str
        Of one row: "test row".
    names : tuple of str
        Of the groups: the classes, or the bands of a number target.
    rows : int array of shape (n_groups, n_nodes)
        Rows of each group that pass each node; a group may have none.
    leaf : int array of shape (n_rows,)
        Where each row ends.
    key : tuple
        What caches know tree and rows by.
    """

    tree: Tree
    rows_name: str
    names: tuple[str, ...]
    rows: np.ndarray
    leaf: np.ndarray
    key: tuple

    def table(self, name: str) -> pd.DataFrame:
        """Return ``routing_table`` of one group."""
        return routing_table(self.tree, self.rows[self.names.index(name)])


def routed_split(
    loaded: LoadedRun, split: str, estimator: int | None = None
) -> RoutedRows:
    """Return the rows of a data split at the nodes of a run's tree."""
    return _routed_split(*loaded.key, split, estimator, loaded)


@st.cache_resource(show_spinner="Routing the rows…", max_entries=24)
def _routed_split(home: Path, run_id: str, epoch, split, estimator, _loaded):
    """``routed_split``, by values that name it."""
    X, y = _loaded.rows(split)
    tree = shown_tree(_loaded, estimator)
    groups, name = row_groups(_loaded, y), f"{SPLIT_NAMES[split]} row"
    key = (*_loaded.key, split, estimator)
    return route_groups(tree, X, groups, rows_name=name, key=key)


def route_groups(
    tree: Tree,
    X: pd.DataFrame,
    groups: Mapping[str, np.ndarray],
    *,
    rows_name: str,
    key: tuple,
) -> RoutedRows:
    """Send rows through a tree and count them by group, each a mask (n_rows,)."""
    leaf = tree.apply(X)
    code = np.full(len(X), -1)
    for place, mask in enumerate(groups.values()):
        code[mask] = place
    rows = rows_passing(tree.parent, leaf, code, len(groups))
    return RoutedRows(tree, rows_name, tuple(groups), rows, leaf, key)


def row_groups(loaded: LoadedRun, y: pd.Series) -> dict[str, np.ndarray]:
    """Name the groups of rows that can be shown, each with a mask (n_rows,).

    These are the classes, or of a number target its low, middle and high values.
    """
    target = y.to_numpy()
    if loaded.model.classes is not None:
        return {str(label): target == label for label in ranked_classes(loaded)}
    band, (low, high) = target_bands(loaded.split.y_train, target)
    unit = f" {loaded.model.target_unit}".rstrip()
    ranges = (
        f"up to {significant(low)}{unit}",
        f"{significant(low)} to {significant(high)}{unit}",
        f"above {significant(high)}{unit}",
    )
    return {f"{name} ({text})": band == name for name, text in zip(BANDS, ranges)}
