"""The checker finds each breach, and says nothing of trees that keep what is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.constraints.random_trees import every_row, pairs_by_rows, random_tree
from treelab.trees.constraints import (
    Constraints,
    constraint_checks,
    cost_matrix,
    kept,
    violations,
    votes,
)
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

CHAIN = Tree(  # a; below it on the right b; below that on the right a again
    (Feature("a"), Feature("b")),
    np.array([1, -1, 3, -1, 5, -1, -1]),
    np.array([2, -1, 4, -1, 6, -1, -1]),
    np.array([0, -1, 1, -1, 0, -1, -1]),
    np.array([0, np.nan, 0, np.nan, 1, np.nan, np.nan]),
    np.zeros(7, dtype=bool),
    np.arange(7.0)[:, None],
    np.array([40, 10, 30, 10, 20, 4, 16]),
    np.zeros(7),
)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_a_tree_is_monotone_where_no_row_shows_otherwise(seed, n_splits):
    tree = random_tree(seed, n_splits)
    value = tree.value[:, 0]
    breaks = [p for p in pairs_by_rows(tree, "a") if value[p[0]] > value[p[1]]]
    assert len(violations(tree, Constraints(monotone="a: up"))) == len(breaks)


@pytest.mark.parametrize(
    ("asked", "n_broken"),
    [
        ({"monotone": "a: up, b: up"}, 0),
        ({"monotone": "a: down"}, 4),
        ({"allowed": "0: a; 1: b"}, 0),
        ({"allowed": "0: b; other: a"}, 2),
        ({"together": "a, b"}, 0),
        ({"together": "a"}, 2),
        ({"max_columns": 2}, 0),
        ({"max_columns": 1}, 1),
        ({"min_samples_leaf": 4}, 0),
        ({"min_samples_leaf": 11}, 3),
    ],
)
def test_each_breach_is_found_and_mended(asked, n_broken):
    constraints = Constraints.read(asked)
    found = constraint_checks(CHAIN, constraints)
    assert sum(len(one.broken) for one in found) == n_broken
    assert all(one.holds for one in found) == (n_broken == 0)
    if "max_columns" not in asked:
        assert not violations(kept(CHAIN, constraints), constraints)


def test_a_tree_that_keeps_its_constraints_stays():
    same = kept(CHAIN, Constraints(monotone="a: up", min_samples_leaf=2))
    assert same.n_leaves == CHAIN.n_leaves
    rows = every_row()[["a", "b"]]
    assert (same.predict(rows) == CHAIN.predict(rows)).all()


def test_votes_elect_the_class_of_the_lowest_expected_cost():
    rng = np.random.default_rng(0)
    classes = ("a", "b", "c")
    for _ in range(20):
        costs = rng.integers(0, 9, (3, 3)) * (1 - np.eye(3))
        given = {
            k: {j: costs[i, n] for n, j in enumerate(classes) if j != k}
            for i, k in enumerate(classes)
        }
        constraints = Constraints(class_costs=given)
        assert (cost_matrix(constraints, classes) == costs).all()
        values, weights = votes(constraints, classes)
        counts = rng.integers(1, 100, 3)
        expected = counts @ costs
        elected = (counts * weights @ values).argmax()
        assert expected[elected] == pytest.approx(expected.min())


def test_two_classes_vote_by_the_costs_of_their_errors():
    values, weights = votes(Constraints(class_costs="n as y: 5"), ("n", "y"))
    assert (values == np.eye(2)).all()
    assert weights.tolist() == [5, 1]
