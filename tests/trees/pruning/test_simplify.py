from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table, make_target, make_tree, same_arrays
from treelab.trees.feature import Feature
from treelab.trees.pruning import merge_equal, prune_empty, simplify
from treelab.trees.text import path_conditions
from treelab.trees.tree import Tree

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60)
@given(
    seed=SEEDS,
    n_leaves=st.integers(1, 40),
    oblique=st.sampled_from([0.0, 0.5]),
    linear=st.booleans(),
)
def test_every_row_keeps_its_answer_when_empty_branches_go(
    seed, n_leaves, oblique, linear
):
    rng = np.random.default_rng(seed)
    n_classes = 0 if linear else 3
    tree = make_tree(
        rng, n_leaves, n_classes=n_classes, oblique=oblique, linear=linear, infinite=0.3
    )
    table = make_table(rng, 15)
    shown = tree.with_rows(table, make_target(rng, tree, len(table)))
    small = prune_empty(shown)
    np.testing.assert_array_equal(small.predict(table), tree.predict(table))
    np.testing.assert_array_equal(
        small.value[small.apply(table)], tree.value[tree.apply(table)]
    )
    assert (small.n_rows > 0).all()
    np.testing.assert_array_equal(small.n_rows, small.node_counts(table))
    assert same_arrays(prune_empty(small), small)


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 30))
def test_constant_splits_go_without_any_row_and_no_row_minds(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, oblique=0.3, infinite=0.6)
    small = prune_empty(tree)
    table = make_table(rng, 60)
    np.testing.assert_array_equal(
        small.value[small.apply(table)], tree.value[tree.apply(table)]
    )


def test_a_split_that_asks_for_missing_values_stays():
    tree = Tree.complete([Feature("a")], [0], [np.inf], [False], [[1.0], [2.0]])
    assert prune_empty(tree).n_splits == 1
    assert prune_empty(replace(tree, missing_left=[True, 0, 0])).n_splits == 0


def test_a_sum_of_nothing_is_no_split():
    tree = Tree.complete(
        [Feature("a")], None, [-1.0], [False], [[1.0], [2.0]], weights=[[0.0]]
    )
    table = pd.DataFrame({"a": [3.0]})
    assert prune_empty(tree).n_splits == 0
    assert prune_empty(tree).predict(table) == tree.predict(table) == [2.0]


@settings(max_examples=60)
@given(seed=SEEDS, n_leaves=st.integers(1, 40), same_class=st.booleans())
def test_merging_leaves_that_agree_changes_no_prediction(seed, n_leaves, same_class):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves)
    few = np.array([[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])
    tree = replace(tree, value=few[rng.integers(3, size=tree.n_nodes)])
    table = make_table(rng, 40)
    tree = tree.with_rows(table, make_target(rng, tree, len(table)))
    small = merge_equal(tree, same_class=same_class)
    assert (small.predict(table) == tree.predict(table)).all()
    if not same_class:
        np.testing.assert_allclose(
            small.predict_proba(table), tree.predict_proba(table), atol=1e-8
        )
    for node in np.flatnonzero(~small.is_leaf):
        pair = [small.left[node], small.right[node]]
        if small.is_leaf[pair].all():  # what is left says something different
            first, second = small.value[pair]
            assert not (
                first.argmax() == second.argmax()
                if same_class
                else np.allclose(first, second, rtol=0, atol=1e-9)
            )


def test_linear_leaves_are_merged_only_when_their_sums_agree():
    def tree(second):
        return Tree.complete(
            [Feature("a", fill=0.0)],
            [0],
            [0.0],
            [False],
            [[1.0], [1.0]],
            leaf_weights=[[2.0], [second]],
            leaf_bias=[[3.0], [3.0]],
        )

    table = pd.DataFrame({"a": [-1.0, 2.0]})
    assert merge_equal(tree(2.5)).n_leaves == 2
    merged = merge_equal(tree(2.0))
    assert merged.n_leaves == 1
    assert merged.predict(table).tolist() == tree(2.0).predict(table).tolist()


def test_a_merged_leaf_says_the_mean_of_its_rows():
    tree = Tree.complete(
        [Feature("a")], [0], [0.0], [0], [[0.6, 0.4], [0.9, 0.1]], classes=("x", "y")
    )
    tree = replace(tree, n_rows=[4, 1, 3])
    merged = merge_equal(tree, same_class=True)
    assert merged.n_leaves == 1
    np.testing.assert_allclose(merged.value, [[0.825, 0.175]])


@settings(max_examples=30)
@given(seed=SEEDS, n_leaves=st.integers(1, 40))
def test_simplifying_twice_is_simplifying_once(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, infinite=0.2)
    tree = replace(tree, value=np.eye(3)[rng.integers(3, size=tree.n_nodes)])
    table = make_table(rng, 15)
    tree = tree.with_rows(table, make_target(rng, tree, len(table)))
    small = simplify(tree)
    assert same_arrays(simplify(small), small)
    assert (small.predict(table) == tree.predict(table)).all()


@pytest.mark.parametrize("n_classes", [0, 2])
def test_nodes_are_numbered_depth_first(n_classes):
    tree = simplify(make_tree(np.random.default_rng(3), 20, n_classes=n_classes))
    split = np.flatnonzero(~tree.is_leaf)
    np.testing.assert_array_equal(tree.left[split], split + 1)


@pytest.mark.parametrize("threshold", [-np.inf, 0.0, np.inf])
@pytest.mark.parametrize("missing_left", [False, True])
def test_an_infinite_value_is_predicted_alike_by_a_tree_without_rows(
    threshold, missing_left
):
    tree = Tree.complete(
        [Feature("a")], [0], [threshold], [missing_left], [[1.0], [2.0]]
    )
    rows = pd.DataFrame({"a": [-np.inf, -1.0, 1.0, np.inf, np.nan]})
    small = simplify(replace(tree, n_rows=np.zeros_like(tree.n_rows)))
    assert small.predict(rows).tolist() == tree.predict(rows).tolist()
    for node in np.flatnonzero(small.is_leaf).tolist():
        holds = np.ones(len(rows), dtype=bool)
        for condition in path_conditions(small, node):
            holds &= condition.holds(rows)
        assert (holds == (small.apply(rows) == node)).all()
