"""The heat tree of a class routing distribution."""

import numpy as np
import pytest

from tests.figures.small_trees import complete_tree, stump_and_more
from tests.trees.make import make_table, make_tree
from treelab.evaluation.routing import routing_table
from treelab.figures.routing import heat_tree_figure, levels_to_draw, two_lines


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_nodes_carry_their_number_and_their_fraction(mode):
    tree, X, _ = stump_and_more()
    table = routing_table(tree, tree.node_counts(X))
    figure = heat_tree_figure(tree, table, rows_name="test rows", mode=mode)
    nodes = next(trace for trace in figure.data if trace.name == "nodes")
    assert list(nodes.customdata) == [0, 1, 2, 3, 4]
    assert list(nodes.marker.color) == table["fraction"].tolist()
    assert "10 of the test rows (25%)" in nodes.hovertext[1]


def test_a_wide_tree_is_drawn_without_words_on_its_nodes():
    tree, X = complete_tree(6)
    figure = heat_tree_figure(
        tree, routing_table(tree, tree.node_counts(X)), rows_name="rows"
    )
    assert not figure.layout.annotations
    nodes = figure.data[-1]
    leaves = [text for text, node in zip(nodes.text, nodes.customdata) if node >= 63]
    assert leaves == [""] * 64
    assert nodes.text[0] == "100%"


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_nodes_neither_meet_nor_leave_a_picture_of_308_pixels(depth):
    tree, X = complete_tree(depth)
    table = routing_table(tree, tree.node_counts(X))
    figure = heat_tree_figure(tree, table, rows_name="rows")
    nodes = figure.data[-1]
    low, high = figure.layout.xaxis.range
    across = 308 - figure.layout.margin.l - figure.layout.margin.r
    x = figure.layout.margin.l + (nodes.x - low) / (high - low) * across
    half = nodes.marker.size / 2
    assert (x - half).min() >= 0
    assert (x + half).max() <= 308
    for y in set(nodes.y):
        here = nodes.y == y
        assert ((x + half)[here][:-1] <= (x - half)[here][1:]).all()
    assert nodes.cliponaxis is False


def test_edges_without_rows_are_the_thinnest():
    tree, X, y = stump_and_more()
    figure = heat_tree_figure(
        tree, routing_table(tree, tree.node_counts(X[y == "small"])), rows_name="rows"
    )
    widths = [trace.line.width for trace in figure.data if trace.mode == "lines"]
    assert sorted(set(widths)) == [1.0, 8.0]


def test_a_tree_that_is_too_wide_is_cut_at_a_level():
    tree, X = complete_tree(7)
    depth = levels_to_draw(tree)
    assert depth == 5
    figure = heat_tree_figure(
        tree,
        routing_table(tree, tree.node_counts(X)),
        rows_name="rows",
        max_depth=depth,
    )
    assert list(figure.data[-1].customdata) == list(range(63))
    assert levels_to_draw(stump_and_more()[0]) == 2


def test_a_leaf_of_few_rows_does_not_glow_where_few_come_so_deep():
    tree, X, _ = stump_and_more()
    rows = X.loc[[0] * 63 + [10, 11, 12, 13, 14]]  # 5 of 68 pass the first leaf
    figure = heat_tree_figure(
        tree, routing_table(tree, tree.node_counts(rows)), rows_name="rows"
    )
    nodes = next(trace for trace in figure.data if trace.name == "nodes")
    assert nodes.marker.color[4] == 3 / 68
    assert nodes.text[4] == "4%"


@pytest.mark.parametrize(
    ("words", "letters", "ends"),
    [
        ("furnace temperature ≤ 849.5", 9, "≤ 849.5"),
        ("building windows, non-float", 8, "float"),
        ("containers", 8, "containers"),
        ("yes", 8, "yes"),
        ("a name without any end or sense ≤ 1.5", 8, "1.5"),
        ("Donaudampfschifffahrt", 8, "ahrt"),
    ],
)
def test_words_below_a_node_have_two_lines_and_their_ends(words, letters, ends):
    lines = two_lines(words, letters)
    assert len(lines) <= 2
    assert max(map(len, lines)) <= letters + 2
    assert " ".join(lines).endswith(ends)


@pytest.mark.parametrize("seed", range(6))
def test_words_below_a_node_stay_within_the_figure_and_between_neighbours(seed):
    rng = np.random.default_rng(seed)
    tree, X = make_tree(rng, 8), make_table(rng, 60)
    table = routing_table(tree, tree.node_counts(X))
    table["condition"] = "a column with a name that is long ≤ 10.25"
    figure = heat_tree_figure(tree, table, rows_name="rows", width=420)
    low, high = figure.layout.xaxis.range
    unit = (420 - 2 * 18) / (high - low)
    spans: dict[float, list] = {}
    for words in figure.layout.annotations:
        middle = 18 + (words.x - low) * unit
        half = 5.8 * max(map(len, words.text.split("<br>"))) / 2
        assert half <= middle <= 420 - half
        spans.setdefault(words.y, []).append((middle - half, middle + half))
    for side_by_side in spans.values():
        side_by_side.sort()
        ends = [right for _, right in side_by_side[:-1]]
        starts = [left for left, _ in side_by_side[1:]]
        assert all(right <= left + 5.8 for right, left in zip(ends, starts))
