from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import oblique_tree
from treelab.figures.split import split_figure
from treelab.trees.feature import Feature
from treelab.trees.text import bound_text
from treelab.trees.tree import Tree


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_histogram_counts_every_row_at_the_node_by_class(mode):
    tree, X, y = oblique_tree()
    figure = split_figure(tree, 0, X, y, mode=mode)
    bars, low, high = figure.data
    assert list(bars.customdata) == ["radius", "<texture>"]
    assert sum(low.y) == (y == "low").sum()
    assert sum(high.y) == (y == "high").sum()
    assert figure.layout.shapes[0].x0 == 10.0


def test_the_line_has_the_thresholds_own_text():
    tree, X, y = oblique_tree()
    tree = replace(tree, threshold=[1024.5, np.nan, np.nan])
    (line,) = split_figure(tree, 0, X, y).layout.annotations[-1:]
    assert line.text == f"≤ {bound_text(tree, 0)}" == "≤ 1024.5"


def test_without_labels_the_two_sides_are_coloured():
    tree, X, y = oblique_tree(classes=None)
    _, left, right = split_figure(tree, 0, X).data
    assert (sum(left.y), sum(right.y)) == ((y == 0).sum(), (y == 2).sum())


def test_columns_beyond_the_most_share_one_bar():
    tree, X, y = oblique_tree()
    bars = split_figure(tree, 0, X, y, most=1).data[0]
    assert len(bars.y) == 2
    assert bars.customdata[1] == ""


def test_a_node_without_a_sum_is_refused():
    tree, X, _ = oblique_tree()
    with pytest.raises(ValueError, match="weighted sum"):
        split_figure(tree, 1, X)
    with pytest.raises(ValueError, match="rows"):
        split_figure(tree, 0, X, ["low"])


def test_every_bar_has_its_name_and_room_for_it():
    n = 30
    features = tuple(Feature(f"column {j}") for j in range(n))
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, n)), columns=[f.column for f in features])
    tree = Tree.complete(
        features, None, [0.0], [False], [[1.0], [2.0]], weights=rng.normal(size=(1, n))
    ).with_rows(X, X["column 0"])
    figure = split_figure(tree, 0, X)
    bars, layout = figure.data[0], figure.layout
    assert len(bars.y) == len(layout.yaxis.tickvals) == 13
    low, high = layout.yaxis.domain
    assert (high - low) * (layout.height - layout.margin.t - layout.margin.b) >= 13 * 20
    assert layout.xaxis.range[1] >= 1.25 * max(bars.x)
    assert sum(bars.x) == pytest.approx(1)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_column_that_is_subtracted_has_its_sign_and_another_colour(mode):
    tree, X, y = oblique_tree()
    figure = split_figure(tree, 0, X, y, mode=mode)
    (bars, *_), names = figure.data, figure.layout.yaxis.ticktext
    assert names == ("radius", "− &lt;texture&gt;")
    assert bars.marker.color[0] != bars.marker.color[1]


def test_classes_have_the_colours_that_they_have_elsewhere():
    tree, X, y = oblique_tree()
    colors = {"high": "#0072B2", "low": "#E69F00"}
    _, *groups = split_figure(tree, 0, X, y, colors=colors).data
    assert {each.name: each.marker.color for each in groups} == colors
