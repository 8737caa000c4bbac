"""Each export but SQL predicts as the model does on NaN, None, infinity, and so on.

``test_engines.py`` does the same for SQL.
"""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treelab
from tests.trees.code.edges import INF, NAN, edge_rows
from tests.trees.code.evaluators import pmml_predictions, run_onnx
from tests.trees.code.run import (
    c_predictions,
    needs_gcc,
    python_predictions,
    sql_predictions,
)
from tests.trees.code.test_code import AWKWARD, KINDS, stump
from tests.trees.code.test_ensembles import KINDS as ENSEMBLES
from tests.trees.code.test_ensembles import (
    check_c,
    check_onnx,
    check_python,
    make_ensemble,
    with_one_weight_a_tree,
)
from tests.trees.make import make_tree
from treelab.trees.cells import CellForm
from treelab.trees.code import to_onnx
from treelab.trees.feature import Feature
from treelab.trees.tree import OBLIQUE, Tree

onnxruntime = pytest.importorskip("onnxruntime")
# Infinity minus infinity, which the tree computes as well.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
AXIS_KINDS = [kind for kind in KINDS if kind not in ("oblique", "linear leaves")]


def equal(found, wanted: np.ndarray) -> bool:
    """Whether all predictions are equal to the last bit; NaN is equal to NaN."""
    if wanted.dtype.kind != "f":
        return list(found) == wanted.tolist()
    return np.array_equal(np.array(found, dtype=float), wanted, equal_nan=True)


def example(kind: str, seed: int, **changes) -> tuple[Tree, pd.DataFrame]:
    """A random tree and rows on the edges of it."""
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 16, **KINDS[kind], infinite=0.1)
    return tree, edge_rows(tree, rng, **changes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_python_and_onnx_predict_alike(kind, seed):
    tree, table = example(kind, seed)
    wanted = tree.predict(table)
    assert equal(python_predictions(tree, table), wanted)
    found = run_onnx(tree, table)
    if tree.classes is None:
        assert equal(found["value"][:, 0], wanted)
    else:
        assert found["label"].tolist() == wanted.tolist()
        assert equal(found["probabilities"], tree.predict_proba(table))


@needs_gcc
@pytest.mark.parametrize("kind", KINDS)
def test_c_predicts_alike(kind, tmp_path):
    tree, table = example(kind, 7)
    assert equal(c_predictions(tree, table, tmp_path), tree.predict(table))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_file_of_a_model_predicts_alike(kind, seed, tmp_path):
    tree, table = example(kind, seed)
    written = json.dumps(tree.to_dict(), allow_nan=False)
    (tmp_path / "tree.json").write_text(written, "utf-8")
    for path in (tmp_path / "tree", tmp_path / "one.treelab"):
        tree.save(path)
    for name in ("tree.json", "tree", "one.treelab"):
        again = treelab.load(tmp_path / name)
        assert equal(again.predict(table), tree.predict(table))


@pytest.mark.parametrize("kind", [*AXIS_KINDS, "oblique"])
@pytest.mark.parametrize("seed", range(4))
def test_pmml_predicts_alike(kind, seed, jpmml):
    # A sum that is infinity minus infinity is an error to this evaluator.
    tree, table = example(kind, seed, infinite=kind != "oblique")
    wanted, found = tree.predict(table), jpmml(tree, table)
    assert "errors" not in found
    assert equal(found["answer"], wanted)
    assert equal(pmml_predictions(tree, table), wanted)
    if tree.classes is not None:
        columns = [f"probability({label})" for label in tree.classes]
        proba = tree.predict_proba(table)  # the evaluator scales them to a sum of 1
        np.testing.assert_allclose(found[columns], proba, rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*AXIS_KINDS, "oblique"])
def test_a_hundred_trees_more_predict_alike(kind, jpmml):
    for seed in range(100, 200):
        tree, table = example(kind, seed, infinite=kind != "oblique")
        wanted = tree.predict(table)
        assert equal(jpmml(tree, table)["answer"], wanted), seed
        assert equal(python_predictions(tree, table), wanted), seed
        found = run_onnx(tree, table)
        first = found["label"] if tree.classes else found["value"][:, 0]
        assert equal(first, wanted), seed


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("threshold", [-INF, -1.5, 0.1, 2.0**53, INF])
def test_a_column_that_is_absent_or_nan_is_missing_in_pmml(
    threshold, missing_left, jpmml
):
    tree = stump(Feature("x"), threshold, missing_left=[missing_left] * 3)
    cells = [NAN, None, INF, -INF, 0.1, 1e308, 2.0**53, 2.0**53 + 2, -1.5]
    table = pd.DataFrame({"x": cells}, dtype=object)
    assert equal(jpmml(tree, table)["target"], tree.predict(table))


@pytest.mark.parametrize("oblique", [False, True])
def test_names_and_categories_of_any_letters_in_pmml(oblique, jpmml):
    odd = (" lead", "trail ", "a\tb", "a\rb", "c\r\nd", "\\", 'x\\"y', "1.0", "01")
    categories = [*AWKWARD, *odd]
    scores = [float(i % 2) for i in range(len(categories))]
    sums = {"feature": [-2, -1, -1], "weights": [[1.0], [0.0], [0.0]]}
    for name in filter(None, categories):
        for listed in (categories, [name, "b"]):
            job = Feature(name, "category", "", 1.0, listed, scores[: len(listed)], 1.0)
            tree = stump(job, **(sums if oblique else {}))
            table = pd.DataFrame({name: [*categories, "b", "new", None]}, dtype=object)
            found = jpmml(tree, table)
            assert equal(found["target"], tree.predict(table))


def test_pmml_makes_no_prediction_where_nothing_stands_for_a_missing_value(jpmml):
    tree = stump(Feature("x"), feature=[-2, -1, -1], weights=[[2.0], [0.0], [0.0]])
    table = pd.DataFrame({"x": [0.0, 3.0, NAN, None]}, dtype=object)
    found = jpmml(tree, table)["target"]
    assert found.isna().tolist() == [False, False, True, True]
    assert found[:2].tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", ["numbers", "probabilities"])
def test_pmml_of_an_ensemble_predicts_alike(kind, jpmml):
    rng = np.random.default_rng(len(kind))
    model = with_one_weight_a_tree(make_ensemble(rng, kind, "softmax", n_trees=9))
    # Drawn trees have no split at minus infinity, which only that number passes.
    changes = {"numbers": ("age", "pay"), "jobs": ("cook", "clerk", "x")}
    table = edge_rows(model, rng, **changes, infinite=False)
    found = jpmml(model, table)
    assert "errors" not in found
    if kind == "numbers":
        wanted = model.predict(table)
        np.testing.assert_allclose(found["target"], wanted, rtol=0, atol=1e-12)
        return
    assert equal(found["target"], model.predict(table))
    columns = [f"probability({label})" for label in model.classes]
    proba = model.predict_proba(table)
    np.testing.assert_allclose(found[columns], proba, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ENSEMBLES)
@pytest.mark.parametrize("weighting", ["softmax", "entmax15"])
def test_an_ensemble_predicts_alike_in_onnx_and_python(kind, weighting):
    rng = np.random.default_rng(len(kind))
    model = make_ensemble(rng, kind, weighting)
    table = edge_rows(model, rng, numbers=("age", "pay"), jobs=("cook", "clerk", "x"))
    check_onnx(model, table)
    check_python(model, table)


@needs_gcc
@pytest.mark.parametrize("kind", ENSEMBLES)
def test_an_ensemble_predicts_alike_in_c(kind, tmp_path):
    rng = np.random.default_rng(len(kind))
    model = make_ensemble(rng, kind, "softmax")
    table = edge_rows(model, rng, numbers=("age", "pay"), jobs=("cook", "clerk", "x"))
    check_c(model, table, tmp_path)


def test_onnx_refuses_single_precision_in_place_of_rounding():
    tree = stump(Feature("x"), 0.1)
    session = onnxruntime.InferenceSession(to_onnx(tree))
    cells = np.array([[0.1], [NAN]], dtype=np.float32)
    with pytest.raises(Exception, match=r"expected: \(tensor\(double\)\)"):
        session.run(None, {"x": cells})
    label = session.run(None, {"x": cells.astype(float)})[0]
    assert label.tolist() == tree.predict(pd.DataFrame({"x": cells[:, 0]})).tolist()


@pytest.mark.parametrize("cell", [None, NAN, np.float32("nan"), pd.NA, pd.NaT])
def test_python_takes_any_missing_value(cell):
    for missing_left in (False, True):
        tree = stump(Feature("x"), missing_left=[missing_left] * 3)
        table = pd.DataFrame({"x": [cell, 0.0]}, dtype=object)
        assert python_predictions(tree, table) == tree.predict(table).tolist()
        kind = Feature("x", "category", categories=("a",), scores=(0.0,), unseen=0.0)
        tree = replace(tree, features=[kind])
        table = pd.DataFrame({"x": [cell, "a", "b"]}, dtype=object)
        assert python_predictions(tree, table) == tree.predict(table).tolist()


@needs_gcc
@pytest.mark.parametrize(
    "levels", [("FALSE", "TRUE"), ("true", "false"), ("true", "not known", "false")]
)
def test_true_and_false_are_known_however_they_are_spelt(levels, tmp_path):
    scores = range(len(levels))
    flag = Feature("x", "category", "", 0, levels, scores, unseen=len(levels))
    tree = stump(flag, 0.5)
    table = pd.DataFrame({"x": ["True", "false", "TRUE", "true", "False", "no"]})
    wanted = tree.predict(table)
    assert equal(python_predictions(tree, table), wanted)
    assert equal(c_predictions(tree, table, tmp_path), wanted)
    assert equal(run_onnx(tree, table)["label"], wanted)
    flags = pd.DataFrame({"x": [True, False]})
    assert equal(python_predictions(tree, flags), tree.predict(flags))


@pytest.mark.parametrize("weights", [None, [[1.0], [0.0], [0.0]]])
def test_python_knows_numbers_as_the_categories_that_mean_them(weights):
    levels = ("01234", "1e3", "7.1", "7.10", "56789")
    code = Feature("x", "category", "", 9, levels, range(5), unseen=9)
    cells = [1234, 1234.0, 1000, 7.1, 56789, 5]
    table = pd.DataFrame({"x": pd.Series([*cells, *levels], dtype=object)})
    for threshold in (0.5, 1.5, 2.5, 3.5):
        feature = [-2 if weights else 0, -1, -1]
        tree = stump(code, threshold, feature=feature, weights=weights)
        assert equal(python_predictions(tree, table), tree.predict(table))


@needs_gcc
@pytest.mark.parametrize("levels", [("a", "b"), ("1", "2"), ("False", "True")])
def test_text_that_counts_as_missing_in_the_table_does_so_in_code(
    levels, tmp_path, jpmml
):
    marks = ("", "NA", "refused")
    form = CellForm("category", marks, held=marks)
    column = Feature("x", "category", "", 1, levels, (0, 1), unseen=0, form=form)
    tree = stump(column, 0.5)
    table = pd.DataFrame({"x": [*marks, *levels, "new", None]})
    wanted = tree.predict(table)
    assert wanted[0] == wanted[-1] != wanted[-2]
    summed = replace(
        tree, feature=[OBLIQUE, -1, -1], weights=np.array([[1.0], [0], [0]])
    )
    for model in (tree, summed):
        assert equal(python_predictions(model, table), wanted)
        assert equal(c_predictions(model, table, tmp_path), wanted)
        assert equal(run_onnx(model, table)["label"], wanted)
        assert equal(jpmml(model, table[:-1])["target"], wanted[:-1])
        if levels != ("1", "2"):  # whose column may be one of numbers
            assert equal(sql_predictions(model, table), wanted)


@needs_gcc
def test_a_number_that_counts_as_missing_in_the_table_does_so_in_code(tmp_path):
    form = CellForm(missing=("", "-999"))
    tree = stump(Feature("a", form=form))
    table = pd.DataFrame({"a": [-999.0, -998.0, NAN, 5.0]})
    wanted = tree.predict(table)
    assert wanted[0] == wanted[2]
    assert equal(python_predictions(tree, table), wanted)
    assert equal(c_predictions(tree, table, tmp_path), wanted)
    tree = stump(Feature("a", form=CellForm(missing=("-999", "-998"))))
    with pytest.raises(ValueError, match=r"2 numbers count as missing, -999 and -998"):
        treelab.to_python(tree)
