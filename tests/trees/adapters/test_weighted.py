"""Trees of other programs answer the same as an ensemble that a run can keep."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble

import treelab
from tests.trees.adapters.test_scikit_learn import hard_rows, rows
from tests.trees.adapters.test_xgboost_json import OBJECTIVES, answers, boosted
from treelab.trees.ensemble import WeightedTrees


@pytest.mark.parametrize(
    "objective", ["binary:logistic", "multi:softprob", "reg:squarederror"]
)
def test_boosted_trees_answer_alike_on_every_row(objective, tmp_path):
    X = rows(400, 0)
    model = boosted(objective, X, OBJECTIVES[objective](X))
    forest = treelab.from_xgboost(model)
    forest.to_weighted_trees().save(tmp_path / "kept")
    ours = WeightedTrees.load(tmp_path / "kept")
    assert ours.n_estimators == len(forest)
    for table in (rows(2000, 1), hard_rows(forest)):
        said = answers(model, table)
        if ours.classes is None:
            assert ours.predict(table) == pytest.approx(said, rel=1e-4, abs=1e-5)
        else:
            proba = ours.predict_proba(table)
            wanted = np.column_stack([1 - said, said]) if said.ndim == 1 else said
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
    wanted = answers(model, X)
    assert ours.predict(X.astype({"kind": object})) == pytest.approx(wanted, abs=1e-5)


def test_a_forest_of_numbers_answers_by_its_mean():
    X = rows(300, 0)
    y = X["a"].fillna(0) + X["e"].fillna(1) ** 2
    model = ensemble.RandomForestRegressor(8, max_depth=7, random_state=0).fit(X, y)
    forest = treelab.from_sklearn(model)
    ours = forest.to_weighted_trees()
    for table in (rows(2000, 1), hard_rows(forest)):
        assert ours.predict(table) == pytest.approx(model.predict(table), rel=1e-12)


def test_what_no_mean_of_leaves_says_is_refused():
    X = rows(200, 0)
    forest = ensemble.RandomForestClassifier(3, random_state=0).fit(X, X["a"] > 0)
    with pytest.raises(ValueError, match="answer by the mean of their probabilities"):
        treelab.from_sklearn(forest).to_weighted_trees()
    for objective in ("count:poisson", "reg:logistic"):
        model = boosted(objective, X, OBJECTIVES[objective](X))
        with pytest.raises(ValueError, match="bends the sum of its trees"):
            treelab.from_xgboost(model).to_weighted_trees()
    y = 1.5 ** np.arange(len(X))  # each split parts one row from the others
    deep = ensemble.RandomForestRegressor(2, max_features=1, random_state=0)
    deep.fit(pd.DataFrame({"a": y}), y)
    with pytest.raises(ValueError, match="too large to be kept"):
        treelab.from_sklearn(deep).to_weighted_trees()
