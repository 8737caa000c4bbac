"""A column of nearly as many categories as rows, whose rates would tell the target."""

import numpy as np
import pandas as pd
import pytest

from treelab.learners.get.estimators import GetRegressor
from treelab.learners.gradtree.estimators import GradTreeRegressor

N_TRAIN = 700


@pytest.fixture(scope="module", autouse=True)
def folds_drawn_once():
    """Folds are drawn as ever: what restarts there are hangs on them."""


def postcodes(seed):
    """A table whose target hangs on a number and a region; postcodes are noise."""
    rng, n = np.random.default_rng(seed), 1500
    X = pd.DataFrame({"x": rng.normal(size=n)})
    X["region"] = rng.choice(["north", "south", "west"], n)
    X["postcode"] = [f"p{number}" for number in rng.integers(0, 900, n)]
    return X, X["x"] + (X["region"] == "west") + 2 * rng.normal(size=n)


def test_no_tree_is_retained_for_what_postcodes_know_of_their_own_rows():
    X, y = postcodes(3)
    model = GradTreeRegressor(n_steps=5, n_restarts=24, random_state=0)
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    assert model.feature_importances_[2] < 0.05
    assert model.score(X[N_TRAIN:], y[N_TRAIN:]) > 0.12


def test_linear_leaves_learn_no_row_by_its_postcode():
    X, y = postcodes(0)
    model = GetRegressor(leaves="linear", n_starts=1, n_steps=20, random_state=0)
    known = X[["x", "region"]]
    model.fit(known[:N_TRAIN], y[:N_TRAIN])
    without = model.score(known[N_TRAIN:], y[N_TRAIN:])
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    assert model.score(X[N_TRAIN:], y[N_TRAIN:]) > without - 0.05
    assert model.score(X[:N_TRAIN], y[:N_TRAIN]) < 0.4


def test_linear_leaves_learn_no_row_by_its_id():
    X, y = postcodes(1)
    X["postcode"] = [f"row {number}" for number in range(len(X))]
    model = GetRegressor(leaves="linear", n_starts=1, n_steps=20, random_state=0)
    model.fit(X[:N_TRAIN], y[:N_TRAIN])
    assert model.score(X[N_TRAIN:], y[N_TRAIN:]) > 0.15
