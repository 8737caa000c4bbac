"""Partial dependence and the lines of single rows."""

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import stump_and_more
from tests.trees.make import make_table, make_tree
from treelab.evaluation.importance import dependence, grid, sample_rows


@pytest.mark.parametrize("column", ["width", "job"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_each_line_is_the_prediction_of_a_row_with_that_value(column, n_classes):
    rng = np.random.default_rng(5)
    tree, X = make_tree(rng, 12, n_classes=n_classes), make_table(rng, 12)
    values = grid(X[column])
    found = dependence(tree, X, column, values, n_classes // 2)
    assert found.is_number == (column == "width")
    for place, value in enumerate(values):
        changed = X.copy()
        changed[column] = value
        slow = tree.predict_proba(changed)[:, 1] if n_classes else tree.predict(changed)
        assert found.lines[:, place] == pytest.approx(slow)
    assert found.mean == pytest.approx(found.lines.mean(0))


def test_a_column_that_is_not_read_changes_nothing():
    tree, X, _ = stump_and_more()
    found = dependence(tree, X.assign(idle=1.0), "idle", np.array([0.0, 9.0]), 1)
    assert (found.lines[:, 0] == found.lines[:, 1]).all()


def test_the_grid_has_the_values_that_rows_have():
    assert grid(pd.Series([3.0, 1.0, np.nan, 1.0])).tolist() == [1, 3]
    assert grid(pd.Series(["b", "a", "b", None])).tolist() == ["b", "a"]
    many = grid(pd.Series(np.random.default_rng(0).exponential(size=999)))
    assert 25 <= len(many) <= 30
    assert (np.diff(many) > 0).all()
    flags = grid(pd.Series([True, False, True]))
    assert flags.tolist() == [True, False]
    assert grid(pd.Series([np.nan, np.nan])).size == 0


def test_a_sample_has_few_rows_in_their_order():
    X = pd.DataFrame({"x": range(500)})
    rows = sample_rows(X)
    assert len(rows) == 200
    assert rows["x"].is_monotonic_increasing
    assert sample_rows(X[:10]).equals(X[:10])
