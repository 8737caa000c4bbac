"""Between which values most rows lie: held on new rows, and carried along."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1

from treelab.editing.limits import EditRows
from treelab.editing.regrow import refit_nodes
from treelab.evaluation.predictions import prediction_columns
from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.learners.get.estimators import GetRegressor
from treelab.learners.gradtree.estimators import GradTreeRegressor
from treelab.learners.grande.estimators import GrandeRegressor
from treelab.learners.grande.fit import AS_TRAINED
from treelab.trees.constraints import Constraints
from treelab.trees.io import load
from treelab.trees.text import interval_text


@pytest.fixture(scope="module")
def folds_drawn_once():
    """Not here: how many rows an interval holds hangs on the draws."""


def noisy(n_rows, seed=0):
    """A number whose spread is 1 where ``side`` is 0, and 5 where it is 1."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n_rows), "side": rng.integers(0, 2, n_rows)})
    spread = np.where(X["side"] == 1, 5.0, 1.0)
    return X, (
        3 * X["a"] + 10 * X["side"] + spread * rng.normal(size=n_rows)
    ).to_numpy()


def covered(model, X, y):
    low, high = model.predict_interval(X).T
    return np.mean((y >= low) & (y <= high))


FAST = {
    CartRegressor: {},
    GradTreeRegressor: {"n_restarts": 4, "n_steps": 30},
    GetRegressor: {"n_starts": 2, "n_steps": 60, "leaves": "linear"},
}


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_as_many_new_rows_lie_inside_as_were_asked_for(level):
    X, y = noisy(1500)
    model = CartRegressor(interval=level, random_state=0).fit(X, y)
    assert covered(model, *noisy(4000, seed=1)) == pytest.approx(level, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("learner", FAST)
def test_as_many_new_rows_lie_between_quantiles_as_their_levels_say(learner):
    found = []
    for seed in range(2):
        X, y = make_friedman1(2600, noise=1.0, random_state=seed)
        settings = {"loss": "quantile", "random_state": seed, **FAST[learner]}
        settings.pop("leaves", None)  # linear ones predict one number
        model = learner(quantile=(0.1, 0.5, 0.9), **settings).fit(X[:600], y[:600])
        low, _, high = model.predict(X[600:]).T
        found.append([np.mean(y[600:] <= low), np.mean(y[600:] <= high)])
    np.testing.assert_allclose(np.mean(found, axis=0), [0.1, 0.9], atol=0.05)
    assert "Quantiles were moved" in " ".join(model.tree_.notes)
    assert y[:600].min() <= low.min()
    assert high.max() <= y[:600].max()


@pytest.mark.slow
def test_as_many_new_rows_lie_below_a_quantile_of_linear_leaves():
    found, level = [], 0.1
    for seed in range(2):
        X, y = make_friedman1(2600, n_features=8, noise=2.0, random_state=seed)
        settings = FAST[GetRegressor] | {"loss": "quantile", "quantile": level}
        model = GetRegressor(random_state=seed, **settings).fit(X[:600], y[:600])
        found.append(np.mean(y[600:] <= model.predict(X[600:])))
    assert np.mean(found) == pytest.approx(level, abs=0.05)


def test_a_quantile_of_grande_lies_where_rows_held_out_of_folds_say(monkeypatch):
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    settings = {"n_estimators": 8, "depth": 3, "max_epochs": 10, "random_state": 0}
    grande = GrandeRegressor(loss="quantile", quantile=0.9, **settings).fit(X, y)
    held_out = clone(grande).fit(X[100:], y[100:], X_valid=X[:100], y_valid=y[:100])
    assert np.mean(y[:100] <= held_out.predict(X[:100])) == pytest.approx(0.9, abs=0.02)
    monkeypatch.setattr(GrandeRegressor, "_calibrate", lambda *_: AS_TRAINED)
    by = grande.predict(X) - clone(grande).fit(X, y).predict(X)
    off = np.sort(y - grande.held_out_predictions_[:, 0] + by.mean())
    assert off[268] - 1e-5 <= by.min() <= by.max() <= off[270] + 1e-5
    assert "Quantiles were moved" in " ".join(grande.ensemble_.notes)


def test_leaves_of_a_wide_target_have_wide_intervals():
    X, y = noisy(1500)
    plain = CartRegressor(tune=False, max_leaf_nodes=12, random_state=0)
    low, high = plain.fit(X, y).predict_interval(X).T
    width = high - low
    assert width[X["side"] == 1].mean() > 2.5 * width[X["side"] == 0].mean()


@pytest.mark.slow
@pytest.mark.parametrize("learner", FAST)
def test_intervals_hold_in_the_targets_own_unit(learner):
    X, y = load_diabetes(return_X_y=True)
    settings = FAST[learner]
    one = learner(random_state=0, **settings).fit(X[:300], y[:300])
    other = learner(random_state=0, **settings).fit(X[:300], 1024 * y[:300])
    np.testing.assert_allclose(
        1024 * one.predict_interval(X), other.predict_interval(X), rtol=1e-6
    )
    assert 0.6 < covered(one, X[300:], y[300:]) < 0.95


@pytest.mark.parametrize("settings", [{}, {"loss": "quantile", "quantile": 0.8}])
def test_ends_of_targets_that_are_small_or_far_from_0_are_those_of_others(settings):
    X, y = noisy(120)
    model = CartRegressor(tune=False, max_leaf_nodes=6, random_state=0, **settings)
    one = model.fit(X, y).predict_interval(X)
    other = model.fit(X, y * 2.0**-44).predict_interval(X)
    np.testing.assert_allclose(other * 2.0**44, one)
    far = model.fit(X, y + 2.0**30).predict_interval(X)
    np.testing.assert_allclose(far - 2.0**30, one, atol=1e-3)


@pytest.mark.slow
def test_linear_leaves_hold_as_many_new_whole_numbers_as_were_asked_for():
    found = []
    for seed in range(2):
        X, y = make_friedman1(2600, n_features=8, noise=2.0, random_state=seed)
        y = np.round(y / 4)
        model = GetRegressor(random_state=seed, **FAST[GetRegressor])
        found.append(covered(model.fit(X[:600], y[:600]), X[600:], y[600:]))
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)
    assert min(found) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "unit"), [("squared_error", 0.1), ("poisson", 1.0)])
@pytest.mark.parametrize("learner", FAST)
def test_ends_at_which_many_rows_lie_are_those_values(learner, loss, unit):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=900), "b": rng.normal(size=900)})
    y = rng.poisson(0.1 + 0.3 * X["a"]) * unit
    settings = FAST[learner]
    model = learner(loss=loss, random_state=0, **settings).fit(X[:600], y[:600])
    assert covered(model, X[600:], y[600:]) > 0.75
    if loss == "poisson":
        assert (model.predict_interval(X) >= 0).all()


def test_a_weight_of_two_is_a_row_twice():
    X, y = noisy(200)
    plain = CartRegressor(tune=False, max_leaf_nodes=4, random_state=0)
    tree = plain.fit(X, y, sample_weight=np.full(200, 2.0)).tree_
    again = CartRegressor(tune=False, max_leaf_nodes=4, random_state=0).fit(X, y).tree_
    np.testing.assert_allclose(tree.interval, again.interval)


def test_without_a_level_or_rows_there_is_none():
    X, y = noisy(100)
    plain = {"tune": False, "random_state": 0}
    model = CartRegressor(interval=None, **plain).fit(X, y)
    assert model.tree_.interval is None
    with pytest.raises(ValueError, match="knows no interval"):
        model.predict_interval(X)
    assert interval_text(model.tree_, X) == ""
    assert CartRegressor(**plain).fit(X[:6], y[:6]).tree_.interval is None
    assert "interval" not in CartClassifier().get_params()


@pytest.mark.slow
def test_a_tree_carries_its_interval_into_files_words_and_columns(tmp_path):
    X, y = noisy(300)
    tree = CartRegressor(random_state=0).fit(X, y).tree_
    tree.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_array_equal(again.predict_interval(X), tree.predict_interval(X))
    columns = prediction_columns(tree, X, ["prediction", "interval"])
    assert [*columns] == ["prediction", "quantile 0.1", "quantile 0.9"]
    assert (columns["quantile 0.1"] <= columns["quantile 0.9"]).all()
    assert interval_text(tree, X).startswith("80% between ")
    one = replace(tree, value=0 * tree.value, interval=0 * tree.interval)
    assert interval_text(one, X) == "80% are 0"


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((31.8, 259.5), "80% between 31.8 and 259.5"),
        ((17.1, 210.7), "80% between 17.1 and 210.7"),
        ((0.0, 6.542), "80% between 0.00 and 6.54"),
        ((-1234.4, 98765.4), "80% between −1,234 and 98,765"),
        ((2e-9, 3.14e-9), "80% between 2e−9 and 3.14e−9"),
    ],
)
def test_both_ends_are_true_to_the_digits_that_are_shown(ends, words):
    X, y = noisy(100)
    tree = CartRegressor(tune=False, max_leaf_nodes=2, random_state=0).fit(X, y).tree_
    ends = np.tile(ends, (tree.n_nodes, 1))
    tree = replace(tree, value=0 * tree.value, interval=ends)
    assert interval_text(tree, X) == words


def test_an_interval_must_fit_its_tree():
    X, y = noisy(100)
    tree = CartRegressor(tune=False, random_state=0).fit(X, y).tree_
    for wrong, message in [
        ({"interval_level": None}, "go together"),
        ({"interval_level": 1.0}, "between 0 and 1"),
        ({"interval": -tree.interval}, "lower end"),
    ]:
        with pytest.raises(ValueError, match=message):
            replace(tree, **wrong)


@pytest.mark.slow
def test_an_edited_tree_does_not_keep_the_interval_of_other_rows():
    X, y = noisy(300)
    tree = CartRegressor(random_state=0).fit(X, y).tree_
    touched = np.ones(tree.n_nodes, dtype=bool)
    edited = refit_nodes(tree, EditRows(tree, X, y), touched, np.ones(1), Constraints())
    assert edited.interval is None
    assert edited.interval_level is None
