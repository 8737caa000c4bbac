"""The class routing distribution and its heat tree."""

import numpy as np
import pytest

from tests.figures.small_trees import complete_tree, number_tree, stump_and_more
from treelab.figures.routing import (
    busiest_leaf,
    heat_tree_figure,
    levels_to_draw,
    routing_table,
    target_bands,
)


def counted(tree, X):
    """Rows that pass each node, by walking them one by one."""
    passed = np.zeros(tree.n_nodes, dtype=int)
    for i in range(len(X)):
        passed[tree.path(X.iloc[[i]])] += 1
    return passed


@pytest.mark.parametrize("label", ["small", "rough", "fine"])
def test_shares_are_those_found_by_walking_each_row(label):
    tree, X, y = stump_and_more()
    rows = X[y == label]
    table = routing_table(tree, rows)
    assert table["rows"].tolist() == counted(tree, rows).tolist()
    assert table["share"].tolist() == pytest.approx(counted(tree, rows) / len(rows))


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_each_level_that_a_row_reaches_adds_up_to_one(depth):
    tree, X = complete_tree(depth)
    table = routing_table(tree, X[:37])
    assert table.groupby("level")["level_share"].sum().tolist() == pytest.approx(
        [1] * (depth + 1)
    )


def test_a_row_that_has_ended_counts_no_more_further_down():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, X)  # 10 of 40 rows end on level 1
    assert table["share"].tolist() == [1, 0.25, 0.75, 0.3, 0.45]
    assert table["level_share"].tolist() == [1, 0.25, 0.75, 0.4, 0.6]


def test_no_rows_leave_every_node_dark():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, X[:0])
    assert not table[["rows", "share", "level_share"]].to_numpy().any()


def test_splits_ask_and_leaves_answer():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, X)
    assert "radius" in table.question[0]
    assert table.answer.tolist() == ["", "small", "", "rough", "fine"]


def test_a_number_tree_answers_in_its_unit():
    tree, X, _ = number_tree()
    assert routing_table(tree, X).answer.tolist() == ["", "2 kg", "6 kg"]


def test_thirds_of_the_training_values_make_the_bands():
    band, borders = target_bands(np.arange(301.0), [0, 100, 101, 200, 250])
    assert borders == (100, 200)
    assert band.tolist() == ["low", "low", "middle", "middle", "high"]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("color_by", ["share", "level_share"])
def test_nodes_carry_their_number_and_their_share(mode, color_by):
    tree, X, _ = stump_and_more()
    table = routing_table(tree, X)
    figure = heat_tree_figure(
        tree, table, what="test rows", color_by=color_by, mode=mode
    )
    nodes = next(trace for trace in figure.data if trace.name == "nodes")
    assert list(nodes.customdata) == [0, 1, 2, 3, 4]
    assert list(nodes.marker.color) == table[color_by].tolist()
    assert "10 of the test rows (25.0%)" in nodes.hovertext[1]


def test_a_wide_tree_is_drawn_without_words_on_its_nodes():
    tree, X = complete_tree(6)
    figure = heat_tree_figure(tree, routing_table(tree, X), what="rows")
    assert not figure.layout.annotations
    nodes = figure.data[-1]
    leaves = [text for text, node in zip(nodes.text, nodes.customdata) if node >= 63]
    assert leaves == [""] * 64
    assert nodes.text[0] == "100%"


def test_edges_without_rows_are_the_thinnest():
    tree, X, y = stump_and_more()
    figure = heat_tree_figure(tree, routing_table(tree, X[y == "small"]), what="rows")
    widths = [trace.line.width for trace in figure.data if trace.mode == "lines"]
    assert sorted(set(widths)) == [1.0, 8.0]


def test_the_busiest_leaf_is_where_most_rows_end():
    tree, X, y = stump_and_more()
    assert busiest_leaf(tree, routing_table(tree, X[y == "small"])) == 1


def test_a_tree_that_is_too_wide_is_cut_at_a_level():
    tree, X = complete_tree(7)
    depth = levels_to_draw(tree)
    assert depth == 5
    figure = heat_tree_figure(
        tree, routing_table(tree, X), what="rows", max_depth=depth
    )
    assert list(figure.data[-1].customdata) == list(range(63))
    assert levels_to_draw(stump_and_more()[0]) == 2
