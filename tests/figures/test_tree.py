"""How much of a tree is drawn, its alt text and its thumbnail."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tests.figures.small_trees import complete_tree, number_tree, stump_and_more
from treelab.figures.tree import columns_by_path, plan_picture, thumbnail_svg, tree_alt
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

COLORS = {"small": "#0072B2", "rough": "#E69F00", "fine": "#009E73"}


def test_a_small_tree_is_drawn_whole_and_top_down():
    plan = plan_picture(stump_and_more()[0])
    assert (plan.depth, plan.direction, plan.fits) == (2, "TB", True)


@pytest.mark.parametrize("depth", [4, 6, 9])
def test_a_large_tree_is_cut_so_that_it_can_be_read(depth):
    tree, _ = complete_tree(depth, n_rows=1024)
    plan = plan_picture(tree)
    assert plan.fits
    assert 2 <= plan.depth < depth
    assert plan.direction == "LR"


def test_levels_that_are_asked_for_are_drawn_even_if_they_do_not_fit():
    tree, _ = complete_tree(6)
    plan = plan_picture(tree, depth=6)
    assert (plan.depth, plan.fits) == (6, False)
    assert plan_picture(tree, depth=60).depth == 6


def test_a_narrow_picture_shows_fewer_levels():
    tree, _ = complete_tree(6)
    assert plan_picture(tree, width=400).depth < plan_picture(tree, width=1400).depth


def test_a_tree_of_one_leaf_can_be_planned_and_described():
    tree = Tree(
        (Feature("x"),), [-1], [-1], [-1], [np.nan], [False], [[1.0, 0.0]], [3], [0.0],
        classes=("a", "b"),
    )  # fmt: skip
    assert plan_picture(tree).depth == 0
    assert "one leaf" in tree_alt(tree)
    assert thumbnail_svg(tree, {"a": "#000000"}).count("<rect") == 2


def test_the_alt_text_names_size_root_and_largest_leaf():
    words = tree_alt(stump_and_more()[0])
    assert "depth 2 with 3 leaves" in words
    assert "radius ≤ 9.5 mm" in words
    assert "predicts fine for 45% of rows" in words


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_thumbnail_has_a_leaf_in_each_colour(mode):
    svg = thumbnail_svg(stump_and_more()[0], COLORS, mode=mode, highlighted=True)
    ElementTree.fromstring(svg)
    for color in COLORS.values():
        assert svg.count(color) == 1


def test_a_thumbnail_of_numbers_is_darker_where_they_are_higher():
    svg = thumbnail_svg(number_tree()[0], {})
    assert ",0.25)" in svg
    assert ",1)" in svg


def test_columns_on_the_path_come_before_the_others():
    tree, X, _ = stump_and_more()
    assert columns_by_path(tree, X.iloc[[0]]) == ("radius", "texture")
    turned, _ = complete_tree(2)
    assert columns_by_path(turned, X.iloc[[0]]) == ("radius",)
