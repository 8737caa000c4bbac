"""What explains a run on its test rows, computed once."""

from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.predictions import predictions
from treelab.evaluation.comparison import misclassified
from treelab.evaluation.counterfactuals import KnownValues
from treelab.evaluation.explanations import (
    least_sure,
    typical_rows,
    worst_errors,
)
from treelab.evaluation.importance import (
    Dependence,
    dependence,
    grid,
    permutation_importances,
    sample_rows,
)

MISCLASSIFIED, UNSURE, ERRORS, TYPICAL = "wrong", "unsure", "errors", "typical"


def probabilities(loaded: LoadedRun) -> np.ndarray | None:
    """Return the class probabilities of the test rows; None for regression."""
    if loaded.model.classes is None:
        return None
    return _probabilities(*loaded.key, loaded)


@st.cache_resource(show_spinner=False, max_entries=16)
def _probabilities(home: Path, run_id: str, epoch, _loaded) -> np.ndarray:
    """``probabilities``, by values that name them."""
    return _loaded.model.predict_proba(_loaded.split.X_test)


def ranked_rows(loaded: LoadedRun, order: str, label=None) -> np.ndarray:
    """Return places, from 0, of test rows in one of the orders above.

    ``label`` is the class of which rows are typical; None: of all rows.
    """
    return _ranked_rows(*loaded.key, order, label, loaded)


@st.cache_resource(show_spinner=False, max_entries=64)
def _ranked_rows(home: Path, run_id: str, epoch, order, label, _loaded) -> np.ndarray:
    """``ranked_rows``, by values that name them."""
    X, y = _loaded.split.rows("test")
    predicted, proba = predictions(_loaded, "test"), probabilities(_loaded)
    if order == MISCLASSIFIED:
        return misclassified(y, predicted)
    if order == UNSURE:
        return least_sure(_loaded.model, X, proba)
    if order == ERRORS:
        return worst_errors(y, predicted, proba, _loaded.model.classes)
    candidates = np.ones(len(y), dtype=bool)
    if label is not None:
        candidates = (np.asarray(y) == label) & (np.asarray(predicted) == label)
    return typical_rows(X, candidates)


def known_values(loaded: LoadedRun) -> KnownValues:
    """Return what the columns of the training rows hold; shared, filled when asked."""
    return _known_values(*loaded.key, loaded)


@st.cache_resource(show_spinner=False, max_entries=2)  # each holds the rows
def _known_values(home: Path, run_id: str, epoch, _loaded) -> KnownValues:
    """``known_values``, by values that name them."""
    return KnownValues(_loaded.split.X_train)


def shuffled_importances(loaded: LoadedRun) -> pd.DataFrame:
    """Return how much the test score falls when a column is shuffled."""
    return _shuffled(*loaded.key, loaded)


@st.cache_data(show_spinner="Shuffling one feature after the other…", max_entries=16)
def _shuffled(home: Path, run_id: str, epoch, _loaded) -> pd.DataFrame:
    """``shuffled_importances``, by values that name them."""
    X, y = _loaded.split.rows("test")
    return permutation_importances(_loaded.model, X, y, _loaded.run.problem.task)


def run_dependence(loaded: LoadedRun, column: str, output: int) -> Dependence:
    """Return how predictions depend on a column, over a sample of test rows."""
    return _dependence(*loaded.key, column, output, loaded)


@st.cache_resource(show_spinner=False, max_entries=64)
def _dependence(
    home: Path, run_id: str, epoch, column: str, output: int, _loaded
) -> Dependence:
    """``run_dependence``, by values that name it."""
    values = grid(_loaded.split.X_train[column])
    rows = sample_rows(_loaded.split.X_test)
    return dependence(_loaded.model, rows, column, values, output)
