"""Every tree of a run's pruning path with its scores, measured once."""

from pathlib import Path

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import size_path_of
from treelab.evaluation import pruning as pruning_table
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.pruning import PruningSteps, is_scored
from treelab.trees.pruning import SizePath


def scored_path_of(loaded: LoadedRun) -> SizePath | None:
    """Return a run's trees by size, where their scores on held-out rows are known."""
    path = None if loaded.epoch is not None else size_path_of(loaded.run)
    return path if path is not None and is_scored(path) else None


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
    return pruning_table.pruning_steps(
        _loaded.model,
        scored_path_of(_loaded),
        _loaded.split,
        _loaded.fitted_split,
        has_labels=_loaded.has_labels,
        tree_alone=tree_alone,
    )


def step_predictions(
    loaded: LoadedRun, steps: PruningSteps, step: int, tree_alone: bool
) -> np.ndarray:
    """Return the predictions of one tree of the path for the test rows."""
    return _predictions(*loaded.key, tree_alone, step, loaded, steps)


@st.cache_resource(show_spinner=False, max_entries=48)
def _predictions(home: Path, run_id: str, epoch, tree_alone, step, _loaded, _steps):
    """``step_predictions``, by values that name them."""
    return pruning_table.step_predictions(
        _loaded.model, _steps, step, _loaded.split.X_test, tree_alone=tree_alone
    )


def step_differences(
    loaded: LoadedRun, steps: PruningSteps, first: int, second: int, tree_alone: bool
) -> dict[str, ScoreDifference]:
    """Return how the test scores of a second tree of the path differ from a first's."""
    return _differences(*loaded.key, tree_alone, first, second, loaded, steps)


@st.cache_data(show_spinner="Resampling the test rows…", max_entries=48)
def _differences(
    home: Path, run_id: str, epoch, tree_alone, first, second, _loaded, _steps
) -> dict[str, ScoreDifference]:
    """``step_differences``, by values that name them."""
    return paired_bootstrap(
        _loaded.run.problem.task,
        _loaded.split.y_test.to_numpy(),
        *(
            step_predictions(_loaded, _steps, step, tree_alone)
            for step in (first, second)
        ),
    )
