"""The leaves as bars."""

from tests.figures.small_trees import stump_and_more
from treelab.evaluation.routing import leaf_purity
from treelab.figures.routing import purity_figure


def test_each_leaf_has_a_bar_in_the_classes_colours_and_its_purity():
    tree, X, y = stump_and_more()
    mixed = tree.node_counts(X, y).T  # (classes, nodes)
    figure = purity_figure(
        leaf_purity(tree, ["a", "b", "c"], mixed), {"a": "#112233"}, mode="dark"
    )
    assert [list(bar.x) for bar in figure.data] == [[10, 0, 0], [0, 12, 0], [0, 0, 18]]
    assert figure.data[0].marker.color == "#112233"
    assert [note.text for note in figure.layout.annotations] == ["100%"] * 3
