"""What Compare measures of runs, computed once."""

from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from treelab.data.columns import column_kind
from treelab.evaluation.comparison import (
    ClassCurves,
    class_curves,
    column_use,
    most_used,
    surface,
    typical_row,
)
from treelab.evaluation.greedy_gap import GreedyGap, greedy_gap

GRID = 101  # places along each axis of a surface
GREEDY_ROWS = 50_000  # on which greedy trees are grown; of more rows a sample


def greedy_gap_of(loaded: LoadedRun) -> GreedyGap | None:
    """Return the split of a run's tree that greedy would not make, where one pays."""
    return _greedy_gap(*loaded.key, loaded)


def number_columns(pair: tuple[LoadedRun, LoadedRun]) -> tuple[str, ...]:
    """Return the number columns of both runs, the most used by both first."""
    return _number_columns(*pair[0].key, *pair[1].key[1:], pair)


def held_row(loaded: LoadedRun, place: int | None) -> pd.DataFrame:
    """Return a test row, or where none is named the typical training row."""
    if place is None:
        return _typical_row(*loaded.key, loaded)
    return loaded.split.X_test.iloc[[place]]


def surface_of(
    loaded: LoadedRun,
    columns: tuple[str, str],
    box: tuple[float, float, float, float],
    place: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (GRID,), y (GRID,) and a run's predictions (GRID, GRID) on a plane."""
    return _surface(*loaded.key, columns, box, place, loaded)


def probabilities(loaded: LoadedRun) -> np.ndarray:
    """Return class probabilities of the test rows, in [0, 1]; never changed."""
    return _probabilities(*loaded.key, loaded)


def curves_of(loaded: LoadedRun, label) -> ClassCurves:
    """Return a run's curves of one class against the rest, on the test rows."""
    return _curves(*loaded.key, str(label), label, loaded)


@st.cache_resource(show_spinner=False, max_entries=48)
def _probabilities(home: Path, run_id: str, epoch, _loaded) -> np.ndarray:
    """``probabilities``, by values that name them."""
    return np.clip(_loaded.model.predict_proba(_loaded.split.X_test), 0, 1)


@st.cache_resource(show_spinner=False, max_entries=48)
def _curves(home: Path, run_id: str, epoch, name: str, _label, _loaded) -> ClassCurves:
    """``curves_of``, by values that name them."""
    column = list(_loaded.model.classes).index(_label)
    is_class = (_loaded.split.y_test == _label).to_numpy()
    return class_curves(is_class, probabilities(_loaded)[:, column])


@st.cache_data(show_spinner=False, max_entries=32)
def _number_columns(home: Path, one, epoch, other, other_epoch, _pair):
    """``number_columns``, by values that name them."""
    first, second = (loaded.split.X_train for loaded in _pair)
    shared = [
        name
        for name in first
        if name in second and column_kind(first[name]) == "number"
    ]
    uses = [
        column_use(own.model if own.is_ensemble else shown_tree(own)) for own in _pair
    ]
    return most_used(uses, shared)


@st.cache_resource(show_spinner=False, max_entries=16)
def _typical_row(home: Path, run_id: str, epoch, _loaded) -> pd.DataFrame:
    """``held_row`` of no row, by values that name it."""
    return typical_row(_loaded.split.X_train)


@st.cache_resource(show_spinner="Predicting the plane…", max_entries=64)
def _surface(home: Path, run_id: str, epoch, columns, box, place, _loaded):
    """``surface_of``, by values that name it."""
    x, y = np.linspace(*box[:2], GRID), np.linspace(*box[2:], GRID)
    row = held_row(_loaded, place)
    return x, y, surface(_loaded.model, row, columns, x, y)


@st.cache_resource(show_spinner="Growing greedy trees at every split…", max_entries=32)
def _greedy_gap(home: Path, run_id: str, epoch, _loaded) -> GreedyGap | None:
    """``greedy_gap_of``, by values that name it."""
    train, test = _loaded.rows("fitted"), _loaded.split.rows("test")
    return greedy_gap(shown_tree(_loaded), _some_rows(*train), _some_rows(*test))


def _some_rows(X, y):
    """Return rows and their target, a sample of them where they are many."""
    if len(X) <= GREEDY_ROWS:
        return X, y
    drawn = np.sort(np.random.default_rng(0).permutation(len(X))[:GREEDY_ROWS])
    return X.iloc[drawn], np.asarray(y)[drawn]
