"""Contenders whose settings a sweep searches on the training rows of each split."""

import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks.contenders import Contender, FitPredict, treelab_learner
from treelab.data.problem import Problem
from treelab.data.split import DataSplit
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.runs.jobs.sweep import Search
from treelab.runs.store.run import Run
from treelab.runs.sweeps import (
    SweepPlan,
    best_trial,
    first_error,
    open_study,
    presets,
    trial_settings,
)

TARGET = "target"


def tuned_contenders(key: str, n_trials: int) -> list[Contender]:
    """List a learner tuned within each of its search spaces.

    Parameters
    ----------
    key : str
        Of the learner.
    n_trials : int
        Of each sweep, the defaults being the first.
    """
    names = {"treelab": f"{key}-tuned", "paper": f"{key}-paper-tuned"}
    return [
        Contender(names[preset], tuned(key, preset, n_trials))
        for preset in presets(key)
        if preset in names
    ]


def tuned(key: str, preset_name: str, n_trials: int) -> FitPredict:
    """Our learner with the settings that a sweep of a preset finds."""

    def fit_predict(X, y, X_test, task, seed):
        preset = presets(key)[preset_name].of_task(LEARNERS[key], task)
        plan = SweepPlan(preset.space, n_trials, preset.scoring, seed=seed)
        problem = Problem("", "", TARGET, tuple(X.columns), task=task, seed=seed)
        settings = complete_settings(key, task, dict(preset.fixed))
        now = time.time()
        run = Run("", "", key, settings, problem, "auto", "running", created=now)
        with tempfile.TemporaryDirectory() as folder:
            study = open_study(Path(folder), seed=seed)
            search = Search(run, plan, _all_train(X, y), study, ())
            search.run_trials()
            best = best_trial(study)
            if best is None:
                raise ValueError(first_error(study))
        chosen = trial_settings(run, best.params)
        return treelab_learner(key, **chosen)(X, y, X_test, task, seed)

    return fit_predict


def _all_train(X: pd.DataFrame, y) -> DataSplit:
    """Return a split of the rows a contender is given, without test rows."""
    target = pd.Series(y, index=X.index)
    return DataSplit(X, target, X[:0], target[:0], X[:0], target[:0])
