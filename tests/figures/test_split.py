import pytest

from tests.figures.small_trees import number_tree, oblique_tree, stump_and_more
from treelab.figures.split import split_figure


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_histogram_counts_every_row_at_the_node_by_class(mode):
    tree, X, y = oblique_tree()
    figure = split_figure(tree, 0, X, y, mode=mode)
    bars, low, high = figure.data
    assert list(bars.customdata) == ["radius", "<texture>"]
    assert "&lt;texture&gt;" in bars.y
    assert sum(low.y) == (y == "low").sum()
    assert sum(high.y) == (y == "high").sum()
    assert figure.layout.shapes[0].x0 == 10.0


def test_without_labels_the_two_sides_are_coloured():
    tree, X, y = oblique_tree(classes=None)
    _, left, right = split_figure(tree, 0, X).data
    assert (sum(left.y), sum(right.y)) == ((y == 0).sum(), (y == 2).sum())


def test_columns_beyond_the_most_share_one_bar():
    tree, X, y = oblique_tree()
    bars = split_figure(tree, 0, X, y, most=1).data[0]
    assert len(bars.y) == 2
    assert bars.customdata[1] == ""


@pytest.mark.parametrize("make", [stump_and_more, number_tree])
def test_a_split_of_one_column_has_one_bar(make):
    tree, X, y = make()
    figure = split_figure(tree, 0, X, y)
    assert list(figure.data[0].customdata) == ["radius"]
    assert "radius (mm)" in figure.layout.xaxis2.title.text


def test_a_leaf_is_refused():
    tree, X, _ = oblique_tree()
    with pytest.raises(ValueError, match="leaf"):
        split_figure(tree, 1, X)
    with pytest.raises(ValueError, match="rows"):
        split_figure(tree, 0, X, ["low"])
