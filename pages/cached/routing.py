"""Rows of a table sent through a run's tree once, counted by group at each node."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import GIVEN_BY_KEY, GivenTable
from pages.cached.runs import BY_KEY, LoadedRun, ranked_classes, run_tree, shared
from treelab.data.split import JOINED, SPLIT_NAMES
from treelab.evaluation.routing import (
    BANDS,
    RoutingShift,
    routing_shift,
    routing_table,
    rows_for_model,
    rows_passing,
    shift_by_month,
    target_bands,
)
from treelab.trees.dates import months
from treelab.trees.tree import Tree
from treelab.trees.words import significant

ALL_ROWS = "all rows"  # of a file that has no target
OTHER_ROWS = "no known class"


@dataclass(frozen=True)
class RoutedRows:
    """Rows at the nodes of a tree, by group."""

    tree: Tree
    rows_name: str  # of one row: "test row"
    names: tuple[str, ...]  # of the groups: classes, or bands of a number target
    rows: np.ndarray  # of each group that pass each node, int (n_groups, n_nodes)
    leaf: np.ndarray  # where each row ends, int (n_rows,)
    group: np.ndarray  # place of its group, int (n_rows,); -1 where it is in none
    key: tuple  # what caches know tree and rows by
    is_fitted: bool = False  # whether the tree was fitted to these rows
    is_stored: bool = True  # whether they are of the run's own table, not of a file
    months: Mapping[str, np.ndarray] = field(default_factory=dict)  # by date column

    @property
    def passing(self) -> np.ndarray:
        """Rows that pass each node, of all groups and of none, int (n_nodes,)."""
        every = np.zeros(len(self.leaf), dtype=int)
        return rows_passing(self.tree.parent, self.leaf, every, 1)[0]

    def of(self, name: str) -> np.ndarray:
        """Return the rows of one group that pass each node, int (n_nodes,)."""
        return self.rows[self.names.index(name)]

    def table(self, name: str) -> pd.DataFrame:
        """Return ``routing_table`` of one group."""
        return routing_table(self.tree, self.of(name))


ROUTED_BY_KEY = {**BY_KEY, RoutedRows: attrgetter("key")}


@shared(24, "Routing the rows…")
def routed_split(
    loaded: LoadedRun, split: str, estimator: int | None = None
) -> RoutedRows:
    """Return the rows of a data split at the nodes of a run's tree."""
    X, y, _ = loaded.rows(split)
    is_fitted = (
        not loaded.has_labels  # then all rows were clustered
        or split == loaded.fitted_split
        or (loaded.fitted_split == JOINED and split != "test")
    )
    key = (*loaded.key, split, estimator)
    tree, groups = run_tree(loaded, estimator), row_groups(loaded, y)
    routed = _routed(tree, X, groups, f"{SPLIT_NAMES[split]} row", key)
    return replace(routed, is_fitted=is_fitted)


@st.cache_resource(
    show_spinner="Routing the rows…", max_entries=4, hash_funcs=GIVEN_BY_KEY
)
def routed_file(
    loaded: LoadedRun, estimator: int | None, given: GivenTable
) -> RoutedRows:
    """Return the rows of a table that was brought at the nodes of a run's tree.

    Raises
    ------
    ValueError
        If it lacks a column that the tree reads, or holds text for numbers.
    """
    tree = run_tree(loaded, estimator)
    X = rows_for_model(tree, given.frame, given.name)
    groups = _groups_of_file(loaded, given.frame)
    key = (*loaded.key, given.key, estimator)
    routed = _routed(tree, X, groups, "uploaded row", key)
    by_month = {column: months(given.frame[column]) for column in given.dates}
    return replace(routed, months=by_month, is_stored=False)


def _routed(
    tree: Tree, X: pd.DataFrame, groups: Mapping[str, np.ndarray], name: str, key: tuple
) -> RoutedRows:
    """Send rows through a tree and count them by group, each a mask (n_rows,)."""
    leaf, code = tree.apply(X), np.full(len(X), -1)
    for place, mask in enumerate(groups.values()):
        code[mask] = place
    rows = rows_passing(tree.parent, leaf, code, len(groups))
    return RoutedRows(tree, name, tuple(groups), rows, leaf, code, key)


def _groups_of_file(loaded: LoadedRun, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Name the groups of an uploaded table's rows: its classes, where it has them."""
    try:
        y = loaded.run.problem.labels(frame)
    except ValueError:  # no target, or text where the target is a number
        return {ALL_ROWS: np.ones(len(frame), dtype=bool)}
    known = frame.index.isin(y.index)
    if loaded.model.classes is None:
        found = row_groups(loaded, y)
    else:  # as text, since the file alone may show other types
        text = y.map(str).to_numpy()
        found = {str(label): text == str(label) for label in ranked_classes(loaded)}
    groups = {}
    for name, mask in found.items():
        groups[name] = known.copy()
        groups[name][known] = mask
    rest = ~np.any(list(groups.values()), axis=0)
    return groups | ({OTHER_ROWS: rest} if rest.any() else {})


@st.cache_resource(show_spinner=False, max_entries=24, hash_funcs=ROUTED_BY_KEY)
def routing_shift_of(
    loaded: LoadedRun, estimator: int | None, routed: RoutedRows
) -> RoutingShift | None:
    """Hold rows against those the tree was fitted to; None of these themselves."""
    if routed.is_fitted or not len(routed.leaf):
        return None
    fitted = routed_split(loaded, loaded.fitted_split, estimator)
    return routing_shift(routed.tree, fitted.passing, routed.passing)


@st.cache_resource(show_spinner=False, max_entries=8, hash_funcs=ROUTED_BY_KEY)
def months_of(
    loaded: LoadedRun, estimator: int | None, routed: RoutedRows, column: str
) -> pd.DataFrame:
    """Hold the rows of each month against those the tree was fitted to."""
    fitted = routed_split(loaded, loaded.fitted_split, estimator)
    by_month = routed.months[column]
    return shift_by_month(routed.tree, fitted.passing, routed.leaf, by_month)


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
