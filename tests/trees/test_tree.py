import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import cell_value, make_table, make_tree, same_arrays, walk_all
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

SEEDS = st.integers(0, 2**32 - 1)
LEAVES = st.integers(1, 40)


@settings(max_examples=60)
@given(seed=SEEDS, n_leaves=LEAVES, oblique=st.sampled_from([0.0, 0.5, 1.0]))
def test_rows_reach_the_leaf_found_by_walking(seed, n_leaves, oblique):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=oblique)
    table = make_table(rng, 50)
    leaf = tree.apply(table)
    assert leaf.tolist() == walk_all(tree, table)
    assert tree.is_leaf[leaf].all()
    np.testing.assert_array_equal(tree.predict_proba(table), tree.value[leaf])


@settings(max_examples=30)
@given(seed=SEEDS, n_leaves=LEAVES)
def test_no_row_changes_sides_with_the_rows_beside_it(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=0.7)
    table = make_table(rng, 20)
    one_by_one = [tree.apply(table.iloc[[i]])[0] for i in range(len(table))]
    assert tree.apply(table).tolist() == one_by_one


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=LEAVES)
def test_margins_say_the_side_that_rows_take(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=0.4)
    table = make_table(rng, 40)
    margin, passed = tree.margin(table), tree.decision_path(table)
    assert np.isnan(margin[:, tree.is_leaf]).all()
    for node in np.flatnonzero(~tree.is_leaf):
        here = passed[:, node]
        left = margin[here, node] >= 0
        np.testing.assert_array_equal(passed[here, tree.left[node]], left)
        np.testing.assert_array_equal(passed[here, tree.right[node]], ~left)


@settings(max_examples=30)
@given(seed=SEEDS, n_leaves=LEAVES)
def test_paths_lead_from_the_root_to_the_leaf(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves)
    table = make_table(rng, 10)
    passed = tree.decision_path(table)
    for i in range(len(table)):
        path = tree.path(table.iloc[[i]])
        assert path[0] == 0
        assert tree.level[path].tolist() == list(range(len(path)))
        assert sorted(path) == np.flatnonzero(passed[i]).tolist()
    np.testing.assert_array_equal(tree.node_counts(table), passed.sum(axis=0))


@settings(max_examples=30)
@given(seed=SEEDS, n_leaves=LEAVES)
def test_linear_leaves_add_up_filled_columns(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, n_classes=0, linear=True)
    table = make_table(rng, 20)
    expected = []
    for leaf, row in zip(walk_all(tree, table), table.to_dict("records")):
        answer = tree.leaf_bias[leaf, 0]
        for j, feature in enumerate(tree.features):
            x = cell_value(feature, row[feature.column])
            x = feature.fill if np.isnan(x) else x
            answer += tree.leaf_weights[leaf, j] * x
        expected.append(answer)
    np.testing.assert_allclose(tree.predict(table), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "classes",
    [
        ("no", "yes"),
        *((0, 1), (-1.5, 2.5), (False, True), (1, "one")),
        *((0, 2**64 - 1), ("a", "a\0")),  # which arrays of numpy cannot hold
    ],
    ids=str,
)
def test_a_classifier_answers_with_the_callers_own_labels(classes):
    tree = Tree.complete(
        [Feature("x0")], [0], [0.5], [True], np.eye(2), classes=classes
    )
    predicted = tree.predict(np.array([[0.0], [1.0]]))
    assert predicted.tolist() == list(classes)
    assert [type(label) for label in predicted.tolist()] == [type(c) for c in classes]


def test_numpy_labels_become_plain_ones():
    value = np.eye(2)[:1]
    tree = Tree.complete([], [], [], [], value, classes=np.array(["a", "b"]))
    assert [type(c) for c in tree.classes] == [str, str]


def test_a_tree_of_one_leaf_needs_no_column():
    tree = Tree.complete([Feature("a")], [], [], [], [[4.5]])
    assert tree.predict(pd.DataFrame({"other": [1, 2]})).tolist() == [4.5, 4.5]
    assert (tree.depth, tree.n_leaves, tree.n_splits) == (0, 1, 0)
    assert tree.path_to(0) == [0]


def test_only_the_columns_that_are_asked_for_must_be_there():
    features = [Feature("a"), Feature("b")]
    tree = Tree.complete(features, [1], [0.0], [False], [[1.0], [2.0]])
    assert tree.predict(pd.DataFrame({"b": [-1.0, 1.0]})).tolist() == [1, 2]
    assert tree.columns == ("b",)
    with pytest.raises(ValueError, match="no column 'b'"):
        tree.predict(pd.DataFrame({"a": [1.0]}))


def test_a_weighted_sum_refuses_a_missing_value_it_cannot_fill():
    tree = Tree.complete(
        [Feature("a"), Feature("b", fill=1.0)],
        None,
        [0.0],
        [False],
        [[1.0], [2.0]],
        weights=[[1.0, 1.0]],
    )
    assert tree.predict(pd.DataFrame({"a": [-3.0], "b": [np.nan]})).tolist() == [1]
    with pytest.raises(ValueError, match="'a' has missing values"):
        tree.apply(pd.DataFrame({"a": [np.nan], "b": [1.0]}))


def test_nothing_of_a_tree_can_be_changed():
    given_value = np.eye(2)
    tree = Tree.complete(
        [Feature("x0")], [0], [0.5], [True], given_value, classes=(0, 1)
    )
    given_value[:] = 7
    assert tree.value[1:].tolist() == [[1, 0], [0, 1]]
    for copied in (tree, pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert same_arrays(tree, copied)
        with pytest.raises(ValueError, match="read-only"):
            copied.threshold[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            copied.level[0] = 1
        with pytest.raises(FrozenInstanceError):
            copied.target = "other"


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_task_follows_from_the_classes(task):
    n_classes = {"binary": 2, "multiclass": 3, "regression": 0}[task]
    tree = make_tree(np.random.default_rng(0), 4, n_classes=n_classes)
    assert tree.task == task
    assert task in repr(tree)


def test_a_regression_has_no_probabilities():
    tree = make_tree(np.random.default_rng(0), 3, n_classes=0)
    with pytest.raises(ValueError, match="no class probabilities"):
        tree.predict_proba(make_table(np.random.default_rng(0), 3))


def test_a_path_follows_one_row_only():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="one row"):
        make_tree(rng, 3).path(make_table(rng, 2))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"left": [1, 2, -1], "right": [2, 1, -1]}, "child of exactly one"),
        ({"left": [-1, 2, 1], "right": [-1, 1, 2]}, "child of exactly one"),
        ({"left": [0, -1, -1], "right": [2, -1, -1]}, "nodes 1 to 2"),
        ({"left": [1, -1, -1], "right": [3, -1, -1]}, "nodes 1 to 2"),
        ({"left": [1, -1, -1], "right": [-1, -1, -1]}, "one child"),
        ({"feature": [5, -1, -1]}, "from 0 to 1"),
        ({"feature": [-3, -1, -1]}, "from 0 to 1"),
        ({"feature": [0, 0, -1]}, "leaf tests nothing"),
        ({"feature": [-2, -1, -1]}, "needs weights"),
        ({"threshold": [np.nan, np.nan, np.nan]}, "threshold is NaN"),
        ({"threshold": [0.0, np.nan]}, r"shape \(3,\)"),
        ({"value": [[1.0], [2.0]]}, "shape"),
        ({"value": [1.0, 2.0, 3.0]}, "shape"),
        ({"value": np.ones((3, 2))}, "one number"),
        ({"n_rows": [-1, 0, -1]}, "negative"),
        ({"n_rows": [1.5, 1, 0.5]}, "int64"),
        ({"left": [np.nan, -1, -1]}, "int32"),
        ({"leaf_bias": np.zeros((3, 1))}, "both leaf_weights and leaf_bias"),
        ({"classes": ("a", "a"), "value": np.ones((3, 2))}, "twice"),
        ({"classes": (None, "a"), "value": np.ones((3, 2))}, "label must be"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(change, sentence):
    tree = Tree.complete([Feature("a"), Feature("b")], [0], [0.0], [0], [[1.0], [2.0]])
    with pytest.raises(ValueError, match=sentence):
        replace(tree, **change)


def test_children_that_form_a_circle_are_refused():
    tree = Tree.complete(
        [Feature("a")], [0, 0, 0], [0.0] * 3, [0] * 3, np.zeros((4, 1))
    )
    with pytest.raises(ValueError, match="circle"):
        _circle(tree)


def _circle(tree):
    """Nodes 3 and 4 are each other's child; the root reaches 0, 1 and 2 alone."""
    return replace(
        tree,
        left=[1, -1, -1, 4, 3, -1, -1],
        right=[2, -1, -1, 5, 6, -1, -1],
        feature=[0, -1, -1, 0, 0, -1, -1],
        threshold=[0, np.nan, np.nan, 0, 0, np.nan, np.nan],
    )
