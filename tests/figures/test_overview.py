"""Icicle and sunburst show every row once, in the table's own words."""

from dataclasses import replace

import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more, tree_of
from treelab.figures.overview import (
    MOST_NODES,
    last_condition,
    levels_shown,
    overview_figure,
)
from treelab.figures.style import text_on
from treelab.trees.feature import Feature

COLORS = {"small": "#0072B2", "rough": "#E69F00", "fine": "#009E73"}
TWO = {"rough": "#0072B2", "fine": "#E69F00"}


@pytest.mark.parametrize("kind", ["icicle", "sunburst"])
def test_children_fill_their_parent(kind):
    tree, *_ = stump_and_more()
    (trace,) = overview_figure(tree, COLORS, kind=kind).data
    assert trace.type == kind
    assert trace.branchvalues == "total"
    assert dict(zip(trace.ids, trace.parents)) == {
        "0": "",
        "1": "0",
        "2": "0",
        "3": "2",
        "4": "2",
    }
    rows = dict(zip(trace.ids, trace.values))
    assert rows["1"] + rows["2"] == rows["0"] == 40
    assert list(trace.customdata) == [0, 1, 2, 3, 4]


def test_areas_name_the_last_condition_and_the_prediction():
    tree, *_ = stump_and_more()
    (trace,) = overview_figure(tree, COLORS).data
    assert trace.labels[0] == "all rows"
    assert trace.labels[1] == "radius ≤ 9.5 mm<br><b>small (1.00)</b>"
    assert trace.labels[2] == "radius &gt; 9.5 mm"
    assert trace.hovertext[3].startswith("radius &gt; 9.5 mm and texture ≤ 1.5<br><b>")
    assert "predicts rough" in trace.hovertext[3]
    assert "would predict" in trace.hovertext[0]


def test_the_more_probable_the_stronger_the_colour():
    tree, *_ = stump_and_more()
    for mode, background in (("light", "#FFFFFF"), ("dark", "#101614")):
        (trace,) = overview_figure(tree, COLORS, mode=mode).data
        assert trace.marker.colors[1] == COLORS["small"]  # sure
        assert trace.marker.colors[0] not in {background, *COLORS.values()}


def test_a_regression_is_coloured_by_its_means():
    tree, *_ = number_tree()
    (trace,) = overview_figure(tree, {}).data
    assert list(trace.marker.colors) == tree.value[:, 0].tolist()
    assert (trace.marker.cmin, trace.marker.cmax) == (2, 6)


def test_a_branch_without_rows_takes_no_room_and_is_left_out():
    tree, X, y = stump_and_more()
    few = tree.with_rows(X[:10], y[:10])  # all of them small
    (trace,) = overview_figure(few, COLORS).data
    assert list(trace.ids) == ["0", "1"]


def test_a_tree_that_was_shown_no_rows_has_leaves_of_one_size():
    tree, *_ = stump_and_more()
    bare = replace(tree, n_rows=np.zeros(5))
    (trace,) = overview_figure(bare, COLORS).data
    assert list(trace.values) == [3, 1, 2, 1, 1]
    assert "row" not in trace.hovertext[1].replace("all rows", "")


def test_a_large_tree_is_cut_at_a_level():
    tree = tree_of(11)
    (trace,) = overview_figure(tree, TWO).data
    assert levels_shown(tree) == 8
    assert tree.n_nodes > MOST_NODES >= len(trace.ids)
    assert max(tree.level[list(trace.customdata)]) == 8
    small = tree_of(4)
    assert levels_shown(small) == 4


def test_names_of_a_table_are_shown_as_they_stand():
    tree = tree_of(3)
    tree = replace(tree, features=[Feature("<b>$x$</b> & y")] * 2)
    (trace,) = overview_figure(tree, TWO).data
    assert "&lt;b&gt;" in trace.labels[1]
    assert "<b>" not in trace.labels[1].split("<br>")[0]
    assert "$" not in trace.hovertext[1]


def test_another_kind_is_refused():
    tree, *_ = stump_and_more()
    with pytest.raises(ValueError, match="'pie'"):
        overview_figure(tree, COLORS, kind="pie")


def test_the_last_condition_is_named_for_both_sides():
    tree, *_ = stump_and_more()
    assert last_condition(tree, 3) == "texture ≤ 1.5"
    assert last_condition(tree, 4) == "texture > 1.5"


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("make", [stump_and_more, number_tree])
def test_words_stand_out_from_their_area(make, mode):
    tree, *_ = make()
    colors = COLORS if tree.classes else {}
    (trace,) = overview_figure(tree, colors, mode=mode).data
    assert len(trace.insidetextfont.color) == len(trace.ids)
    if tree.classes:
        for area, words in zip(trace.marker.colors, trace.insidetextfont.color):
            assert words == text_on(area)
    else:  # dark words on viridis' yellow end, light ones on its purple end
        low, high = (trace.insidetextfont.color[node] for node in (1, 2))
        assert low != high
