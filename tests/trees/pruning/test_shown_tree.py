"""The tree by which a model is shown has no branch without training rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from treelab.trees.feature import Feature
from treelab.trees.pruning_path import PruningPath, shown_tree, takes_empty_branch
from treelab.trees.text import split_text
from treelab.trees.tree import OBLIQUE, Tree


def half_empty() -> tuple[Tree, pd.DataFrame]:
    """A tree of four leaves, two of which none of its rows reaches."""
    X = pd.DataFrame({"x": [1.0, 2.0, 7.0, 8.0]})
    tree = Tree.complete(
        (Feature("x"),),
        np.zeros(3, dtype=int),
        np.array([5.0, 3.0, 6.0]),
        np.zeros(3, dtype=bool),
        np.arange(4.0)[:, None],
    )
    return tree.with_rows(X, np.array([0.0, 0.0, 1.0, 1.0])), X


def test_a_tree_and_a_path_are_shown_alike_without_empty_branches():
    tree, X = half_empty()
    path = PruningPath(np.array([0.0]), (tree,), (None,))
    for model in (tree, path):
        shown = shown_tree(model)
        assert shown.n_leaves == 2
        assert (shown.n_rows > 0).all()
        np.testing.assert_array_equal(shown.predict(X), tree.predict(X))


def test_rows_that_would_take_an_empty_branch_are_known():
    tree, _ = half_empty()
    elsewhere = pd.DataFrame({"x": [1.0, 4.0, 5.5, 9.0]})
    found = takes_empty_branch(tree, elsewhere)
    assert found.tolist() == [False, True, True, False]


def test_a_tree_without_rows_is_shown_whole():
    tree, X = half_empty()
    bare = Tree.complete(
        tree.features,
        np.zeros(3, dtype=int),
        np.array([5.0, 3.0, 6.0]),
        np.zeros(3, dtype=bool),
        np.arange(4.0)[:, None],
    )
    assert shown_tree(bare).n_leaves == 4
    assert not takes_empty_branch(bare, X).any()


@pytest.mark.parametrize("weight", [2.0, -0.4])
def test_a_sum_of_a_single_column_is_shown_as_a_split_of_that_column(weight):
    features = (Feature("x", fill=7.0), Feature("y", fill=0.0))
    weights = np.array([[weight, 0], [1, 1], [0, -1]])
    tree = Tree.complete(
        features,
        None,
        np.array([5 * weight, 8, -4]),
        np.zeros(3, bool),
        np.arange(4.0)[:, None],
        weights=weights,
    )
    grid = np.array([*product(range(10), range(10)), (np.nan, 3), (3, np.nan)])
    X = pd.DataFrame(grid, columns=["x", "y"])
    tree = tree.with_rows(X, tree.predict(X))
    shown = shown_tree(tree)
    assert split_text(shown, 0).startswith("x ≤ ")
    assert sum(shown.feature == OBLIQUE) == 1
    np.testing.assert_array_equal(shown.predict(X), tree.predict(X))
    np.testing.assert_array_equal(shown.node_counts(X), shown.n_rows)


def test_a_sum_of_a_single_column_keeps_the_side_of_numbers_on_its_bound():
    rng = np.random.default_rng(0)
    for weight, x in rng.normal(size=(200, 2)):
        tree = Tree.complete(
            (Feature("x", fill=0.0),),
            None,
            [weight * x],
            [False],
            [0.0, 1.0],
            weights=[[weight]],
        )
        X = pd.DataFrame({"x": [x, np.nextafter(x, 9), np.nextafter(x, -9)]})
        np.testing.assert_array_equal(shown_tree(tree).predict(X), tree.predict(X))


def test_a_sum_of_nothing_stays_where_no_other_sum_does():
    tree = Tree.complete(
        (Feature("x", fill=0.0),),
        None,
        np.array([1.0, 2.0, 3.0]),
        np.zeros(3, bool),
        np.arange(4.0)[:, None],
        weights=[[1.0], [0.0], [1.0]],
    )
    X = pd.DataFrame({"x": [0.0, 2.0, 4.0]})
    np.testing.assert_array_equal(shown_tree(tree).predict(X), tree.predict(X))


def test_a_sum_for_which_a_missing_value_is_refused_stays_one():
    tree = Tree.complete(
        (Feature("x"),), None, [1.0], [False], [0.0, 1.0], weights=[[2.0]]
    )
    for model in (tree, shown_tree(tree)):
        with pytest.raises(ValueError, match="has missing values"):
            model.predict(pd.DataFrame({"x": [np.nan]}))
