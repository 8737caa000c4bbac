"""LightGBM's models predict the same once they are ours; damaged files are refused."""

import sys
from dataclasses import asdict

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treelab
from treelab.trees.adapters import Forest
from treelab.trees.tree import Tree

OBJECTIVES = (
    *("regression", "regression_l1", "huber", "fair", "quantile", "mape"),
    *("poisson", "gamma", "tweedie", "cross_entropy", "binary", "multiclass"),
)
MISSING = {"nan": {}, "none": {"use_missing": False}, "zero": {"zero_as_missing": True}}
KINDS = ("numbers", "codes", "text", "whole", "booleans")
CODES = 40


def table(rng: np.random.Generator, n: int, kind: str) -> pd.DataFrame:
    """Numbers with gaps, zeros and ties, and a column of categories."""
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["b"] = X["b"].round(1)
    X["c"] = rng.choice([0, 0, 1, 2.5, -999], n)
    code = rng.integers(0, CODES, n)
    if kind == "codes":
        X["d"] = code
    X = X.mask(rng.random(X.shape) < 0.1)
    if kind == "booleans":
        X["d"] = pd.Categorical(code > 20)
    elif kind in ("text", "whole"):
        names = [i * 7 % 101 if kind == "whole" else f"k{i}" for i in range(CODES)]
        X["d"] = pd.Categorical.from_codes(np.where(X["a"].isna(), -1, code), names)
    return X


def target(X: pd.DataFrame, objective: str) -> np.ndarray:
    """What follows from the columns, as an objective needs it."""
    y = X["a"].fillna(0) + X["c"].isin([0, 1]) * 2.0
    if "d" in X:
        code = X["d"].cat.codes if X["d"].dtype == "category" else X["d"].fillna(0)
        y = y + code % 3
    y = y.to_numpy()
    if objective in ("binary", "cross_entropy"):
        return (y > 1) * (1 if objective == "binary" else 0.8)
    if objective == "multiclass":
        return np.digitize(y, [0.5, 2])
    return np.abs(y) + 0.1


def fitted(X, y, objective: str, *, rounds: int = 5, **settings) -> lightgbm.Booster:
    """A small model."""
    given = {
        "objective": objective,
        "num_leaves": 7,
        "min_data_in_leaf": 2,
        "min_data_per_group": 1,
        "cat_smooth": 1,
        "num_threads": 1,
        "verbose": -1,
        **settings,
    }
    if objective == "multiclass":
        given["num_class"] = 3
    codes = [3] if isinstance(X, np.ndarray) and X.shape[1] == 4 else "auto"
    data = lightgbm.Dataset(X, y, categorical_feature=codes, params=given)
    return lightgbm.train(given, data, rounds)


def new_rows(rng: np.random.Generator, X: pd.DataFrame, kind: str) -> pd.DataFrame:
    """New rows, some at values of training, some near zero, some with new codes."""
    T = table(rng, 200, kind)
    T.loc[:99, "a"] = rng.choice(X["a"], 100)
    T.loc[:3, "c"] = [1e-36, -1e-36, 1e-20, -1e-20]
    if kind == "codes":
        T.loc[:3, "d"] = [99, 1000, -3, 7]
    return T


def check(ours, booster, T, *, exact: bool = True) -> None:
    """Assert that both predict alike, and that sums agree to the last bit."""
    if exact and isinstance(ours, Forest):
        wanted = booster.predict(T, raw_score=True).reshape(len(T), -1)
        assert np.array_equal(ours.decision_function(T), wanted)
    predicted = ours.predict(T) if ours.classes is None else ours.predict_proba(T)
    if ours.task == "binary":
        predicted = predicted[:, 1]
    assert predicted == pytest.approx(booster.predict(T), rel=1e-12, abs=1e-12)


def written(model: Tree | Forest) -> str:
    """All that a model holds, to its last bit."""
    with np.printoptions(floatmode="unique", threshold=sys.maxsize):
        return repr(asdict(model))


def random_model(seed: int, folder) -> None:
    """Check a model of a random kind, from the object and from its file."""
    rng = np.random.default_rng(seed)
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    kind = KINDS[seed % len(KINDS)]
    boosting = str(rng.choice(["gbdt", "dart", "rf"]))
    settings = {
        **MISSING[str(rng.choice(list(MISSING)))],
        "boosting": boosting,
        "seed": seed,
        "extra_trees": bool(seed % 2),
        "num_leaves": int(rng.integers(2, 12)),
        "max_cat_to_onehot": int(rng.integers(1, 6)),
    }
    if boosting == "rf":
        settings |= {"bagging_freq": 1, "bagging_fraction": 0.7}
    sigmoid = float(rng.choice([1.0, 1.7])) if objective == "binary" else 1.0
    if sigmoid != 1:
        settings["sigmoid"] = sigmoid
    X = table(rng, int(rng.integers(40, 200)), kind)
    T = new_rows(rng, X, kind)
    y = target(X, objective)
    if kind == "codes":
        X, T = X.to_numpy(), T.to_numpy()
    rounds = int(rng.integers(1, 9))
    booster = fitted(X, y, objective, rounds=rounds, **settings)
    booster.save_model(folder / "model.txt")
    ours = treelab.from_lightgbm(booster)
    check(ours, booster, T, exact=boosting != "rf" and sigmoid == 1)
    read = treelab.from_lightgbm(folder / "model.txt")
    assert written(read) == written(ours)


@pytest.mark.parametrize("seed", range(60))
def test_random_models_predict_alike(seed, tmp_path):
    random_model(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 1060, 100))
def test_a_thousand_random_models_predict_alike(first, tmp_path):
    for seed in range(first, first + 100):
        random_model(seed, tmp_path)


def test_an_estimator_names_its_classes_and_its_best_rounds(tmp_path):
    rng = np.random.default_rng(0)
    X = table(rng, 300, "text")
    y = np.array(["low", "middle", "high"])[target(X, "multiclass")]
    model = lightgbm.LGBMClassifier(n_estimators=50, verbose=-1, min_child_samples=5)
    stop = lightgbm.early_stopping(1, verbose=False)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], callbacks=[stop])
    assert model.best_iteration_ < 50
    ours = treelab.from_lightgbm(model)
    T = table(rng, 200, "text")
    assert ours.classes == ("high", "low", "middle")
    assert len(ours) == 3 * model.best_iteration_
    assert np.array_equal(ours.predict(T), model.predict(T))
    assert ours.predict_proba(T) == pytest.approx(model.predict_proba(T), abs=1e-12)
    model.booster_.save_model(tmp_path / "model.txt")
    named = treelab.from_lightgbm(tmp_path / "model.txt", classes=model.classes_)
    assert np.array_equal(named.predict(T), model.predict(T))


def test_rounds_can_be_named():
    rng = np.random.default_rng(0)
    X = table(rng, 100, "numbers")
    booster = fitted(X, target(X, "regression"), "regression", rounds=6)
    ours = treelab.from_lightgbm(booster, iteration_range=(0, 2))
    wanted = booster.predict(X, num_iteration=2)
    assert ours.predict(X) == pytest.approx(wanted, rel=1e-12)
    one = treelab.from_lightgbm(booster, iteration_range=(0, 1))
    assert isinstance(one, Tree)
    assert one.n_rows[0] == len(X)
    assert one.predict(X) == pytest.approx(booster.predict(X, num_iteration=1))
    with pytest.raises(ValueError, match="6 rounds"):
        treelab.from_lightgbm(booster, iteration_range=(0, 7))


def test_categories_with_an_order_have_to_be_given():
    rng = np.random.default_rng(0)
    X = table(rng, 200, "text")
    names = list(X["d"].cat.categories)
    X["d"] = X["d"].cat.as_ordered()
    booster = fitted(X, X["d"].cat.codes.to_numpy() > 20, "regression")
    with pytest.raises(ValueError, match="whose they are is not known"):
        treelab.from_lightgbm(booster)
    ours = treelab.from_lightgbm(booster, categories={"d": names})
    assert any(f.kind == "category" for f in ours.features)
    check(ours, booster, X)


def test_columns_that_are_not_named_keep_the_categories_of_the_file():
    rng = np.random.default_rng(0)
    X = table(rng, 200, "text")
    X["e"] = pd.Categorical(rng.choice(["x", "y", "z"], 200))
    y = X["d"].cat.codes.to_numpy() % 2 + 2 * X["e"].cat.codes.to_numpy()
    booster = fitted(X, y, "regression")
    named = {"d": list(X["d"].cat.categories)}
    check(treelab.from_lightgbm(booster, categories=named), booster, X)


def test_fewer_names_than_categories_are_refused():
    X = table(np.random.default_rng(0), 200, "text")
    booster = fitted(X, X["d"].cat.codes.to_numpy() > 20, "regression")
    with pytest.raises(ValueError, match="of which 3 have names"):
        treelab.from_lightgbm(booster, categories={"d": ["red", "green", "blue"]})


def test_a_note_says_where_the_columns_of_categories_are_guessed():
    rng = np.random.default_rng(0)
    X = table(rng, 200, "text")
    y = target(X, "regression")
    assert treelab.from_lightgbm(fitted(X, y, "regression")).notes == ()
    X["e"] = np.arange(200) % 3
    (note,) = treelab.from_lightgbm(fitted(X, y, "regression")).notes
    assert "taken for those of 'd'" in note


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"objective": "multiclassova", "num_class": 3}, "objective 'multiclassova"),
        ({"objective": "lambdarank"}, "'lambdarank'"),
        ({"objective": "regression", "reg_sqrt": True}, "'regression sqrt'"),
        ({"objective": "regression", "linear_tree": True}, "linear trees"),
        ({"objective": lambda f, d: (f - d.get_label(), f + 1)}, "'custom'"),
    ],
)
def test_what_is_not_read_is_refused_in_a_sentence(settings, sentence):
    rng = np.random.default_rng(0)
    X = table(rng, 120, "numbers")
    y = target(X, "multiclass")
    data = lightgbm.Dataset(X, y, group=[120], params=settings)
    booster = lightgbm.train({"verbose": -1, **settings}, data, 2)
    with pytest.raises(ValueError, match=sentence):
        treelab.from_lightgbm(booster)


def test_a_pipeline_is_refused_with_what_to_pass():
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1)
    whole = make_pipeline(StandardScaler(), model).fit(X, y)
    with pytest.raises(ValueError, match=r"Pass that step, pipeline\[-1\]"):
        treelab.from_lightgbm(whole)


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_whatever_stands_in_a_file_it_is_read_or_refused(kind):
    rng = np.random.default_rng(0)
    X = table(rng, 150, kind)
    text = fitted(X, target(X, "multiclass"), "multiclass", rounds=1).model_to_string()
    lines, sentences = text.split("\n"), []
    values = ("", "x", "nan", "-1", "-2147483648", "99999999", "1e300", "1 " * 50)
    fields = [i for i, line in enumerate(lines) if "=" in line and line[0] != "["]
    for i in fields:
        name, _, old = lines[i].partition("=")
        for value in values:
            new = " ".join([*old.split()[:-1], value])
            damaged = "\n".join([*lines[:i], f"{name}={new}", *lines[i + 1 :]])
            try:
                treelab.from_lightgbm(damaged.encode())
            except ValueError as error:
                sentences.append(str(error))
    assert len(sentences) > 100
    assert all(sentence.endswith(".") for sentence in sentences)


def test_files_of_anything_else_are_refused(tmp_path):
    (tmp_path / "model.txt").write_text("trees grow here")
    for stored in (tmp_path / "model.txt", b"\x80\x04binary", b"", 7):
        with pytest.raises(ValueError, match=r"LightGBM|no tree"):
            treelab.from_lightgbm(stored)
