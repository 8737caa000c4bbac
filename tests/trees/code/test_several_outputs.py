"""Trees of several outputs in code and in words."""

from dataclasses import replace

import numpy as np
import pytest

from tests.trees.code.evaluators import run_onnx
from tests.trees.code.run import c_predictions, python_predictions, sql_predictions
from tests.trees.make import make_table, make_tree
from treelab.evaluation.counterfactuals import (
    Changes,
    KnownValues,
    Wanted,
    tree_counterfactuals,
)
from treelab.evaluation.node_report import node_report
from treelab.trees.code import to_c, to_pmml, to_python
from treelab.trees.dot import to_dot
from treelab.trees.losses import Loss
from treelab.trees.pruning import prune_to_size, simplify
from treelab.trees.text import number_text, to_rules, to_text
from treelab.trees.tree import Tree

NAMES = ("width", 'say "hi"')


def tree_of_two(seed: int, **more) -> Tree:
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 12, n_classes=0, **more)
    value = rng.normal(size=(tree.n_nodes, 2)) * [1, 1000]
    return replace(tree, value=value, outputs=NAMES)


@pytest.mark.parametrize("seed", range(4))
def test_python_sql_and_onnx_predict_every_output(seed):
    tree = tree_of_two(seed, oblique=0.3)
    table = make_table(np.random.default_rng(seed), 200)
    wanted = tree.predict(table)
    assert wanted.shape == (200, 2)
    np.testing.assert_array_equal(python_predictions(tree, table), wanted)
    np.testing.assert_array_equal(sql_predictions(tree, table), wanted)
    np.testing.assert_array_equal(run_onnx(tree, table)["value"], wanted)
    assert f"OUTPUTS = {NAMES!r}" in to_python(tree)


def test_c_and_pmml_say_that_they_write_one_output(tmp_path):
    tree, table = tree_of_two(0), make_table(np.random.default_rng(0), 50)
    for write in (to_c, to_pmml):
        with pytest.raises(ValueError, match="predicts one number"):
            write(tree)
    one = tree.of_output('say "hi"')
    wanted = tree.predict(table)[:, 1].tolist()
    assert c_predictions(one, table, tmp_path) == wanted
    assert "say &quot;hi&quot;" in to_pmml(one)


def test_words_name_each_output_with_its_number():
    tree = tree_of_two(1)
    leaf = int(np.flatnonzero(tree.is_leaf)[0])
    words = number_text(tree, leaf)
    names = [part.rpartition(": ")[0] for part in words.split("; ")]
    shown = [
        float(part.rpartition(" ")[2].replace("−", "-").replace(",", ""))
        for part in words.split("; ")
    ]
    assert names == [*NAMES]
    assert (abs(shown - tree.value[leaf]) <= np.ptp(tree.value, axis=0) / 200).all()
    assert words in to_text(tree)
    rules = to_rules(tree)
    for j, name in enumerate(NAMES):
        own = rules[f"prediction of {name}"].to_numpy()
        assert (own == tree.value[rules["leaf"], j]).all()
    assert "say &#34;hi&#34;" in to_dot(tree)


def test_siblings_are_merged_only_where_every_output_is_equal():
    tree = tree_of_two(2)
    value = np.zeros_like(tree.value)
    assert simplify(replace(tree, value=value)).n_leaves == 1
    value[:, 1] = 1e6
    value[tree.is_leaf, 0] = 1e-9 * np.arange(tree.n_leaves)  # small in its own unit
    assert simplify(replace(tree, value=value)).n_leaves > 1


def test_what_is_of_one_prediction_refuses_several():
    tree, table = tree_of_two(3), make_table(np.random.default_rng(3), 20)
    with pytest.raises(ValueError, match=r"Take tree\.of_output\('width'\)"):
        node_report(tree, 0, {"train": (table, np.zeros((20, 2)))})
    changes = Changes(table.iloc[[0]], KnownValues(table))
    with pytest.raises(ValueError, match="This is of one prediction"):
        tree_counterfactuals(tree, changes, Wanted(low=0.0))
    with pytest.raises(ValueError, match="not 'depth'"):
        tree.of_output("depth")


def test_a_tree_refuses_outputs_that_make_no_sense():
    tree = tree_of_two(3)
    for outputs in ((), ("one",), ("one", "one"), ("one", "two", "three")):
        with pytest.raises(ValueError, match="outputs"):
            replace(tree, outputs=outputs)
    levels = Loss("quantile", (0.1, 0.9))
    with pytest.raises(ValueError, match="must not fall"):
        replace(tree, loss=levels, value=-np.abs(tree.value).cumsum(axis=1))
    assert replace(tree, loss=levels, value=np.abs(tree.value).cumsum(axis=1)).levels


def test_prunings_keep_their_outputs():
    tree, table = tree_of_two(4), make_table(np.random.default_rng(4), 100)
    target = np.random.default_rng(5).normal(size=(100, 2)) * [1, 1000]
    counted = simplify(tree).with_rows(table, target)
    pruned = prune_to_size(counted, 3)
    assert pruned.outputs == NAMES
    np.testing.assert_allclose(counted.value[0], target.mean(axis=0))
    variance = np.mean((target - target.mean(axis=0)) ** 2, axis=0)
    rows = counted.decision_path(table)[:, 1]
    own = target[rows] - target[rows].mean(axis=0)
    expected = ((own**2).mean(axis=0) / variance).mean()
    assert np.isclose(counted.impurity[1], expected)
