"""Which leaves must be in order is what trying every row shows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.constraints.random_trees import FEATURES, pairs_by_rows, random_tree
from treelab.trees.constraints import node_boxes
from treelab.trees.tree import Tree


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(0, 9), st.sampled_from("ab"))
def test_pairs_are_those_that_rows_show(seed, n_splits, column):
    tree = random_tree(seed, n_splits)
    leaves = np.flatnonzero(tree.is_leaf)
    boxes = node_boxes(tree).of(leaves)
    up = {tuple(p) for p in leaves[boxes.ordered({column: "up"})].tolist()}
    assert up == pairs_by_rows(tree, column)
    down = {tuple(p) for p in leaves[boxes.ordered({column: "down"})].tolist()}
    assert down == {(high, low) for low, high in up}


def test_oblique_splits_are_refused():
    tree = Tree.complete(
        FEATURES[:2],
        None,
        np.zeros(1),
        np.zeros(1, dtype=bool),
        np.array([[0.0], [1.0]]),
        weights=np.ones((1, 2)),
    )
    with pytest.raises(ValueError, match="splits of one column"):
        node_boxes(tree)
