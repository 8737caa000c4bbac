"""xgboost's models predict the same once they are ours."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost

import treelab
from tests.trees.adapters.test_scikit_learn import hard_rows, rows
from treelab.trees.adapters import Forest
from treelab.trees.tree import Tree

OBJECTIVES = {
    "binary:logistic": lambda t: (t["a"] > 0).astype(int),
    "multi:softprob": lambda t: np.digitize(t["a"].fillna(0), [-0.5, 0.5]),
    "reg:squarederror": lambda t: t["a"].fillna(0) * 3 + 1,
    "reg:absoluteerror": lambda t: t["a"].fillna(0) * 3 + 1,
    "reg:logistic": lambda t: (t["a"].fillna(0) > 0) * 0.5 + 0.2,
    "count:poisson": lambda t: np.abs(t["a"].fillna(0)).round() + 1,
}


def boosted(objective: str, X: pd.DataFrame, y, **settings):
    """A fitted booster of a few rounds."""
    parameters = {"objective": objective, "max_depth": 4, "seed": 0, **settings}
    if objective.startswith("multi"):
        parameters["num_class"] = int(np.max(y)) + 1
    rounds = parameters.pop("rounds", 7)
    data = xgboost.DMatrix(X, y, enable_categorical=True)
    return xgboost.train(parameters, data, rounds)


def predictions(booster, X: pd.DataFrame, **options) -> np.ndarray:
    """What xgboost predicts."""
    return booster.predict(xgboost.DMatrix(X, enable_categorical=True), **options)


def as_probabilities(predicted: np.ndarray) -> np.ndarray:
    """A column a class, where xgboost predicts the second of two classes alone."""
    if predicted.ndim == 2:
        return predicted
    return np.column_stack([1 - predicted, predicted])


def check_margins(ours: Forest, booster, X: pd.DataFrame) -> None:
    """Assert that sums agree to the last bit of xgboost's float32."""
    wanted = predictions(booster, X, output_margin=True).reshape(len(X), -1)
    assert np.array_equal(ours.decision_function(X), wanted)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_sums_agree_to_the_last_bit_on_every_row(objective, booster, tmp_path):
    X = rows(400, 0)
    y = OBJECTIVES[objective](X)
    dart = {"rate_drop": 0.3} if booster == "dart" else {}
    model = boosted(objective, X, y, booster=booster, **dart)
    model.save_model(tmp_path / "model.json")
    ours = treelab.from_xgboost(tmp_path / "model.json")
    for table in (rows(2000, 1), hard_rows(ours)):
        check_margins(ours, model, table)
        predicted = predictions(model, table)
        if ours.classes is None:
            assert ours.predict(table) == pytest.approx(predicted, rel=1e-5)
        else:
            proba = ours.predict_proba(table)
            wanted = as_probabilities(predicted)
            assert proba == pytest.approx(wanted, abs=1e-6)


def test_scikit_learns_interface_predicts_the_same_classes(tmp_path):
    X = rows(400, 0)
    y = OBJECTIVES["multi:softprob"](X)
    model = xgboost.XGBClassifier(n_estimators=20).fit(X, y)
    ours = treelab.from_xgboost(model, classes=["low", "middle", "high"])
    wanted = np.array(["low", "middle", "high"])[model.predict(rows(2000, 1))]
    assert np.array_equal(ours.predict(rows(2000, 1)), wanted)
    assert ours[1].target == "margin of middle"


def test_early_stopping_leaves_later_rounds_out():
    X, later = rows(300, 0), rows(300, 1)
    y = OBJECTIVES["binary:logistic"]
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3)
    model.fit(X, y(X), eval_set=[(later, 1 - y(later))], verbose=False)
    ours = treelab.from_xgboost(model)
    assert len(ours.trees if isinstance(ours, Forest) else [ours]) == (
        model.best_iteration + 1
    )
    proba = ours.predict_proba(later)
    assert proba == pytest.approx(model.predict_proba(later), abs=1e-6)


def with_categories(seed: int) -> pd.DataFrame:
    """A table with a column of categories."""
    rng = np.random.default_rng(seed)
    table = rows(500, seed)
    names = ["red", "blue", "it's", "green", "x", "y", "z"]
    table["colour"] = pd.Categorical(rng.choice(names, len(table)), names)
    return table.mask(rng.random(table.shape) < 0.05)


@pytest.mark.parametrize("onehot", [1, 100])
def test_categories_go_the_same_way_by_name(onehot):
    X = with_categories(0)
    y = (X["colour"].isin(["red", "it's", "z"]) ^ (X["a"] > 0)).astype(int)
    model = boosted("binary:logistic", X, y, max_cat_to_onehot=onehot)
    ours = treelab.from_xgboost(model)
    assert any(f.kind == "category" for f in ours.features)
    check_margins(ours, model, with_categories(1))
    check_margins(ours, model, with_categories(1).astype({"colour": "category"}))


def test_names_of_categories_beyond_ascii_must_be_given():
    names = ["rød", "blå", "grün", "黄"]
    X = pd.DataFrame({"colour": pd.Categorical(names * 50, names)})
    y = X["colour"].isin(["rød", "grün"]).astype(int)
    model = boosted("binary:logistic", X, y, rounds=3)
    with pytest.raises(ValueError, match="'colour' are lost"):
        treelab.from_xgboost(model)
    ours = treelab.from_xgboost(model, categories={"colour": names})
    check_margins(ours, model, X)
    assert np.array_equal(ours.predict(X), y)


def test_one_tree_predicts_alone():
    X = rows(300, 0)
    for objective in ("binary:logistic", "reg:squarederror", "count:poisson"):
        y = OBJECTIVES[objective](X)
        model = boosted(objective, X, y, rounds=1)
        ours = treelab.from_xgboost(model, target="kind")
        assert isinstance(ours, Tree)
        predicted = predictions(model, rows(2000, 1))
        if ours.classes:
            assert ours.predict_proba(rows(2000, 1))[:, 1] == pytest.approx(predicted)
            assert np.array_equal(ours.predict(rows(2000, 1)), predicted > 0.5)
        else:
            assert ours.predict(rows(2000, 1)) == pytest.approx(predicted, rel=1e-6)


@pytest.mark.parametrize("stats", [False, True])
def test_a_dump_predicts_the_sum_without_the_base(stats, tmp_path):
    X = with_categories(0)
    X["whole"] = np.arange(len(X)) % 5
    y = X["a"].fillna(0) + X["colour"].isin(["red"]) + X["whole"]
    model = boosted("reg:squarederror", X, y, base_score=0.0)
    model.dump_model(tmp_path / "dump.json", with_stats=stats, dump_format="json")
    ours = treelab.from_xgboost(tmp_path / "dump.json")
    codes = X.assign(colour=X["colour"].cat.codes.astype(str).replace("-1", np.nan))
    assert np.array_equal(
        ours.decision_function(codes)[:, 0], predictions(model, X, output_margin=True)
    )
    texts = model.get_dump(dump_format="json")
    assert len(treelab.from_xgboost(texts)) == 7


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m["learner"]["objective"].update(name="rank:ndcg"), "'rank:ndcg'"),
        (
            lambda m: m["learner"]["gradient_booster"].update(name="gblinear"),
            "gblinear",
        ),
        (lambda m: m["learner"].pop("objective"), "damaged: KeyError"),
        (
            lambda m: m["learner"]["gradient_booster"]["model"].update(trees=[]),
            "no tree",
        ),
        (
            lambda m: m["learner"]["learner_model_param"].update(num_target="2"),
            "several",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(change, sentence):
    X = rows(100, 0)
    model = boosted("reg:squarederror", X, OBJECTIVES["reg:squarederror"](X), rounds=2)
    stored = json.loads(bytes(model.save_raw("json")))
    change(stored)
    with pytest.raises(ValueError, match=sentence):
        treelab.from_xgboost(stored)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(b"\x80\x04binary")
    with pytest.raises(ValueError, match="not JSON"):
        treelab.from_xgboost(path)
