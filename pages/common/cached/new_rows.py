"""Rows of a table that a visitor brings, and what a run predicts for them, once."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.data.reading.read_table import ReadResult, read_table
from treelab.data.writing import FORMATS
from treelab.evaluation.predictions import (
    NewTable,
    new_scores,
    new_table,
    prediction_columns,
    with_predictions,
)
from treelab.trees.feature import forms_of_model


@dataclass(frozen=True)
class GivenTable:
    """A table to predict.

    Attributes
    ----------
    frame : DataFrame
        As the run's model reads it. Shared, so never changed.
    written : DataFrame
        The cells as they came.
    name : str
    key : str
        What caches know it by.
    notes : tuple of str
        How it was read.
    """

    frame: pd.DataFrame
    written: pd.DataFrame
    name: str
    key: str
    notes: tuple[str, ...] = ()


def read_given(
    loaded: LoadedRun, key: str, name: str, sheet: str | None, content: bytes
) -> ReadResult:
    """Read a table that a visitor brought as the run's model does; it is not stored."""
    return _read(*loaded.key, key, name, sheet, content, loaded)


@st.cache_resource(show_spinner="Reading the new rows…", max_entries=2)
def _read(home: Path, run_id: str, epoch, key, name, sheet, _content, _loaded):
    """``read_given``, by values that name it."""
    forms = forms_of_model(_loaded.model)
    return read_table(_content, name, as_in=forms, one_column=True, sheet=sheet)


def ready_table(loaded: LoadedRun, given: GivenTable, fill_absent: bool) -> NewTable:
    """Return a table as the run's model reads it; see ``new_table``."""
    return _ready(*loaded.key, given.key, fill_absent, loaded, given)


@st.cache_resource(show_spinner=False, max_entries=1)  # it may be a large table
def _ready(home: Path, run_id: str, epoch, key, fill_absent, _loaded, _given):
    """``ready_table``, by values that name it."""
    return new_table(_loaded.model, _given.frame, _given.name, fill_absent=fill_absent)


def predicted_columns(
    loaded: LoadedRun, given: GivenTable, fill_absent: bool, parts: tuple[str, ...]
) -> pd.DataFrame:
    """Return what a run predicts for a table; see ``prediction_columns``."""
    return _predicted(*loaded.key, given.key, fill_absent, parts, loaded, given)


@st.cache_resource(show_spinner="Predicting…", max_entries=2)
def _predicted(
    home: Path, run_id: str, epoch, key, fill_absent, parts, _loaded, _given
) -> pd.DataFrame:
    """``predicted_columns``, by values that name them."""
    X = ready_table(_loaded, _given, fill_absent).X
    return prediction_columns(_loaded.model, X, parts)


def scores_on(
    loaded: LoadedRun, given: GivenTable, fill_absent: bool
) -> tuple[dict[str, float], str]:
    """Score a run on a table that holds its target; see ``new_scores``."""
    return _scores(*loaded.key, given.key, fill_absent, loaded, given)


@st.cache_data(show_spinner=False, max_entries=8)
def _scores(home: Path, run_id: str, epoch, key, fill_absent, _loaded, _given):
    """``scores_on``, by values that name them."""
    X = ready_table(_loaded, _given, fill_absent).X
    return new_scores(_loaded.model, _given.frame, X)


def prediction_file(
    loaded: LoadedRun,
    given: GivenTable,
    fill_absent: bool,
    parts: tuple[str, ...],
    ending: str,
) -> bytes:
    """Return the predictions as a file of the kind that its ending names."""
    predicted = predicted_columns(loaded, given, fill_absent, parts)
    return FORMATS[ending].write(
        with_predictions(given.written, predicted, parts, given.name)
    )
