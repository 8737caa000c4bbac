"""RowsAt finds the rows of every node at once."""

import numpy as np
import pytest

from tests.trees.make import make_table, make_tree
from treelab.trees.leaf_codes import RowsAt


@pytest.mark.parametrize("seed", range(5))
def test_rows_at_a_node_are_those_whose_path_passes_it(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, int(rng.integers(1, 20)), oblique=0.4)
    X = make_table(rng, 200)
    passed = tree.decision_path(X)  # (n_rows, n_nodes)
    rows_at = RowsAt(tree, tree.apply(X))
    for node in range(tree.n_nodes):
        assert sorted(rows_at[node]) == np.flatnonzero(passed[:, node]).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_depth_first_puts_each_node_before_what_hangs_below(seed):
    tree = make_tree(np.random.default_rng(seed), 15)
    order = tree.depth_first.tolist()
    assert sorted(order) == list(range(tree.n_nodes))
    rows_at = RowsAt(tree, np.array([0]))
    for place, node in enumerate(order):
        below = order[place + 1 : place + 1 + rows_at.below(node)]
        assert all(node in tree.path_to(other) for other in below)
        if not tree.is_leaf[node]:
            assert order[place + 1] == tree.left[node]
