"""An ensemble's ONNX, Python and C predict as it does."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from tests.trees.code.evaluators import pmml_predictions, run_onnx
from tests.trees.code.run import GCC, c_predictions, needs_gcc, python_predictions
from treelab.trees.adapters import from_sklearn
from treelab.trees.code import ensemble_languages, to_c, to_pmml, to_python, to_sql
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature

JOBS = ("cook", "baker", "clerk")
FEATURES = (
    Feature("age"),
    Feature("pay", unit="EUR"),
    Feature("job", "category", categories=JOBS, scores=(0.1, 0.7, 0.4), unseen=0.5),
)
KINDS = {
    "two classes": {"classes": ("no", "yes"), "n_outputs": 1},
    "classes": {"classes": (1, 2, 5)},
    "probabilities": {"classes": ("a", "b", "c"), "leaf_output": "probabilities"},
    "numbers": {"n_outputs": 1},
}


def make_ensemble(
    rng, kind: str, weighting: str, n_trees: int = 40, depth: int = 3
) -> WeightedTrees:
    """An ensemble with random splits, infinite thresholds among them, and leaves."""
    choices = dict(KINDS[kind])
    classes = choices.get("classes")
    n_outputs = choices.pop("n_outputs", len(classes or ()))
    n_splits, n_leaves = 2**depth - 1, 2**depth
    feature = rng.integers(3, size=(n_trees, n_splits))
    threshold = rng.uniform(0, 1, size=feature.shape)
    threshold[rng.random(feature.shape) < 0.05] = np.inf
    threshold[rng.random(feature.shape) < 0.05] = -np.inf
    value = rng.normal(0, 2, (n_trees, n_leaves, n_outputs))
    if choices.get("leaf_output") == "probabilities":
        value = rng.dirichlet(np.ones(n_outputs), size=(n_trees, n_leaves))
    return WeightedTrees(
        FEATURES,
        feature,
        threshold,
        rng.random(feature.shape) < 0.5,
        value,
        rng.normal(0, 2, (n_trees, n_leaves)),
        weighting=weighting,
        **choices,
    )


def make_rows(rng, n: int) -> pd.DataFrame:
    """Rows with missing values and categories that no training row had."""
    frame = pd.DataFrame(
        {
            "age": rng.choice(np.linspace(0, 1, 50), n),
            "pay": rng.random(n),
            "job": rng.choice([*JOBS, "new"], n),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


def check_onnx(model: WeightedTrees, table: pd.DataFrame) -> None:
    """Assert that ONNX predicts as the ensemble does."""
    found, wanted = run_onnx(model, table), model.predict(table)
    if model.classes is None:
        np.testing.assert_allclose(found["value"][:, 0], wanted, rtol=0, atol=1e-12)
        return
    proba = model.predict_proba(table)
    np.testing.assert_allclose(found["probabilities"], proba, rtol=0, atol=1e-12)
    assert found["label"].tolist() == wanted.tolist()


def check_python(model: WeightedTrees, table: pd.DataFrame) -> None:
    """Assert that the Python module predicts as the ensemble does."""
    wanted = model.predict(table).tolist()
    found = python_predictions(model, table)
    if model.classes is None:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
        return
    assert found == wanted
    names: dict = {}
    exec(to_python(model), names)
    proba = [names["predict_proba"](row) for row in table[:50].to_dict("records")]
    np.testing.assert_allclose(proba, model.predict_proba(table[:50]), atol=1e-12)


def check_c(model: WeightedTrees, table: pd.DataFrame, folder) -> None:
    """Assert that the compiled C predicts as the ensemble does."""
    wanted, found = model.predict(table).tolist(), c_predictions(model, table, folder)
    if model.classes is None:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    else:
        assert found == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_onnx_and_python_predict_as_the_ensemble_does(kind, weighting):
    rng = np.random.default_rng(len(kind))
    model, table = make_ensemble(rng, kind, weighting), make_rows(rng, 300)
    check_onnx(model, table)
    check_python(model, table)


@pytest.mark.parametrize("max_deciders", [1, 3, 50])
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_they_let_no_more_trees_decide_than_the_ensemble_does(weighting, max_deciders):
    rng = np.random.default_rng(max_deciders)
    model = replace(make_ensemble(rng, "classes", weighting), max_deciders=max_deciders)
    table = make_rows(rng, 100)
    check_onnx(model, table)
    check_python(model, table)


@pytest.mark.parametrize("of_pairs", [False, True])
@pytest.mark.parametrize("kind", ["two classes", "classes", "probabilities"])
def test_weights_of_the_classes_choose_alike_everywhere(kind, of_pairs, tmp_path):
    rng = np.random.default_rng(0)
    model, table = make_ensemble(rng, kind, "entmax15"), make_rows(rng, 300)
    weights = np.geomspace(1, 5, len(model.classes))
    by_class = np.diag(weights) + 0.3 * of_pairs * rng.random((len(weights),) * 2)
    weighted = replace(model, class_weights=by_class if of_pairs else weights)
    chosen = (model.predict_proba(table) @ by_class).argmax(axis=1)
    expected = [model.classes[k] for k in chosen]
    assert weighted.predict(table).tolist() == expected
    assert expected != model.predict(table).tolist()
    assert (weighted.predict_proba(table) == model.predict_proba(table)).all()
    check_onnx(weighted, table)
    check_python(weighted, table)
    if GCC is not None:
        check_c(weighted, table, tmp_path)
    tree = weighted.estimator(0)
    assert (tree.predicted_class == (tree.value @ by_class).argmax(axis=1)).all()


@needs_gcc
@pytest.mark.parametrize("max_deciders", [1, 3, 50])
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_c_lets_no_more_trees_decide_either(weighting, max_deciders, tmp_path):
    rng = np.random.default_rng(max_deciders)
    model = replace(make_ensemble(rng, "numbers", weighting), max_deciders=max_deciders)
    check_c(model, make_rows(rng, 100), tmp_path)


@needs_gcc
@pytest.mark.parametrize("kind", KINDS)
def test_c_predicts_as_the_ensemble_does(kind, tmp_path):
    rng = np.random.default_rng(3)
    weighting = ["softmax", "entmax15"][len(kind) % 2]
    check_c(make_ensemble(rng, kind, weighting), make_rows(rng, 200), tmp_path)


def test_numbers_that_count_as_missing_do_so_in_every_language(tmp_path):
    rng = np.random.default_rng(5)
    model = make_ensemble(rng, "numbers", "softmax")
    marked = tuple(
        replace(f, missing_range=(0.2, 0.4)) if f.kind == "number" else f
        for f in model.features
    )
    model, rows = replace(model, features=marked), make_rows(rng, 200)
    gone = rows.copy()
    for name in ("age", "pay"):
        gone[name] = rows[name].mask(rows[name].between(0.2, 0.4))
    assert np.array_equal(model.predict(rows), model.predict(gone))
    check_python(model, rows)
    check_onnx(model, rows)
    check_c(model, rows, tmp_path)


def test_python_knows_numbers_and_dates_as_the_categories_that_they_are():
    rng = np.random.default_rng(5)
    model = make_ensemble(rng, "numbers", "softmax")
    feature = model.features[-1]
    levels = ("1", "2.5", "3.0", "2020-01-31", "2020-01-31 10:30:00")
    held = replace(
        feature, categories=levels, scores=(0.1, 0.5, 0.9, 0.1, 0.9), rare=()
    )
    model = replace(model, features=(*model.features[:-1], held))
    tree = model.estimator(0)
    moments = [pd.Timestamp("2020-01-31"), datetime(2020, 1, 31, 10, 30)]
    for cells in ([True, 2.5, 3, 1.0, "1", "3"], moments):
        rows = make_rows(rng, len(cells))
        rows["job"] = pd.Series(cells, dtype=object)
        check_python(model, rows)
        wanted = tree.predict(rows).tolist()
        assert python_predictions(tree, rows) == wanted


def test_one_tree_and_no_split_are_an_ensemble_too(tmp_path):
    rng = np.random.default_rng(0)
    table = make_rows(rng, 20)
    check_python(make_ensemble(rng, "classes", "softmax", depth=0), table)
    one = make_ensemble(rng, "numbers", "entmax15", n_trees=1)
    check_onnx(one, table)
    check_python(one, table)


def test_a_forest_of_another_program_is_written_as_it_is_read():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    model = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, X["a"])
    forest = from_sklearn(model)
    check_python(forest, X)
    check_onnx(forest, X)
    check_pmml(forest, X)
    assert to_c(forest) == to_c(forest.to_weighted_trees())
    with pytest.raises(ValueError, match=r"SQL cannot hold this ensemble\. Export"):
        to_sql(forest)


def with_one_weight_a_tree(model: WeightedTrees) -> WeightedTrees:
    """The ensemble with the weight of each tree's first leaf at all of its leaves."""
    weight = np.repeat(model.leaf_weight[:, :1], model.n_leaves, axis=1)
    return replace(model, leaf_weight=weight)


def check_pmml(model: WeightedTrees, table: pd.DataFrame) -> None:
    """Assert that PMML predicts as the ensemble does."""
    wanted, found = model.predict(table), pmml_predictions(model, table)
    if model.classes is None:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    else:
        assert found == wanted.tolist()


@pytest.mark.parametrize("kind", ["numbers", "probabilities"])
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_pmml_holds_an_ensemble_with_one_weight_a_tree(kind, weighting):
    rng = np.random.default_rng(len(kind))
    model = with_one_weight_a_tree(make_ensemble(rng, kind, weighting, n_trees=9))
    assert ensemble_languages(model) == ("python", "c", "pmml")
    check_pmml(model, make_rows(rng, 120))


def test_languages_say_which_ensembles_they_cannot_hold():
    rng = np.random.default_rng(0)
    by_row = make_ensemble(rng, "numbers", "softmax", n_trees=2)
    logits = with_one_weight_a_tree(make_ensemble(rng, "classes", "softmax", 2))
    fixed = with_one_weight_a_tree(by_row)
    assert ensemble_languages(by_row) == ensemble_languages(logits) == ("python", "c")
    by_class = with_one_weight_a_tree(make_ensemble(rng, "probabilities", "softmax", 2))
    by_class = replace(by_class, class_weights=np.arange(len(by_class.classes)))
    cases = [(to_pmml, by_row), (to_pmml, logits), (to_sql, by_row), (to_sql, fixed)]
    cases.append((to_pmml, by_class))
    for write, model in cases:
        with pytest.raises(ValueError, match="cannot hold this ensemble"):
            write(model)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_ten_thousand_rows_predict_alike(kind, weighting, tmp_path):
    rng = np.random.default_rng(7)
    model = make_ensemble(rng, kind, weighting, n_trees=100, depth=5)
    table = make_rows(rng, 10_000)
    check_onnx(model, table)
    check_c(model, table, tmp_path)
    check_python(model, table[:500])  # an interpreter takes its time
    if kind in ("numbers", "probabilities"):
        check_pmml(with_one_weight_a_tree(model), table[:50])
