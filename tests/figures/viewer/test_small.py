"""Many trees as small pictures in one payload."""

from dataclasses import replace

import numpy as np
import pytest

from tests.trees.make import make_tree
from treelab.figures.viewer.payload import (
    MOST_LEAVES,
    small_trees,
    to_json,
    tree_payload,
)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("oblique", [0.0, 0.5])
def test_each_tree_is_written_as_alone_but_cut_where_few_rows_go(seed, oblique):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 20, oblique=oblique)
    payload = small_trees([tree, tree])
    first, second = (own["nodes"] for own in payload["trees"])
    assert first == second
    assert len(first) <= 2 * MOST_LEAVES - 1
    alone = tree_payload(tree)
    assert payload["classes"] == alone["classes"]
    by_key = {node["key"]: node for node in alone["trees"][0]["nodes"]}
    for node in first:
        assert node["rows"] == by_key[node["key"]]["rows"]
        assert node.get("shares") == by_key[node["key"]].get("shares")
    assert len(to_json(payload)) < 2 * len(to_json(alone))


def test_names_that_are_cut_keep_the_colour_of_their_class():
    tree = make_tree(np.random.default_rng(0), n_classes=4)
    names = tuple(f"a class with a name too long, {i}" for i in range(4))
    payload = small_trees([replace(tree, classes=names)])
    for node in payload["trees"][0]["nodes"]:
        predicted = tree.predicted_class[node["id"]]
        assert payload["classes"][node["class"]]["label"] == names[predicted]
        assert node["prediction"].endswith(f" {predicted}")
