"""Few trees decide a row: by entmax, by concentration and by the entropy penalty."""

import numpy as np
import pytest
import torch

from tests.learners.grande.test_estimators import (
    BRIEF,
    QUICK,
    RecordingClassifier,
    table,
)
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.grande.fit import Concentration


@pytest.mark.slow
def test_entmax_lets_few_trees_decide_and_leaves_the_others_out():
    _, X, y = table("breast_cancer")
    settings = QUICK | {"n_estimators": 128, "max_epochs": 20, "n_folds": 1}
    few = GrandeClassifier(**settings).fit(X, y)
    fewer = GrandeClassifier(**settings, concentration=6.0).fit(X, y)
    many = GrandeClassifier(**settings, weighting="softmax", max_deciders=None).fit(
        X, y
    )
    counts = [
        np.median(m.ensemble_.n_estimators_for_share(X, 0.9))
        for m in (fewer, few, many)
    ]
    assert counts[0] < counts[1] < counts[2]
    assert (few.ensemble_.estimator_weights(X) == 0).mean() > 0.5
    assert few.ensemble_.estimator_weights(X).any(axis=0).all()
    assert fewer.ensemble_.n_estimators < many.ensemble_.n_estimators == 128
    assert f"{fewer.ensemble_.n_estimators} of 128 trees" in str(fewer.ensemble_.notes)
    assert fewer.origin_.n_splits == fewer.ensemble_.divides.sum()


def test_numbers_are_predicted_by_all_trees_since_few_err_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    y = X.sum(axis=1) + rng.normal(size=500)
    settings = {"n_estimators": 64, "max_epochs": 10, "n_folds": 1, "random_state": 0}
    few = GrandeRegressor(**settings, max_deciders=20, concentration=2.4)
    scores = [
        own.fit(X[:300], y[:300]).score(X[300:], y[300:])
        for own in (GrandeRegressor(**settings), few)
    ]
    assert scores[0] > scores[1] + 0.01


@pytest.mark.parametrize("weighting", ["entmax15", "softmax"])
def test_no_more_trees_decide_any_row_than_may(weighting):
    _, X, y = table("breast_cancer")
    settings = BRIEF | {"weighting": weighting, "max_deciders": 3}
    ensemble = GrandeClassifier(**settings).fit(X, y).ensemble_
    deciding = (ensemble.estimator_weights(X) > 0).sum(axis=1)
    assert deciding.max() == 3
    assert ensemble.max_deciders == 3


SHORT = {
    "n_estimators": 64,
    "max_epochs": 20,
    "patience": 5,
    "n_folds": 2,
    "random_state": 0,
}


def test_more_trees_decide_where_few_do_worse_on_held_out_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2600, 8))
    truth = 1 / (1 + np.exp(2 - X[:, :6].sum(axis=1) / 2))
    y = rng.random(2600) < truth
    chosen = GrandeClassifier(**SHORT).fit(X[:600], y[:600])
    few = GrandeClassifier(**SHORT, max_deciders=20).fit(X[:600], y[:600])
    assert few.ensemble_.max_deciders == 20  # who sets a number has it
    assert 20 < chosen.ensemble_.max_deciders < 64
    (note,) = (one for one in chosen.ensemble_.notes if one.startswith("Up to"))
    assert "20 learned less than nine tenths" in note
    errors = [
        np.square(m.predict_proba(X[600:])[:, 1] - truth[600:]).mean()
        for m in (chosen, few)
    ]
    assert errors[0] < 0.9 * errors[1]


def test_few_trees_decide_where_that_costs_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.3)
    ensemble = GrandeClassifier(**SHORT).fit(X, y).ensemble_
    assert ensemble.max_deciders == 20
    assert not any(note.startswith("Up to") for note in ensemble.notes)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_few_trees_decide_where_more_learn_nothing_either(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 4)), rng.integers(2, size=40)
    settings = {"n_estimators": 48, "max_epochs": 12, "random_state": 0}
    ensemble = GrandeClassifier(**settings).fit(X, y).ensemble_
    assert ensemble.max_deciders == 20
    assert not any(note.startswith("Up to") for note in ensemble.notes)


@pytest.mark.slow
def test_the_trees_that_may_decide_become_fewer_over_the_first_epochs():
    _, X, y = table("breast_cancer")
    network, *_ = RecordingClassifier(**QUICK).fit(X, y).exported
    n_trees = network.logits.shape[1]
    network.settings.max_deciders = 2
    schedule = Concentration(network, n_steps=3)
    counts = []
    for _ in range(5):
        schedule.step()
        counts.append(network.max_deciders)
    assert (
        counts
        == [round(n_trees * (2 / n_trees) ** part) for part in (1 / 3, 2 / 3)] + [2] * 3
    )
    saved = schedule.state_dict()
    network.max_deciders = None
    schedule.load_state_dict(saved)
    assert network.max_deciders == 2
    network.max_deciders = network.settings.max_deciders = None
    unlimited = Concentration(network, n_steps=1)
    unlimited.step()
    assert network.max_deciders is None


@pytest.mark.slow
def test_the_entropy_of_each_rows_weights_is_added_to_its_loss():
    _, X, y = table("breast_cancer")
    network, *_ = RecordingClassifier(**QUICK).fit(X, y).exported
    rows = torch.arange(50)
    network.max_deciders = None
    losses = []
    for penalty in (0.0, 0.01):
        network.settings.entropy_penalty = penalty
        losses.append(network.batch_loss(rows).item())
    _, weights = network.predict(network.rows.x[rows])
    effective = 1 / weights[0].detach().square().sum(0)  # number of trees, (B,)
    added = 0.01 * effective.log().mean().item()
    assert losses[1] - losses[0] == pytest.approx(added, rel=1e-3)


@pytest.mark.slow
def test_the_higher_the_entropy_penalty_the_fewer_trees_decide():
    _, X, y = table("breast_cancer")
    # One epoch of many steps: all penalties train equally long.
    settings = QUICK | {"n_estimators": 64, "max_epochs": 1, "batch_size": 4}
    settings["n_folds"] = 1
    counts = []
    for penalty in (0.0, 0.02, 0.1, 0.3):
        ensemble = (
            GrandeClassifier(**settings, entropy_penalty=penalty).fit(X, y).model_
        )
        counts.append(ensemble.n_estimators_for_share(X, 0.9).mean())
    assert counts[0] > counts[1] > counts[2] > counts[3]
