"""Checkpoints: every learner that is cut off ends with the tree of one that is not."""

import json

import numpy as np
import pandas as pd
import pytest

from treelab.learners.registry import make_estimator
from treelab.training import events
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
    "grande": {"n_estimators": 4, "max_epochs": 5, "n_folds": 2, "dropout": 0.3},
    "get": {"max_depth": 2, "n_steps": 6, "n_starts": 2},
    "get paper": {"recipe": "paper", "max_depth": 2, "n_steps": 3, "n_starts": 2},
    "argmin": {
        "depth": 2,
        "pruning_strength": (0.0, 9.0),
        "max_epochs": 12,
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


def fit_and_kill(name, folder, report):
    """Fit it until a report, at which its process ends."""
    count = 0

    def kill(_):
        nonlocal count
        count += 1
        if count > report:
            raise Killed

    with pytest.raises(Killed):
        fit(name, Checkpointer(folder, interval=0.0), kill)


@pytest.mark.parametrize("name", TINY)
def test_a_learner_killed_at_three_moments_ends_with_the_tree_of_one_that_was_not(
    name, tmp_path, monkeypatch
):
    monkeypatch.setattr(events, "REPORT_SECONDS", np.inf)  # a slow step reports twice
    reports = []
    model, curve = fit(name, lambda report: reports.append(report) and None)
    for moment in (0.2, 0.5, 0.85):  # of one fit, one after the other
        fit_and_kill(name, tmp_path, 1 + int(moment * len(reports)))
    resumed = Checkpointer(tmp_path, interval=0.0)
    assert not resumed.is_empty
    again, curve_again = fit(name, resumed)
    assert again == model
    pd.testing.assert_frame_equal(curve_again, curve)
