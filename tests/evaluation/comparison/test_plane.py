"""Splits as lines in a plane, and what models predict on it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from tests.evaluation.comparison.trees import trap, xor_tree
from tests.figures.small_trees import oblique_tree, stump_and_more, tree_of
from treelab.evaluation.comparison import (
    column_use,
    most_used,
    split_lines,
    surface,
    typical_row,
)
from treelab.trees.adapters import from_sklearn

BOX = (0.0, 40.0, 0.0, 10.0)


def test_a_split_reaches_as_far_as_its_rows():
    tree, _, _ = stump_and_more()
    first, second = split_lines(tree, (0, 1), np.full(2, np.nan), BOX)
    assert (first.node, first.level, first.x) == (0, 0, (9.5, 9.5))
    assert sorted(first.y) == [0, 10]
    assert (second.node, second.level, second.y) == (2, 1, (1.5, 1.5))
    assert sorted(second.x) == [9.5, 40]


def test_a_plane_may_begin_below_the_root():
    tree, _, _ = stump_and_more()
    (line,) = split_lines(tree, (0, 1), np.full(2, np.nan), BOX, node=2)
    assert (line.node, line.level) == (2, 0)
    assert sorted(line.x) == [0, 40]


def test_an_oblique_split_is_a_slanted_line():
    tree, _, _ = oblique_tree()
    (line,) = split_lines(tree, (0, 1), np.zeros(3), BOX)
    for x, y in zip(line.x, line.y):
        assert x - 4 * y == pytest.approx(10)


def test_a_column_that_is_held_sends_all_rows_one_way():
    X, y = trap(200)
    tree = xor_tree(X, y)
    cold, hot = (np.full(10, value) for value in (800.0, 900.0))
    for held, node in ((cold, 1), (hot, 2)):
        lines = split_lines(tree, (1, 2), held, (0, 80, 0, 1))
        assert [line.node for line in lines] == [node]


@pytest.mark.parametrize("seed", range(3))
def test_lines_lie_where_predictions_change(seed):
    tree = tree_of(3, seed=seed)
    box = (0.0, 10.0, 0.0, 10.0)
    names = [feature.column for feature in tree.features]
    for line in split_lines(tree, (0, 1), np.full(2, np.nan), box):
        middle = np.array([np.mean(line.x), np.mean(line.y)])
        step = 1e-6 * np.isclose(*zip(line.x, line.y))  # across the line
        leaves = tree.apply(pd.DataFrame([middle - step, middle + step], columns=names))
        below = [line.node in tree.path_to(int(leaf)) for leaf in leaves]
        assert all(below)
        assert leaves[0] != leaves[1]


def test_a_surface_predicts_each_point_of_the_grid():
    X, y = trap(200)
    tree = xor_tree(X, y)
    row = typical_row(X)
    x, z = np.linspace(750, 950, 7), np.linspace(10, 70, 5)
    predicted = surface(tree, row, (X.columns[0], X.columns[1]), x, z)
    assert predicted.shape == (5, 7)
    for i, j in ((0, 0), (4, 6), (2, 1)):
        one = row.assign(**{X.columns[0]: x[j], X.columns[1]: z[i]})
        assert predicted[i, j] == tree.predict(one)[0]


def test_a_typical_row_has_medians_and_the_most_frequent():
    X = pd.DataFrame({"a": [1.0, 9.0, np.nan, 3.0], "b": ["x", "y", "y", None]})
    row = typical_row(X.assign(c=np.nan))
    assert row["a"].tolist() == [3.0]
    assert row["b"].tolist() == ["y"]
    assert row["c"].isna().all()


def test_columns_count_by_the_rows_that_they_test():
    X, y = trap(200)
    use = column_use(xor_tree(X, y))
    assert use[X.columns[0]] == pytest.approx(0.5)
    assert sum(use.values()) == pytest.approx(1)
    tree, _, _ = oblique_tree()
    spread = [replace(f, spread=s) for f, s in zip(tree.features, (1.0, 0.25, 1.0))]
    use = column_use(replace(tree, features=tuple(spread)))
    assert list(use.values()) == pytest.approx([0.5, 0.5, 0])


def test_the_filling_below_the_leaves_of_an_ensemble_tests_no_column():
    X, y = trap(200)
    y = (y == "sound").astype(float)
    scikit = RandomForestRegressor(4, max_leaf_nodes=5, random_state=0).fit(X, y)
    forest, tests = from_sklearn(scikit), dict.fromkeys(X.columns, 0)
    for tree in forest:
        counted = tree.with_rows(X, y)
        for node in np.flatnonzero(~tree.is_leaf):
            tests[X.columns[tree.feature[node]]] += counted.n_rows[node]
    use = column_use(forest.to_weighted_trees().with_rows(X))
    assert use == pytest.approx({c: n / sum(tests.values()) for c, n in tests.items()})


def test_columns_that_all_models_use_come_first():
    uses = [{"a": 0.9, "b": 0.1}, {"b": 0.6, "c": 0.4}]
    assert most_used(uses, ["a", "c", "b", "d"]) == ("b", "a", "c", "d")
