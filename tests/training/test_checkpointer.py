"""Checkpoints: every learner that is cut off ends with the tree of one that is not."""

import json

import numpy as np
import pandas as pd
import pytest

from treelab.learners.registry import make_estimator
from treelab.training import checkpointer, events
from treelab.training.checkpointer import Checkpointer


class Killed(BaseException):
    """Stands for the end of a process: nobody catches it."""


RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 3)), columns=["a", "b", "c"])
X["d"] = np.where(X["a"] > 0.2, "low", "high")
Y = ((X["a"] > 0) ^ (X["b"] > 0.3)).map({True: "yes", False: "no"}).to_numpy()
TINY = {
    "gradtree": {"max_leaf_nodes": 4, "n_restarts": 2, "n_steps": 9},
    "gradtree paper": {"recipe": "paper", "n_restarts": 2, "max_epochs": 6},
    "grande": {"n_estimators": 4, "max_epochs": 5, "n_folds": 2, "max_deciders": 2},
    "grande with many deciders": {
        "n_estimators": 24,
        "depth": 2,
        "max_epochs": 8,
        "n_folds": 2,
    },
    "grande with dropout": {"n_estimators": 4, "max_epochs": 5, "dropout": 0.3},
    "get": {"max_depth": 2, "n_steps": 6, "n_starts": 2},
    "get paper": {"recipe": "paper", "max_depth": 2, "n_steps": 3, "n_starts": 2},
    "argmin": {
        "depth": 2,
        "pruning_strength": (0.0, 9.0),
        "max_epochs": 12,
        "n_restarts": 2,
        "predictor": "mlp",
        "hidden_size": 3,
        "dropout": 0.2,
    },
}


def estimator(name):
    """A learner with settings under which it takes a moment."""
    return make_estimator(
        name.split()[0], "binary", TINY[name], random_state=3, device="cpu"
    )


def fit(name, *callbacks):
    """Fit it; return its model, its curve and how many reports it made."""
    fitted = estimator(name).fit(X, Y, callbacks=callbacks)
    curve = fitted.history_.drop(columns="seconds")
    return json.dumps(fitted.model_.to_dict()), curve


@pytest.fixture(autouse=True)
def steady(monkeypatch):
    """Reports and checkpoints come by steps alone, however slow the machine is."""
    monkeypatch.setattr(events, "REPORT_SECONDS", np.inf)
    monkeypatch.setattr(checkpointer, "WRITING_FRACTION", np.inf)


def fit_and_kill(name, folder, epoch):
    """Fit it until so many epochs are finished, when its process ends."""

    def kill(report):
        if report.retained is None and report.total_epoch >= epoch:
            raise Killed

    with pytest.raises(Killed):
        fit(name, Checkpointer(folder, interval=0.0), kill)


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_learner_killed_at_three_moments_ends_with_the_tree_of_one_that_was_not(
    name, tmp_path
):
    reports = []
    model, curve = fit(name, reports.append)
    epochs = max(report.total_epoch for report in reports)
    for moment in (0.2, 0.5, 0.85):  # of one fit, one after the other
        fit_and_kill(name, tmp_path, moment * epochs)
    resumed = Checkpointer(tmp_path, interval=0.0)
    assert not resumed.is_empty
    again, curve_again = fit(name, resumed)
    assert again == model
    pd.testing.assert_frame_equal(curve_again, curve)


@pytest.mark.parametrize("name", ["argmin", "gradtree paper"])
def test_a_training_without_a_schedule_goes_on_as_if_it_had_had_more_epochs(
    name, tmp_path, monkeypatch
):
    folder, settings = tmp_path / "checkpoint", TINY[name] | {"patience": 99}
    monkeypatch.setitem(TINY, name, settings)
    first = Checkpointer(folder)
    short, _ = fit(name, first)
    first.flush()
    more = settings | {"max_epochs": 3 * settings["max_epochs"]}
    monkeypatch.setitem(TINY, name, more)
    reports = []
    longer, _ = fit(name, Checkpointer(folder), reports.append)
    # It began with the curve so far.
    assert any(report.retained is not None for report in reports[:2])
    again, _ = fit(name)
    assert longer == again
    assert longer != short
