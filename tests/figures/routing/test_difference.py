"""Two groups of rows in one tree."""

import numpy as np
import pytest

from tests.figures.small_trees import stump_and_more
from treelab.evaluation.routing import routing_table
from treelab.figures.routing import difference_figure
from treelab.trees.colors import palette


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_nodes_are_coloured_around_0_by_the_difference_of_the_fractions(mode):
    tree, X, y = stump_and_more()
    small, rough = (
        routing_table(tree, tree.node_counts(X[y == label]))
        for label in ("small", "rough")
    )
    marked = np.arange(5) == 3
    figure = difference_figure(
        tree, small, rough, names=["small", "rough"], marked=marked, mode=mode
    )
    nodes = next(trace for trace in figure.data if trace.name == "nodes")
    less, same, more = (color.upper() for color in palette(mode).diverging)
    assert list(nodes.text) == ["0", "+100", "−100", "−100*", "0"]
    assert [c.upper() for c in nodes.marker.color] == [same, more, less, less, same]
    assert list(nodes.marker.line.width) == [1, 1, 1, 3, 1]
    assert "10 of the small (100%)<br>0 of the rough (0%)" in nodes.hovertext[1]
    lines = {trace.line.color for trace in figure.data if trace.mode == "lines"}
    assert {less, more} < {color.upper() for color in lines}


def test_a_smaller_scale_makes_small_differences_strong():
    tree, X, _ = stump_and_more()
    every = routing_table(tree, tree.node_counts(X))
    fine = routing_table(tree, tree.node_counts(X[10:]))
    figure = difference_figure(tree, fine, every, names=["a", "b"], most=0.25)
    nodes = next(trace for trace in figure.data if trace.name == "nodes")
    assert nodes.marker.color[1] == palette("light").diverging[0]
