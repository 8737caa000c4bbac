import numpy as np
import pytest

from tests.figures.small_trees import number_tree, stump_and_more, table
from treelab.figures.oblique import split_figure, split_weights
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def oblique_tree(classes=("low", "high")):
    """radius - 4·texture <= 10; texture spreads far less than radius."""
    X = table()
    two = classes is not None
    tree = Tree(
        features=(Feature("radius", unit="mm"), Feature("<texture>"), Feature("idle")),
        left=[1, -1, -1],
        right=[2, -1, -1],
        feature=[-2, -1, -1],
        threshold=[10.0, np.nan, np.nan],
        missing_left=[False] * 3,
        value=[[0.5, 0.5], [1, 0], [0, 1]] if two else [[1.0], [0.0], [2.0]],
        n_rows=[0] * 3,
        impurity=[np.nan] * 3,
        classes=classes,
        weights=[[1.0, -4.0, 0.0], [0.0] * 3, [0.0] * 3],
    )
    X = X.rename(columns={"texture": "<texture>"}).assign(idle=1.0)
    y = tree.predict(X)
    return tree.with_rows(X, y), X, y


def test_shares_follow_the_spread_and_not_the_raw_weight():
    tree, X, _ = oblique_tree()
    weights = split_weights(tree, 0, X)
    assert weights["column"].tolist() == ["radius", "<texture>"]
    assert weights["share"].sum() == pytest.approx(1)
    spread = X["radius"].to_numpy().std()
    assert weights["standardised"][0] == pytest.approx(spread)


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
