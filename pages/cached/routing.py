"""Rows of a table sent through a run's tree once, counted by group at each node."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.runs import LoadedRun, ranked_classes, run_tree
from treelab.data.reading.read_table import ReadResult
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
    group : int array of shape (n_rows,)
        Place of its group; -1 for a row that is in none.
    key : tuple
        What caches know tree and rows by.
    is_fitted : bool
        Whether the tree was fitted to these rows.
    months : mapping of column to str array of shape (n_rows,)
        The month of each row, by each column of dates.
    is_stored : bool
        Whether the rows are of the run's own table, and not of a file.
    """

    tree: Tree
    rows_name: str
    names: tuple[str, ...]
    rows: np.ndarray
    leaf: np.ndarray
    group: np.ndarray
    key: tuple
    is_fitted: bool = False
    months: Mapping[str, np.ndarray] = field(default_factory=dict)
    is_stored: bool = True

    @property
    def passing(self) -> np.ndarray:
        """Rows that pass each node, of all groups and of none, int (n_nodes,)."""
        every = np.zeros(len(self.leaf), dtype=int)
        return rows_passing(self.tree.parent, self.leaf, every, 1)[0]

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
    X, y, _ = _loaded.rows(split)
    tree = run_tree(_loaded, estimator)
    return route_groups(
        tree,
        X,
        row_groups(_loaded, y),
        rows_name=f"{SPLIT_NAMES[split]} row",
        key=(*_loaded.key, split, estimator),
        is_fitted=not _loaded.has_labels  # then all rows were clustered
        or split == _loaded.fitted_split
        or (_loaded.fitted_split == JOINED and split != "test"),
    )


def route_groups(
    tree: Tree,
    X: pd.DataFrame,
    groups: Mapping[str, np.ndarray],
    *,
    rows_name: str,
    key: tuple,
    is_fitted: bool = False,
) -> RoutedRows:
    """Send rows through a tree and count them by group, each a mask (n_rows,)."""
    leaf = tree.apply(X)
    code = np.full(len(X), -1)
    for place, mask in enumerate(groups.values()):
        code[mask] = place
    rows = rows_passing(tree.parent, leaf, code, len(groups))
    return RoutedRows(tree, rows_name, tuple(groups), rows, leaf, code, key, is_fitted)


def routed_file(
    loaded: LoadedRun, estimator: int | None, read: ReadResult, file: str, name: str
) -> RoutedRows:
    """Return the rows of a file, which is known by an id, at the nodes of a run's tree.

    Raises
    ------
    ValueError
        If the file lacks a column that the tree reads, or holds text for numbers.
    """
    return _routed_file(*loaded.key, estimator, file, name, loaded, read)


@st.cache_resource(show_spinner="Routing the rows…", max_entries=4)
def _routed_file(home: Path, run_id: str, epoch, estimator, file, name, _loaded, _read):
    """``routed_file``, by values that name it."""
    tree = run_tree(_loaded, estimator)
    frame = _read.frame
    routed = route_groups(
        tree,
        rows_for_model(tree, frame, name),
        _groups_of_file(_loaded, frame),
        rows_name="uploaded row",
        key=(*_loaded.key, file, estimator),
    )
    dates = {column: months(frame[column]) for column in _read.dates}
    return replace(routed, months=dates, is_stored=False)


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


def routing_shift_of(
    loaded: LoadedRun, estimator: int | None, routed: RoutedRows
) -> RoutingShift | None:
    """Hold rows against those the tree was fitted to; None of these themselves."""
    if routed.is_fitted or not len(routed.leaf):
        return None
    return _shift(routed.key, routed, loaded, estimator)


@st.cache_resource(show_spinner=False, max_entries=24)
def _shift(key: tuple, _routed, _loaded, _estimator) -> RoutingShift:
    """``routing_shift_of``, by what names the rows."""
    fitted = routed_split(_loaded, _loaded.fitted_split, _estimator)
    return routing_shift(_routed.tree, fitted.passing, _routed.passing)


@st.cache_resource(show_spinner=False, max_entries=8)
def _months(key: tuple, column: str, _routed, _loaded, _estimator) -> pd.DataFrame:
    """``shift_by_month``, by what names the rows, and a column of dates."""
    fitted = routed_split(_loaded, _loaded.fitted_split, _estimator)
    return shift_by_month(
        _routed.tree, fitted.passing, _routed.leaf, _routed.months[column]
    )


def months_of(
    loaded: LoadedRun, estimator: int | None, routed: RoutedRows, column: str
) -> pd.DataFrame:
    """Hold the rows of each month against those the tree was fitted to."""
    return _months(routed.key, column, routed, loaded, estimator)


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
