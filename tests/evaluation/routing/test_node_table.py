"""The class routing distribution."""

import numpy as np
import pytest

from tests.figures.small_trees import complete_tree, number_tree, stump_and_more
from tests.trees.make import make_table, make_tree
from treelab.evaluation.routing import busiest_leaf, routing_table


def counted(tree, X):
    """Rows that pass each node, by walking them one by one."""
    passed = np.zeros(tree.n_nodes, dtype=int)
    for i in range(len(X)):
        passed[tree.path(X.iloc[[i]])] += 1
    return passed


@pytest.mark.parametrize("label", ["small", "rough", "fine"])
def test_fractions_are_those_found_by_walking_each_row(label):
    tree, X, y = stump_and_more()
    rows = X[y == label]
    table = routing_table(tree, tree.node_counts(rows))
    assert table["rows"].tolist() == counted(tree, rows).tolist()
    assert table["fraction"].tolist() == pytest.approx(counted(tree, rows) / len(rows))


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_each_level_that_a_row_reaches_adds_up_to_one(depth):
    tree, X = complete_tree(depth)
    table = routing_table(tree, tree.node_counts(X[:37]))
    assert table.groupby("level")["level_fraction"].sum().tolist() == pytest.approx(
        [1] * (depth + 1)
    )


def test_a_row_that_has_ended_counts_no_more_further_down():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, tree.node_counts(X))  # 10 of 40 rows end on level 1
    assert table["fraction"].tolist() == [1, 0.25, 0.75, 0.3, 0.45]
    assert table["level_fraction"].tolist() == [1, 0.25, 0.75, 0.4, 0.6]


def test_no_rows_leave_every_node_dark():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, tree.node_counts(X[:0]))
    assert not table[["rows", "fraction", "level_fraction"]].to_numpy().any()


def test_splits_have_conditions_and_leaves_predictions():
    tree, X, _ = stump_and_more()
    table = routing_table(tree, tree.node_counts(X))
    assert "radius" in table.condition[0]
    assert table.prediction.tolist() == ["", "small", "", "rough", "fine"]


def test_a_number_tree_predicts_in_its_unit():
    tree, X, _ = number_tree()
    assert routing_table(tree, tree.node_counts(X)).prediction.tolist() == [
        "",
        "2 kg",
        "6 kg",
    ]


def test_the_busiest_leaf_is_where_most_rows_end():
    tree, X, y = stump_and_more()
    assert (
        busiest_leaf(tree, routing_table(tree, tree.node_counts(X[y == "small"]))) == 1
    )


def test_a_long_condition_is_counted_to_its_end():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 8, oblique=1.0)
    table = routing_table(tree, tree.node_counts(make_table(rng, 20)))
    n_terms = (tree.weights != 0).sum(axis=1)
    assert n_terms.max() > 3
    for node in np.flatnonzero(n_terms > 3):
        assert f"{n_terms[node] - 3} more term" in table.condition[node]
