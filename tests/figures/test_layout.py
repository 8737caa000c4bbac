"""Where nodes stand."""

import numpy as np
import pytest

from tests.figures.small_trees import complete_tree, stump_and_more
from treelab.figures.layout import tree_layout


def test_leaves_stand_in_a_row_and_parents_between_their_children():
    x, y = tree_layout(stump_and_more()[0])
    assert list(x) == [0.75, 0, 1.5, 1, 2]
    assert list(y) == [0, -1, -1, -2, -2]


@pytest.mark.parametrize("depth", [1, 4, 7])
def test_no_two_nodes_stand_in_one_place(depth):
    x, y = tree_layout(complete_tree(depth)[0])
    assert len(set(zip(x, y))) == len(x)
    assert np.isfinite(x).all()


def test_below_the_deepest_level_nothing_has_a_place():
    tree, _ = complete_tree(3)
    x, _ = tree_layout(tree, max_depth=1)
    assert list(x[:3]) == [0.5, 0, 1]
    assert np.isnan(x[3:]).all()
