"""Values are put in order exactly, and no other ordered values are nearer."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from tests.trees.constraints.random_trees import random_tree
from treelab.trees.constraints import Constraints, isotonic, violations, with_order
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_a_chain_is_scikit_learns_isotonic_regression(seed, n):
    rng = np.random.default_rng(seed)
    value, weight = rng.normal(size=n), rng.integers(1, 100, n)
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    fitted = isotonic(value, weight, pairs)
    wanted = IsotonicRegression().fit(np.arange(n), value, weight).predict(np.arange(n))
    assert (np.diff(fitted) >= 0).all()
    assert np.abs(fitted - wanted).max() < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_a_partial_order_is_the_least_squares_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    value, weight = rng.normal(size=8), rng.uniform(1, 5, 8)
    pairs = np.array([p for p in rng.integers(8, size=(14, 2)) if p[0] < p[1]])
    fitted = isotonic(value, weight, pairs)
    assert (fitted[pairs[:, 0]] <= fitted[pairs[:, 1]]).all()
    order = {"type": "ineq", "fun": lambda v: v[pairs[:, 1]] - v[pairs[:, 0]]}
    best = minimize(lambda v: weight @ (v - value) ** 2, value, constraints=order)
    assert weight @ (fitted - value) ** 2 <= best.fun + 1e-4


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.integers(1, 10),
    st.sampled_from([None, ("n", "y"), ("x", "y", "z")]),
)
def test_any_tree_is_put_in_order(seed, n_splits, classes):
    tree = random_tree(seed, n_splits, classes=classes)
    of = classes[0] if classes else None
    asked = Constraints(monotone={"a": "up", "b": "down"}, monotone_class=of)
    ordered = with_order(tree, asked)
    assert not violations(ordered, asked)
    if classes:
        assert np.abs(ordered.value.sum(1) - 1).max() < 1e-9
    rows = np.random.default_rng(seed).integers(1, 9, tree.n_nodes)
    repeated = with_order(replace(tree, n_rows=rows), asked)
    weighted = with_order(replace(tree, weight=rows.astype(float)), asked)
    assert (weighted.value == repeated.value).all()
    if not violations(tree, asked):
        assert (ordered.value == tree.value).all()


def test_leaves_are_put_in_order_by_the_ratios_of_their_weights():
    values = [[0.0], [4.0], [1.0], [2.0]]
    tree = Tree.complete([Feature("a")], [0] * 3, [0, -1, 1], [True] * 3, values)
    rows = pd.DataFrame({"a": np.repeat([-2, -0.5, 0.5, 2], [10, 1, 30, 10])})
    for unit in (1, 1e-6):  # as of weights that add up to 1
        weighed = tree.with_rows(rows, np.zeros(51), np.full(51, unit))
        ordered = with_order(weighed, Constraints(monotone="a: up"))
        found = ordered.value[ordered.is_leaf, 0]
        np.testing.assert_allclose(found, [0, 34 / 31, 34 / 31, 2])


def test_classes_that_leaves_chose_are_in_order_as_probabilities_are():
    values, rows = [[0.1, 0.9], [0.8, 0.2]], pd.DataFrame({"a": [-1.0] + [1.0] * 3})
    tree = Tree.complete([Feature("a")], [0], [0], [True], values, classes=(0, 1))
    tree = replace(tree.with_rows(rows, [1, 0, 0, 1]), decision=[0, 1, 0])
    up = Constraints(monotone="a: up")
    assert with_order(tree, up).predict(rows).tolist() == [0, 0, 0, 0]
    in_order = replace(tree, decision=[0, 0, 1])
    assert with_order(in_order, up).decision.tolist() == [0, 0, 1]
