"""scikit-learn's histogram gradient boosting predicts the same once it is ours."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import treelab
from tests.trees.adapters.test_scikit_learn import hard_rows, rows
from treelab.trees.ensemble import WeightedTrees

SMALL = {"max_iter": 12, "max_leaf_nodes": 9, "random_state": 0}


def mixed(seed: int, *, extra: bool = False) -> pd.DataFrame:
    """Numbers and two columns of categories, of text and of numbers, with gaps.

    With ``extra`` there are categories that another seed's table lacks.
    """
    rng = np.random.default_rng(seed)
    table = rows(500, seed)
    names = ["red", "blue", "it's", "green", "x", "y", "z"]
    table.insert(1, "colour", rng.choice([*names, *(["new"] * extra)], len(table)))
    table["code"] = rng.choice([3.0, 10.0, 40.0, 7.0, *([99.0] * extra)], len(table))
    gone = rng.random(len(table)) < 0.1
    table.loc[gone, "code"] = np.nan
    table.loc[gone[::-1], "colour"] = None
    return table.astype({"colour": "category"})


def truth(X: pd.DataFrame) -> np.ndarray:
    """What follows from the columns."""
    red = X["colour"].isin(["red", "it's"]) if "colour" in X else X["e"] > 0
    code = X["code"].isin([10, 7]) if "code" in X else X["d"] > 0
    return red * 2 + code + X["a"].fillna(-1)


def check(model, tables) -> None:
    """Assert that the sums of both agree to the last bit, and so the predictions."""
    ours = treelab.from_sklearn(model)
    assert len(ours) == model.n_iter_ * model.n_trees_per_iteration_
    for table in tables(ours):
        if hasattr(model, "classes_"):
            wanted = model.decision_function(table).reshape(len(table), -1)
            assert np.array_equal(ours.decision_function(table), wanted)
            assert np.array_equal(ours.predict(table), model.predict(table))
            proba = model.predict_proba(table)
            assert ours.predict_proba(table) == pytest.approx(proba, abs=1e-12)
        else:
            assert ours.predict(table) == pytest.approx(model.predict(table), rel=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_of_numbers_predict_alike_on_every_row(n_classes):
    X = rows(400, 0)
    y = np.array(["no", "yes", "perhaps"])[
        np.digitize(truth(X), [0.5, 1.5][: n_classes - 1])
    ]
    model = HistGradientBoostingClassifier(**SMALL).fit(X, y)
    check(model, lambda ours: (rows(2000, 1), hard_rows(ours)))


def test_a_classifier_of_one_class_is_refused():
    X = rows(50, 0)
    model = HistGradientBoostingClassifier(**SMALL).fit(X, np.full(50, "no"))
    with pytest.raises(ValueError, match="knows the class 'no' alone"):
        treelab.from_sklearn(model)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_regressors_of_numbers_predict_alike_on_every_row(loss):
    X = rows(400, 0)
    model = HistGradientBoostingRegressor(loss=loss, **SMALL)
    model.fit(X, np.abs(truth(X)))
    check(model, lambda ours: (rows(2000, 1), hard_rows(ours)))


def test_categories_known_missing_and_new_go_the_same_way():
    X = mixed(0)
    model = HistGradientBoostingClassifier(
        categorical_features=["colour", "code"], **SMALL
    ).fit(X, truth(X) > 1)
    ours = treelab.from_sklearn(model, units={"a": "cm"})
    tested = {ours.features[j].column for tree in ours for j in tree.feature if j >= 0}
    assert {"colour", "code", "a"} <= tested
    assert next(f for f in ours.features if f.column == "a").unit == "cm"
    check(model, lambda _: (mixed(1), mixed(2, extra=True)))


@pytest.mark.parametrize("kind", ["booleans", "whole", "with gaps", "halves"])
@pytest.mark.parametrize("as_array", [False, True])
def test_categories_that_are_no_text_go_the_same_way(kind, as_array):
    def table(seed: int):
        rng = np.random.default_rng(seed)
        code = rng.integers(0, 5, 400)
        held = {
            "booleans": code > 2,
            "whole": code,
            "with gaps": np.where(code == 1, np.nan, code),
            "halves": code / 2,
        }[kind]
        X = pd.DataFrame({"a": rng.normal(size=400), "c": held})
        return X.to_numpy(float) if as_array else X.astype({"c": "category"})

    X, later = table(0), table(1)
    held = X[:, 1] if as_array else X["c"].astype(float)
    y = np.nan_to_num(held, nan=4) * (held != 2) + np.random.default_rng(0).normal()
    chosen = [1] if as_array else "from_dtype"
    model = HistGradientBoostingRegressor(categorical_features=chosen, **SMALL)
    model.fit(X, y)
    ours = treelab.from_sklearn(model)
    assert any(f.kind == "category" for f in ours.features)
    assert np.array_equal(ours.predict(later), model.predict(later))
    some = later[:3] if as_array else later.iloc[:3]
    for row in (some[:1], some[1:2]):
        assert ours.predict(row) == model.predict(row)


def test_a_pipeline_is_refused_with_what_to_pass():
    X = mixed(0)
    whole = make_pipeline("passthrough", HistGradientBoostingRegressor(**SMALL))
    with pytest.raises(ValueError, match=r"pipeline\[:-1\].transform"):
        treelab.from_sklearn(whole.fit(X[["a", "d"]], truth(X)))
    search = GridSearchCV(HistGradientBoostingRegressor(**SMALL), {"max_iter": [2]})
    with pytest.raises(ValueError, match="pass its best_estimator_"):
        treelab.from_sklearn(search.fit(X[["a", "d"]], truth(X)))


def test_an_ensemble_of_them_can_be_saved(tmp_path):
    X = mixed(0)
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **SMALL)
    model.fit(X, truth(X))
    treelab.from_sklearn(model).to_weighted_trees().save(tmp_path)
    ours = WeightedTrees.load(tmp_path)
    assert ours.predict(mixed(1)) == pytest.approx(model.predict(mixed(1)), rel=1e-9)
