"""ONNX and PMML predict as the tree does, on every row."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.trees.code.evaluators import pmml_predictions, run_onnx
from tests.trees.code.run import check_all
from tests.trees.code.test_code import KINDS, stump
from tests.trees.make import make_table, make_tree
from treelab.trees.code import to_onnx, to_pmml
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def check_exchange(tree, table: pd.DataFrame) -> None:
    """Assert that ONNX and PMML predict as the tree does, to the last bit."""
    found, wanted = run_onnx(tree, table), tree.predict(table).tolist()
    if tree.classes is None:
        assert found["value"][:, 0].tolist() == wanted
    else:
        assert found["label"].tolist() == wanted
        assert found["probabilities"].tolist() == tree.predict_proba(table).tolist()
    if tree.leaf_weights is None:
        assert pmml_predictions(tree, table) == wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_predict_alike(kind, seed):
    rng = np.random.default_rng(seed)
    check_exchange(make_tree(rng, 14, **KINDS[kind]), make_table(rng, 200))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_rows_predict_alike_in_every_language(kind, tmp_path):
    rng = np.random.default_rng(11)
    tree, table = make_tree(rng, 60, **KINDS[kind]), make_table(rng, 10_000)
    check_all(tree, table, tmp_path)
    check_exchange(tree, table)


def test_labels_that_are_whole_numbers_stay_numbers_in_onnx():
    tree = stump(Feature("a"), labels=(3, 7))
    table = pd.DataFrame({"a": [0.0, 1.0, np.nan]})
    assert run_onnx(tree, table)["label"].tolist() == tree.predict(table).tolist()


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("threshold", [-2000.0, 0.5])
def test_numbers_that_count_as_missing_do_so_in_every_language(
    missing_left, threshold, tmp_path
):
    marked = Feature("a b", missing_range=(-999.5, -999))
    tree = stump(marked, threshold, missing_left=[missing_left] * 3)
    ends = [-999.5, np.nextafter(-999.5, -1e4), -999, np.nextafter(-999, 0), -999.2]
    table = pd.DataFrame({"a b": [*ends, np.nan, 0, 1, -3000]})
    assert tree.predict(table)[0] == tree.predict(table)[5]
    check_all(tree, table, tmp_path)
    assert run_onnx(tree, table)["label"].tolist() == tree.predict(table).tolist()
    with pytest.raises(ValueError, match="count as missing, which treelab does not"):
        to_pmml(tree)
    tree.save(tmp_path / "model")
    (stored,) = Tree.load(tmp_path / "model").features
    assert stored.reading == marked.reading


@pytest.mark.parametrize("name", ["label", "probabilities", "_Gather_1", "a b & <c>"])
def test_any_name_of_a_column_will_do(name):
    tree = stump(Feature(name))
    table = pd.DataFrame({name: [0.0, 1.0, np.nan]})
    wanted = tree.predict(table).tolist()
    outputs = list(run_onnx(tree, table).values())
    assert outputs[0].tolist() == wanted
    assert pmml_predictions(tree, table) == wanted


def test_categories_with_quotes_and_spaces_are_told_apart():
    names = ('a "b"', "a b", "\\", "<&>", "'")
    job = Feature("job", "category", categories=names, scores=(0, 1, 0, 1, 0))
    tree, table = stump(job), pd.DataFrame({"job": [*names, None, "new"]})
    check_exchange(tree, table)


def test_without_a_number_for_a_missing_value_there_is_no_prediction():
    tree = Tree.complete(
        [Feature("a"), Feature("b", fill=1.0)],
        None,
        [0.5],
        [False],
        [[1.0], [2.0]],
        weights=[[1.0, 1.0]],
    )
    table = pd.DataFrame({"a": [-1.0, np.nan, 1.0], "b": [np.nan, 0.0, 0.0]})
    with pytest.raises(ValueError, match="'a' has missing values"):
        tree.predict(table)
    assert pmml_predictions(tree, table) == [1.0, None, 2.0]
    value = run_onnx(tree, table)["value"][:, 0]
    assert np.array_equal(value, [1.0, np.nan, 2.0], equal_nan=True)


def test_what_they_cannot_say_is_refused_in_a_sentence():
    linear = make_tree(np.random.default_rng(0), 3, n_classes=0, linear=True)
    with pytest.raises(ValueError, match="no tree with linear leaves"):
        to_pmml(linear)
    with pytest.raises(ValueError, match="ONNX needs a column to read"):
        to_onnx(Tree.complete([], [], [], [], [[1.0]]))
    with pytest.raises(ValueError, match="without letters"):
        to_onnx(stump(Feature("a", "category", categories=("",), scores=(0,))))
    with pytest.raises(ValueError, match="names a column once"):
        to_pmml(replace(stump(Feature("a")), target="a"))
    with pytest.raises(ValueError, match="XML cannot hold"):
        to_pmml(stump(Feature("\x01")))


def test_without_onnx_the_export_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"Install it with pip install onnx"):
        to_onnx(stump(Feature("a")))
