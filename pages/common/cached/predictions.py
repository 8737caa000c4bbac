"""A run's predictions, its scores and the weights of its trees, computed once."""

from pathlib import Path

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import table
from pages.common.cached.trees import shown_tree
from treelab.evaluation.ensembles import heaviest_estimators
from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.surrogates import Imitation, imitation
from treelab.runs.jobs.residual import run_imitation

MOST_ESTIMATORS = 24  # trees of an ensemble that a page offers


def predictions(loaded: LoadedRun, split: str) -> np.ndarray:
    """Return the run's predictions for one data split, (n_rows,); never changed."""
    return _predictions(*loaded.key, split, loaded)


@st.cache_resource(show_spinner=False, max_entries=48)
def _predictions(home: Path, run_id: str, epoch, split: str, _loaded) -> np.ndarray:
    """``predictions``, by values that name them."""
    return _loaded.model.predict(_loaded.split.rows(split)[0])


def split_scores(loaded: LoadedRun, split: str) -> dict[str, float]:
    """Return the scores on one data split, as the run stored them, or measured now."""
    stored = (loaded.run.metrics or {}).get(split)
    return stored or _split_scores(*loaded.key, split, loaded)


@st.cache_data(show_spinner=False, max_entries=48)
def _split_scores(home: Path, run_id: str, epoch, split: str, _loaded) -> dict:
    """Scores of a run that stored none."""
    truth = _loaded.split.rows(split)[1]
    return scores(_loaded.run.problem.task, truth, predictions(_loaded, split))


def tree_score(loaded: LoadedRun, split: str) -> float:
    """Return the score of the tree by its leaves, with no predictor on top."""
    task = loaded.run.problem.task
    X, truth = loaded.split.rows(split)
    return scores(task, truth, shown_tree(loaded).predict(X))[headline(task)]


def top_estimators(loaded: LoadedRun) -> tuple[np.ndarray, np.ndarray]:
    """Return the trees of highest mean weight on the test rows, and these weights.

    Returns
    -------
    index : int array of shape (k,)
        Heaviest first.
    weight : float array of shape (k,)
        Mean weight, in [0, 1].
    """
    return _top_estimators(*loaded.key, loaded)


@st.cache_resource(show_spinner="Weighing the trees…", max_entries=16)
def _top_estimators(home: Path, run_id: str, epoch, _loaded):
    """``top_estimators``, by values that name them."""
    return heaviest_estimators(_loaded.model, _loaded.split.X_test, MOST_ESTIMATORS)


def score_differences(
    first: LoadedRun, second: LoadedRun
) -> dict[str, ScoreDifference]:
    """Return how the second run's test scores differ from the first's."""
    return _differences(*first.key, *second.key[1:], first, second)


@st.cache_data(show_spinner="Resampling the test rows…", max_entries=32)
def _differences(home: Path, one, epoch, other, other_epoch, _first, _second) -> dict:
    """``score_differences``, by values that name them."""
    return paired_bootstrap(
        _first.run.problem.task,
        _first.split.y_test.to_numpy(),
        predictions(_first, "test"),
        predictions(_second, "test"),
    )


def imitations(loaded: LoadedRun) -> dict[str, Imitation]:
    """Hold a surrogate run against the model it imitates.

    Returns
    -------
    dict of str to Imitation
        On the "fitted" rows, and on the "test" rows with the truth where it is known.

    Raises
    ------
    ValueError
        If truth and predictions share no label.
    """
    return _imitations(*loaded.key, loaded)


@st.cache_data(show_spinner=False, max_entries=16)
def _imitations(home: Path, run_id: str, epoch, _loaded) -> dict[str, Imitation]:
    """``imitations``, by values that name them."""
    run = _loaded.run
    X, of_model = _loaded.rows("fitted")
    predicted = _loaded.model.predict(X)
    return {
        "fitted": imitation(run.problem.task, of_model, predicted),
        "test": run_imitation(run, _loaded.model, table(run.problem.table_id)),
    }
