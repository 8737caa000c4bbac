"""Shrunk probabilities against plain recursion, and a class that is kept apart."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.code.evaluators import pmml_predictions, run_onnx
from tests.trees.code.run import (
    c_predictions,
    needs_gcc,
    python_predictions,
    sql_predictions,
)
from tests.trees.make import make_table, make_tree, shrunk_by_hand
from treelab.trees.code import to_python
from treelab.trees.feature import Feature
from treelab.trees.pruning import cut_at, merge_equal
from treelab.trees.shrinkage import shrunk_fractions, with_shrunk_values
from treelab.trees.text import likelier_text, prediction_text, to_rules
from treelab.trees.tree import Tree

SEEDS = st.integers(0, 2**32 - 1)
STRENGTHS = st.sampled_from([0.0, 0.5, 3.0, 1e6])


def shrunk_tree(rng, n_leaves: int = 8, strength: float = 3.0):
    """A random tree whose probabilities are shrunk, its classes drawn; and its rows."""
    table = make_table(rng, 200)
    tree = make_tree(rng, n_leaves)
    y = rng.choice(np.array(tree.classes, dtype=object), len(table), p=[0.6, 0.3, 0.1])
    return with_shrunk_values(tree.with_rows(table, y), strength), table, y


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 30), strength=STRENGTHS)
def test_every_node_has_the_probabilities_of_the_recursion(seed, n_leaves, strength):
    tree, _, _ = shrunk_tree(np.random.default_rng(seed), n_leaves, strength)
    for node in np.flatnonzero(tree.n_rows > 0):
        assert tree.value[node] == pytest.approx(shrunk_by_hand(tree, node))
    for node in np.flatnonzero(tree.n_rows == 0):
        assert tree.value[node] == pytest.approx(tree.value[tree.parent[node]])
    assert tree.value.sum(axis=1) == pytest.approx(1)


def test_no_strength_leaves_fractions_and_much_gives_all_nodes_those_of_the_root():
    tree, _, _ = shrunk_tree(np.random.default_rng(0))
    counts = tree.class_counts
    plain = shrunk_fractions(tree, counts, 0.0)
    some = tree.n_rows > 0
    fractions = counts[some] / counts[some].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(plain[some], fractions)
    much = shrunk_fractions(tree, counts, 1e12)
    np.testing.assert_allclose(much, np.tile(plain[0], (tree.n_nodes, 1)), atol=1e-8)


@settings(max_examples=30)
@given(seed=SEEDS, strength=STRENGTHS)
def test_classes_stay_whatever_the_strength_the_rows_and_the_pruning(seed, strength):
    rng = np.random.default_rng(seed)
    table = make_table(rng, 100)
    before = make_tree(rng, 12)
    y = rng.choice(np.array(before.classes, dtype=object), len(table))
    before = before.with_rows(table, y)
    tree = with_shrunk_values(before, strength)
    assert (tree.predict(table) == before.predict(table)).all()
    others = make_table(rng, 50)
    labels = rng.choice(np.array(tree.classes, dtype=object), len(others))
    seen = tree.with_rows(others, labels)
    assert (seen.value == tree.value).all()
    assert (seen.predict(table) == before.predict(table)).all()
    merged = merge_equal(tree, same_class=True)
    assert (merged.predict(table) == before.predict(table)).all()
    cut = rng.random(tree.n_nodes) < 0.3
    small, plain = cut_at(tree, cut), cut_at(before, cut)
    assert (small.predict(table) == plain.predict(table)).all()


def test_a_leaf_says_its_class_and_a_likelier_one():
    tree = Tree.complete(
        make_tree(np.random.default_rng(0)).features,
        [0],
        [0.0],
        [True],
        [[0.69, 0.31], [0.2, 0.8]],
        classes=("good", "bad"),
    )
    assert prediction_text(tree, 1) == "good (0.69)"
    tree = replace(tree, decision=np.array([1, 1, 1]))
    assert prediction_text(tree, 1) == "bad (0.31; good 0.69)"
    assert prediction_text(tree, 2) == "bad (0.80)"
    rules = to_rules(tree).set_index("leaf")
    assert rules.loc[1, "prediction"] == "bad"
    assert rules.loc[1, "confidence"] == 0.31


def test_a_likelier_class_counts_less_only_where_weights_say_so():
    # Leaves of 10 and 9, 1 and 80 rows: the root's rows outweigh the first leaf's own.
    x = pd.DataFrame({"x": np.repeat([0.0, 1.0], [19, 81])})
    y = np.repeat(["a", "b", "a", "b"], [10, 9, 1, 80]).astype(object)
    stump = Tree.complete(
        (Feature("x"),), [0], [0.5], [True], [[1, 0], [0, 1]], classes=("a", "b")
    ).with_rows(x, y)
    tree = with_shrunk_values(stump, 50.0)
    assert likelier_text(tree, x).endswith(", by the nodes above")
    assert likelier_text(tree, x[::-1]) == ""
    weighted = replace(stump, decision=np.array([0, 0, 0]), class_weights=[9.0, 0.1])
    assert likelier_text(weighted, x[::-1]).endswith(", counts less")
    assert likelier_text(with_shrunk_values(weighted, 0.1), x[::-1]).endswith("less")


def test_it_is_saved_and_a_file_of_before_predicts_as_before(tmp_path):
    tree, table, _ = shrunk_tree(np.random.default_rng(1), strength=1e5)
    assert tree.decision is not None
    tree = replace(tree, class_weights=np.array([1.0, 2.0, 4.0]))
    again = Tree.from_dict(tree.to_dict())
    assert again.shrinkage == tree.shrinkage
    assert (again.decision == tree.decision).all()
    assert (again.class_weights == tree.class_weights).all()
    assert (again.predict(table) == tree.predict(table)).all()
    old = make_tree(np.random.default_rng(2))
    stored = old.to_dict()
    for name in ("decision", "class_weights", "shrinkage"):
        stored = without(stored, name)
    assert (Tree.from_dict(stored).predict(table) == old.predict(table)).all()


def without(stored, name: str):
    """A stored tree without a name, wherever it stands."""
    if not isinstance(stored, dict):
        return stored
    return {key: without(own, name) for key, own in stored.items() if key != name}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"decision": np.full(15, 3)}, "places of the 3 classes"),
        ({"decision": np.zeros(2)}, "must have the shape"),
        ({"class_weights": np.ones(2)}, "must hold 3 numbers"),
        ({"class_weights": np.array([1, -1, 1])}, "at least 0"),
        ({"shrinkage": -1.0}, "at least 0"),
    ],
)
def test_nonsense_is_refused(wrong, words):
    tree = make_tree(np.random.default_rng(0), 8)
    with pytest.raises(ValueError, match=words):
        replace(tree, **wrong)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_language_gives_the_class_and_the_probabilities(seed, tmp_path):
    tree, table, _ = shrunk_tree(np.random.default_rng(seed), strength=100.0)
    assert tree.decision is not None
    expected = tree.predict(table).tolist()
    most = tree.predict_proba(table).argmax(axis=1)
    assert expected != [tree.classes[k] for k in most]
    assert python_predictions(tree, table) == expected
    names = {}
    exec(to_python(tree), names)
    rows = table.to_dict("records")
    found = [names["predict_proba"](row) for row in rows]
    assert (np.array(found) == tree.predict_proba(table)).all()
    assert sql_predictions(tree, table) == expected
    assert pmml_predictions(tree, table) == expected
    outputs = run_onnx(tree, table)
    assert outputs["label"].tolist() == expected
    assert (outputs["probabilities"] == tree.predict_proba(table)).all()


@needs_gcc
def test_c_gives_the_class(tmp_path):
    tree, table, _ = shrunk_tree(np.random.default_rng(0), strength=100.0)
    expected = [str(label) for label in tree.predict(table)]
    assert c_predictions(tree, table, tmp_path) == expected
