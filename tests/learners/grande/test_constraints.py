"""Constraints on GRANDE: kept by every tree and by the ensemble, on every row."""

import numpy as np
import pandas as pd
import pytest

from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.grande.fit import output_signs
from treelab.trees.constraints import Constraints, violations
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

QUICK = {"n_estimators": 12, "depth": 3, "max_epochs": 8, "n_folds": 1}
QUICK |= {"random_state": 0}


def table(n_rows: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of which "age" goes up, then down, and some values are missing."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "age": random.uniform(20, 60, n_rows),
            "income": random.normal(size=n_rows),
            "noise": random.normal(size=n_rows),
            "job": random.choice(list("abc"), n_rows),
        }
    )
    y = np.sin(X["age"] / 5) + X["income"] + (X["job"] == "a")
    X.loc[::17, "age"] = np.nan
    return X, y.to_numpy()


def trees_of(ensemble: WeightedTrees) -> list[Tree]:
    """Return every tree of an ensemble, with the training rows' counts."""
    return [ensemble.estimator(e) for e in range(ensemble.n_estimators)]


def along(X: pd.DataFrame, column: str) -> list[pd.DataFrame]:
    """Return the rows with one column at one value after the other, ascending."""
    values = np.quantile(X[column].dropna(), np.linspace(0, 1, 25))
    return [X.assign(**{column: value}) for value in [-1e9, *values, 1e9]]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_monotone_ensemble_is_monotone_on_every_row(n_classes):
    X, y = table()
    asked = {"monotone": "age: up, income: down"}
    if n_classes == 0:
        fitted = GrandeRegressor(**QUICK, constraints=asked).fit(X, y)
    else:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
        asked["monotone_class"] = "1"
        fitted = GrandeClassifier(**QUICK, constraints=asked).fit(X, y)
    ensemble = fitted.ensemble_
    trees = trees_of(ensemble)
    assert any("age" in tree.columns for tree in trees)

    def predicted(rows):
        if n_classes == 0:
            return fitted.predict(rows)
        return fitted.predict_proba(rows)[:, 1]

    other = X.sample(40, random_state=1)
    for column, sign in (("age", 1), ("income", -1)):
        steps = np.diff([predicted(rows) for rows in along(other, column)], axis=0)
        assert (sign * steps >= -1e-12).all()
    if n_classes != 3:  # of three, logits have the order, not each tree's softmax
        assert not [v for t in trees for v in violations(t, fitted.constraints_)]
    assert np.ptp(ensemble.estimator_weights(X), axis=0).max() < 1e-12


def test_without_the_constraint_the_prediction_falls_somewhere():
    X, y = table()
    fitted = GrandeRegressor(**QUICK).fit(X, y)
    steps = np.diff([fitted.predict(rows) for rows in along(X, "age")], axis=0)
    assert steps.min() < -0.1


def test_every_leaf_holds_as_many_rows_as_asked():
    X, y = table()
    asked = {"min_samples_leaf": 30}
    fitted = GrandeRegressor(**QUICK, constraints=asked).fit(X, y)
    held = [t.n_rows[t.is_leaf].min() for t in trees_of(fitted.ensemble_) if t.n_splits]
    assert len(held) > 3
    assert min(held) >= 30
    free = GrandeRegressor(**QUICK).fit(X, y)
    assert min(t.n_rows[t.is_leaf].min() for t in trees_of(free.ensemble_)) < 30


@pytest.mark.slow
def test_a_column_is_used_where_it_is_worth_its_cost():
    X, y = table()
    asked = {"column_costs": "income: 0.05, noise: 0.02, age: 0.9"}
    fitted = GrandeRegressor(**QUICK, constraints=asked).fit(X, y)
    assert {*fitted.ensemble_.columns} == {"income", "job"}


def test_of_two_classes_the_first_falls_where_the_second_grows():
    up = Constraints(monotone="age: up")
    first = Constraints(monotone="age: up", monotone_class="no")
    assert output_signs(up, ("no", "yes"), 1).tolist() == [1]
    assert output_signs(first, ("no", "yes"), 1).tolist() == [-1]
    of_three = Constraints(monotone="age: up", monotone_class="b")
    assert output_signs(of_three, ("a", "b", "c"), 3).tolist() == [-1, 1, -1]


@pytest.mark.parametrize(
    "asked", [{"max_columns": 1}, {"column_costs": "a: 0.3, b: 0.3"}]
)
def test_rows_that_weigh_most_choose_the_columns(asked):
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.normal(size=(200, 2)), columns=["a", "b"])
    heavy = np.arange(200) % 4 == 0
    y, weight = np.where(heavy, X["b"], X["a"]), np.where(heavy, 100.0, 1.0)
    fitted = GrandeRegressor(**QUICK, constraints=asked).fit(X, y, weight)
    assert {c for tree in trees_of(fitted.ensemble_) for c in tree.columns} == {"b"}


def test_columns_of_a_sorted_table_are_chosen_by_all_of_it(monkeypatch):
    monkeypatch.setattr("treelab.learners.grande.starts.MOST_ROWS", 100)
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.normal(size=(400, 3)), columns=["a", "b", "c"])
    X = X.sort_values("c", ignore_index=True)
    asked = {"max_columns": 1}
    fitted = GrandeClassifier(**QUICK, constraints=asked).fit(X, X["c"] > 0)
    assert {c for tree in trees_of(fitted.ensemble_) for c in tree.columns} == {"c"}
