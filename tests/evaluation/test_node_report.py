"""A report on one node holds what the whole tree's numbers hold."""

import numpy as np
import pandas as pd
import pytest

from tests.trees.make import make_table, make_target, make_tree
from treelab import CartClassifier
from treelab.evaluation.node_report import node_report, node_rows, rows_at_node


def case(seed: int, n_rows: int = 120, **options):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, int(rng.integers(2, 12)), oblique=0.4, **options)
    X = make_table(rng, n_rows)
    return tree, X, make_target(rng, tree, n_rows)


@pytest.mark.parametrize("seed", range(4))
def test_rows_at_a_node_are_those_whose_path_passes_it(seed):
    tree, X, _ = case(seed)
    passed = tree.decision_path(X)
    for node in range(tree.n_nodes):
        rows = rows_at_node(tree, node, X)
        assert rows.tolist() == np.flatnonzero(passed[:, node]).tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [3, 0])
def test_a_data_split_s_numbers_are_those_of_its_rows(seed, n_classes):
    tree, X, y = case(seed, n_classes=n_classes)
    shown = tree.with_rows(X, y)
    counts = tree.node_counts(X)
    for node in range(tree.n_nodes):
        facts = node_report(tree, node, {"test": (X, y)}).statistics["test"]
        assert facts.n_rows == counts[node]
        assert facts.n_total == len(X)
        if not facts.n_rows:
            assert (
                facts.impurity
                is facts.gain
                is facts.class_fractions
                is facts.mean
                is None
            )
            continue
        assert facts.impurity == pytest.approx(shown.impurity[node])
        here = y[rows_at_node(tree, node, X)]
        if n_classes:
            assert facts.class_fractions.tolist() == [
                np.mean(here == c) for c in tree.classes
            ]
            assert facts.total_class_fractions.tolist() == [
                np.mean(y == c) for c in tree.classes
            ]
        else:
            assert facts.mean == pytest.approx(here.mean())
            assert facts.total_std == pytest.approx(y.std())
        if tree.is_leaf[node]:
            answers = tree.predict(X)[rows_at_node(tree, node, X)]
            if n_classes:
                assert facts.accuracy == pytest.approx(np.mean(answers == here))
            else:
                assert facts.mean_absolute_error == pytest.approx(
                    np.abs(answers - here).mean()
                )
            continue
        children = tree.left[node], tree.right[node]
        below = sum(counts[c] * shown.impurity[c] for c in children) / counts[node]
        assert facts.gain == pytest.approx(shown.impurity[node] - below)


def test_a_data_split_may_be_empty():
    tree, X, y = case(0)
    facts = node_report(tree, 0, {"valid": (X.iloc[:0], y[:0])}).statistics["valid"]
    assert (facts.n_rows, facts.n_total, facts.fraction) == (0, 0, 0.0)


def test_dates_of_a_data_frame_are_read_once():
    X = pd.DataFrame({"day": pd.date_range("2019-01-01", periods=40)})
    y = np.arange(40.0) > 10
    tree = CartClassifier(tune=False, max_depth=1).fit(X, y).tree_
    assert node_report(tree, 1, {"all": (X, y)}).statistics["all"].n_rows == 11


def test_rows_come_with_the_truth_first_and_are_cut():
    tree, X, y = case(1)
    X = X.assign(answer=1)
    X.index = np.arange(len(X)) + 1000
    table = node_rows(tree, 0, X, y, most=50)
    assert len(table) == 50
    assert table.columns[0] == "answer "
    assert table.iloc[:, 0].tolist() == y[:50].tolist()
    assert table.index[0] == 1000
    assert sorted(table.columns[1:]) == sorted(X.columns)
    assert len(node_rows(tree, 0, X, y, most=None)) == len(X)


def test_a_node_that_is_not_there_is_refused():
    tree, X, _ = case(0)
    with pytest.raises(ValueError, match="nodes 0 to"):
        rows_at_node(tree, tree.n_nodes, X)
