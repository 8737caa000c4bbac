"""The tree by which a model is shown has no branch without training rows."""

import numpy as np
import pandas as pd

from treelab.trees.feature import Feature
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.shown_tree import shown_tree, takes_empty_branch
from treelab.trees.tree import Tree


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
