"""Trees of other programs predict the same as an ensemble that a run can store."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble

import treelab
from tests.trees.adapters.test_scikit_learn import hard_rows, rows
from tests.trees.adapters.test_xgboost_json import (
    OBJECTIVES,
    as_probabilities,
    boosted,
    predictions,
)
from treelab.trees.ensemble import WeightedTrees


@pytest.mark.parametrize(
    "objective", ["binary:logistic", "multi:softprob", "reg:squarederror"]
)
def test_boosted_trees_predict_alike_on_every_row(objective, tmp_path):
    X = rows(400, 0)
    model = boosted(objective, X, OBJECTIVES[objective](X))
    forest = treelab.from_xgboost(model)
    forest.to_weighted_trees().save(tmp_path / "saved")
    ours = WeightedTrees.load(tmp_path / "saved")
    assert ours.n_estimators == len(forest)
    for table in (rows(2000, 1), hard_rows(forest)):
        predicted = predictions(model, table)
        if ours.classes is None:
            assert ours.predict(table) == pytest.approx(predicted, rel=1e-4, abs=1e-5)
        else:
            proba = ours.predict_proba(table)
            wanted = as_probabilities(predicted)
            assert proba == pytest.approx(wanted, abs=1e-5)


def test_categories_of_a_boosted_model_go_the_same_way():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"kind": rng.choice(list("abcdef"), 500), "n": rng.normal(size=500)}
    )
    X["kind"] = X["kind"].astype("category")
    X.loc[::9, "kind"] = None
    y = X["kind"].isin(["a", "e"]) * 2 + X["n"]
    model = boosted("reg:squarederror", X, y)
    ours = treelab.from_xgboost(model).to_weighted_trees()
    wanted = predictions(model, X)
    assert ours.predict(X.astype({"kind": object})) == pytest.approx(wanted, abs=1e-5)


def test_a_forest_of_numbers_predicts_by_its_mean():
    X = rows(300, 0)
    y = X["a"].fillna(0) + X["e"].fillna(1) ** 2
    model = ensemble.RandomForestRegressor(8, max_depth=7, random_state=0).fit(X, y)
    forest = treelab.from_sklearn(model)
    ours = forest.to_weighted_trees()
    for table in (rows(2000, 1), hard_rows(forest)):
        assert ours.predict(table) == pytest.approx(model.predict(table), rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "kind", [ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier]
)
def test_a_forest_of_classes_predicts_by_its_mean_distribution(
    kind, n_classes, tmp_path
):
    X = rows(400, 0)
    rank = (X["a"].fillna(0) + X["e"].fillna(1) ** 2).rank(pct=True)
    y = np.array(["d", "c", "b", "a"])[(rank * n_classes * 0.999).astype(int)]
    model = kind(10, max_depth=8, class_weight="balanced", random_state=0).fit(X, y)
    forest = treelab.from_sklearn(model)
    forest.save(tmp_path / "saved")
    ours = WeightedTrees.load(tmp_path / "saved")
    assert ours.classes == tuple(model.classes_)
    for table in (rows(2000, 1), hard_rows(forest)):
        proba = ours.predict_proba(table)
        assert proba == pytest.approx(model.predict_proba(table), abs=1e-12)
        assert (ours.predict(table) == model.predict(table)).all()
    for e in (0, 9):
        alone = model.estimators_[e].predict_proba(X.to_numpy())
        assert ours.estimator(e).predict_proba(X) == pytest.approx(alone, abs=1e-12)


def test_votes_that_tie_are_decided_as_scikit_learn_does():
    X = rows(500, 3)
    y = np.random.default_rng(0).integers(2, size=500)  # nothing to be learned
    model = ensemble.RandomForestClassifier(6, max_depth=9, random_state=1).fit(X, y)
    ours = treelab.from_sklearn(model).to_weighted_trees()
    table = rows(4000, 4)
    assert (model.predict_proba(table)[:, 0] == 0.5).any()
    assert (ours.predict(table) == model.predict(table)).all()


def test_a_forest_s_json_is_that_of_the_ensemble_a_run_stores():
    X = rows(200, 0)
    model = ensemble.RandomForestClassifier(3, max_depth=4, random_state=0)
    stored = treelab.from_sklearn(model.fit(X, X["a"] > 0)).to_dict()
    read = WeightedTrees.from_dict(json.loads(json.dumps(stored)))
    assert read.leaf_output == "probabilities"
    assert read.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)


def test_what_no_mean_of_leaves_predicts_is_refused():
    X = rows(200, 0)
    for objective in ("count:poisson", "reg:logistic"):
        model = boosted(objective, X, OBJECTIVES[objective](X))
        with pytest.raises(ValueError, match="exponential function of the sum"):
            treelab.from_xgboost(model).to_weighted_trees()
    y = 1.5 ** np.arange(len(X))  # each split separates one row from the others
    deep = ensemble.RandomForestRegressor(2, max_features=1, random_state=0)
    deep.fit(pd.DataFrame({"a": y}), y)
    with pytest.raises(ValueError, match="too large to be stored"):
        treelab.from_sklearn(deep).to_weighted_trees()
