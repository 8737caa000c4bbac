import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.learners.drawn_rows import of_drawn_rows
from treelab.learners.get.estimators import GetClassifier, GetRegressor

QUICK = {"max_depth": 3, "n_starts": 3, "n_steps": 150, "random_state": 0}
CHECKED = {"max_depth": 2, "n_starts": 2, "n_steps": 6}


def mixed_table(n_rows=300, seed=0):
    """Numbers of very different scale, categories and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "small": rng.normal(size=n_rows) * 1e-6,
            "large": rng.normal(size=n_rows) * 1e9 + 1e10,
            "kind": rng.choice(["red", "green", "blue"], n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "constant": 3.0,
        }
    )
    slope = frame["small"] * 1e6 + (frame["large"] - 1e10) / 1e9
    target = slope + 2 * (frame["kind"] == "red")
    frame.loc[rng.random(n_rows) < 0.1, "large"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "kind"] = None
    return frame, target.to_numpy()


@pytest.mark.slow
@parametrize_with_checks(
    [GetClassifier(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [GetRegressor(leaves="linear", **CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks_of_the_regressor(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_wine_with_default_settings_is_learned():
    X, y = load_wine(return_X_y=True, as_frame=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = GetClassifier(random_state=0).fit(train, y_train)
    assert model.score(test, y_test) >= 0.90


@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_a_table_with_categories_and_missing_values_is_learned(leaves):
    X, y = mixed_table()
    model = GetRegressor(leaves=leaves, **QUICK).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.5


def test_a_diagonal_boundary_takes_one_split_that_weighs_both_columns():
    X = np.random.default_rng(0).normal(size=(400, 5))
    y = np.where(X[:, 1] > 0.5 * X[:, 3], "above", "below")
    settings = QUICK | {"max_depth": 1}
    model = GetClassifier(**settings).fit(X[:300], y[:300])
    assert model.tree_.n_splits == 1
    assert model.score(X[300:], y[300:]) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_the_same_seed_gives_the_same_tree(leaves):
    X, y = mixed_table(100)
    settings = {"leaves": leaves, "max_depth": 2, "n_starts": 3}
    settings |= {"n_steps": 8, "random_state": 0}
    first, second = (GetRegressor(**settings).fit(X, y) for _ in "ab")
    assert (first.predict(X) == second.predict(X)).all()


def test_a_stop_returns_the_best_tree_so_far():
    X, y = mixed_table()
    seen = []

    def stop_at_once(progress):
        seen.append(progress)
        return True

    model = GetRegressor(**QUICK).fit(X, y, callbacks=[stop_at_once])
    assert {report.stage for report in seen} <= {"starts", "stage 1 of 2"}
    assert seen[-1].epoch == 1  # what is retained was trained, if only for an epoch
    assert model.score(X, y) > 0
    shown = next(report.snapshot for report in seen if report.snapshot)
    assert shown().predict(X).shape == (300,)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 13),
        ("n_starts", 0),
        ("learning_rate", -0.1),
        ("scale_factors", (5.0, 25.0, 50.0)),
        ("scale_factors", 5.0),
        ("max_leaf_nodes", 1),
        ("recipe", "mine"),
        ("batch_size", 0),
        ("n_steps", 0),
        ("l1", -1.0),
        ("leaves", "round"),
        ("sparse_tolerance", -0.1),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    X, y = mixed_table(60)
    with pytest.raises(ValueError, match=setting):
        GetRegressor(**{setting: value}).fit(X, y)
