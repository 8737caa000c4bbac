"""xgboost's models predict the same once they are ours."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

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


@pytest.mark.parametrize("missing", [-999, 0, 1, -999.9])
@pytest.mark.parametrize("kind", ["frame", "categories", "array", "float32"])
def test_a_number_that_counts_as_missing_is_the_estimators(missing, kind, tmp_path):
    def table(seed: int):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.choice([0, 1, 2.5, -1], (400, 3)), columns=[*"abc"])
        X = X.mask(rng.random(X.shape) < 0.2, missing).mask(rng.random(X.shape) < 0.1)
        if kind == "categories":
            X["d"] = pd.Categorical(rng.choice(["x", "y", "z"], 400), ["z", "x", "y"])
        if kind in ("frame", "categories"):
            return X
        return X.to_numpy(np.float32 if kind == "float32" else None)

    X, later = table(0), table(1)
    numbers = np.asarray(X)[:, :3].astype(float)
    numbers[np.isnan(numbers) | np.isclose(numbers, missing)] = 7
    y = numbers @ [1, -2, 1] + (X["d"] == "z" if kind == "categories" else 0)
    model = xgboost.XGBRegressor(
        n_estimators=4, missing=missing, enable_categorical=True, max_depth=4
    ).fit(X, y)
    if kind == "array":  # numbers that are -999, say, once they are float32
        later = later.copy()
        later[:2, 0] = np.nextafter(missing, [-np.inf, np.inf])
    wanted = model.predict(later)
    model.save_model(tmp_path / "model.json")
    for ours in (
        treelab.from_xgboost(model),
        treelab.from_xgboost(tmp_path / "model.json", missing=missing),
    ):
        assert ours.predict(later) == pytest.approx(wanted, rel=1e-6, abs=1e-4)
        assert "counts as missing" in ours.notes[0]
        stored = ours.to_weighted_trees()
        assert stored.predict(later) == pytest.approx(wanted, rel=1e-6, abs=1e-4)
    unknown = treelab.from_xgboost(tmp_path / "model.json")
    assert "does not tell which number" in unknown.notes[0]
    assert not np.allclose(unknown.predict(later), wanted, rtol=1e-3)


def test_rounds_can_be_named_and_boosters_predict_with_all(tmp_path):
    X, later = rows(300, 0), rows(300, 1)
    y = OBJECTIVES["multi:softprob"]
    model = xgboost.XGBClassifier(
        n_estimators=30, early_stopping_rounds=2, num_parallel_tree=2
    )
    model.fit(X, y(X), eval_set=[(later, 2 - y(later))], verbose=False)
    a_round, n_rounds = 3 * 2, model.get_booster().num_boosted_rounds()
    assert model.best_iteration + 1 < n_rounds
    model.save_model(tmp_path / "model.json")
    best = treelab.from_xgboost(tmp_path / "model.json", missing=np.nan)
    assert len(best) == a_round * (model.best_iteration + 1)
    assert best.predict_proba(later) == pytest.approx(model.predict_proba(later))
    old = json.loads((tmp_path / "model.json").read_text())
    del old["learner"]["gradient_booster"]["model"]["iteration_indptr"]  # before 2.0
    assert len(treelab.from_xgboost(old)) == len(best)
    some = treelab.from_xgboost(model, iteration_range=(1, 3))
    wanted = model.predict_proba(later, iteration_range=(1, 3))
    assert some.predict_proba(later) == pytest.approx(wanted)
    booster = treelab.from_xgboost(model.get_booster(), missing=np.nan)
    assert len(booster) == a_round * n_rounds
    assert "all predict" in booster.notes[0]
    check_margins(booster, model.get_booster(), later)
    with pytest.raises(ValueError, match=f"The model has {n_rounds} rounds"):
        treelab.from_xgboost(model, iteration_range=(0, n_rounds + 1))


def test_codes_of_categories_in_an_array_go_the_same_way():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 9, 400)])
    X[rng.random(400) < 0.1, 1] = np.nan
    y = np.isin(X[:, 1], [1, 4, 5]) + X[:, 0]
    model = xgboost.XGBRegressor(
        n_estimators=5, feature_types=["q", "c"], enable_categorical=True
    ).fit(X, y)
    ours = treelab.from_xgboost(model)
    wanted = model.predict(X, output_margin=True)
    assert np.array_equal(ours.decision_function(X)[:, 0], wanted)


def test_nodes_that_pruning_cut_off_are_left_out():
    X = rows(300, 0)
    y = OBJECTIVES["reg:squarederror"](X) + np.random.default_rng(0).normal(size=300)
    model = boosted("reg:squarederror", X, y, tree_method="exact", gamma=3.0)
    trees = json.loads(bytes(model.save_raw("json")))["learner"]["gradient_booster"]
    trees = trees["model"]["trees"]
    assert any(int(tree["tree_param"]["num_deleted"]) for tree in trees)
    check_margins(treelab.from_xgboost(model), model, rows(2000, 1))


def test_leaves_of_several_outputs_and_pipelines_are_refused():
    X = rows(100, 0)
    model = xgboost.XGBClassifier(n_estimators=2, multi_strategy="multi_output_tree")
    model.fit(X, OBJECTIVES["multi:softprob"](X))
    with pytest.raises(ValueError, match="leaves of several outputs"):
        treelab.from_xgboost(model)
    whole = make_pipeline(StandardScaler(), xgboost.XGBRegressor(n_estimators=2))
    with pytest.raises(ValueError, match=r"Pass that step, pipeline\[-1\]"):
        treelab.from_xgboost(whole.fit(X, X["e"].fillna(0)))


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
