"""A node's statistics as a table: a column a data split, dashes for what is unknown."""

import pytest

from tests.figures.small_trees import number_tree, stump_and_more
from treelab.evaluation.node_report import node_report
from treelab.figures.node_report import statistics_table, statistics_words

COLORS = {"small": "#111111", "rough": "#222222", "fine": "#333333"}


def drawn(tree, node, splits, colors):
    """The table of a node, its columns named as the splits are."""
    found = node_report(tree, node, splits).statistics
    return statistics_table(tree, node, found, colors)


@pytest.mark.parametrize("node", range(5))
def test_every_data_split_is_a_column_and_the_last_line_is_explained(node):
    tree, X, y = stump_and_more()
    html = drawn(tree, node, {"training": (X, y), "test": (X[:8], y[:8])}, COLORS)
    assert "<th>training</th><th>test</th>" in html
    last = statistics_words(tree, node).partition(":")[0].lower()
    assert f"<th>{last}</th>" in html
    n_rows = int(tree.decision_path(X)[:, node].sum())
    assert f"<td>{n_rows}</td>" in html


def test_a_split_without_a_row_at_the_node_has_dashes():
    tree, X, y = stump_and_more()
    html = drawn(tree, 4, {"training": (X, y), "test": (X[:8], y[:8])}, COLORS)
    assert "<td>–</td>" in html


def test_numbers_have_a_mean_and_a_unit_where_a_leaf_errs():
    tree, X, y = number_tree()
    html = drawn(tree, 1, {"training": (X, y)}, {})
    assert "<th>mean</th>" in html
    assert "<th>variance</th>" in html
    assert statistics_words(tree, 1, "kg").endswith("prediction and target, in kg.")


def test_weighted_rows_are_explained_by_their_weight():
    tree, X, y = stump_and_more()
    weighted = tree.with_rows(X, y, sample_weight=X["radius"].to_numpy() + 1)
    for node in (0, 1):
        assert "weight" in statistics_words(weighted, node)
        assert "weight" not in statistics_words(tree, node)
