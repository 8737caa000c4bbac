"""Nodes are walked from the root down, whatever their numbers are."""

from dataclasses import replace

import numpy as np
import pytest

from tests.trees.make import make_table, make_target, make_tree
from treelab.editing.paths import node_of, paths
from treelab.runs.jobs.clusters import with_label_shares
from treelab.trees.pruning import simplify
from treelab.trees.tree import PER_NODE, Tree, complete_places


def renumbered(tree: Tree, place: np.ndarray) -> Tree:
    """The same tree, each node at another place; the root stays."""
    nodes = np.argsort(place)
    arrays = {
        name: getattr(tree, name)[nodes]
        for name in PER_NODE
        if getattr(tree, name) is not None
    }
    for side in ("left", "right"):
        own = arrays[side]
        arrays[side] = np.where(own < 0, -1, place[own])
    return replace(tree, **arrays)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_found_from_the_root_down_does_not_hang_on_numbers(seed):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 12)
    place = np.append(0, tree.n_nodes - np.arange(1, tree.n_nodes))  # children first
    other = renumbered(tree, place)
    rank = np.argsort(other.depth_first)
    assert (rank[1:] > rank[other.parent[1:]]).all()
    assert complete_places(other)[place].tolist() == complete_places(tree).tolist()
    assert [paths(other)[i] for i in place] == paths(tree)
    assert [node_of(other, path) for path in paths(tree)] == place.tolist()
    X = make_table(rng, 9)  # so few that some nodes have none
    y = make_target(rng, tree, len(X))
    own, found = (with_label_shares(t, X, y, tree.classes) for t in (tree, other))
    assert (own.n_rows == 0).any()
    np.testing.assert_array_equal(found.value[place], own.value)
    np.testing.assert_array_equal(simplify(other).value, simplify(tree).value)
