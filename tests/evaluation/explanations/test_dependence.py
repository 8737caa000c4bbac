"""Partial dependence and the lines of single rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import stump_and_more
from tests.trees.make import make_table, make_tree
from treelab.evaluation.importance import (
    Dependence,
    dependence,
    grid,
    sample_rows,
    step_ends,
)
from treelab.trees.cells import CellForm
from treelab.trees.feature import Feature


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


@pytest.mark.parametrize("n_classes", [0, 3])
def test_between_step_ends_nothing_changes(n_classes):
    rng = np.random.default_rng(6)
    tree, X = make_tree(rng, 12, n_classes=n_classes), make_table(rng, 200)
    ends = step_ends(tree, X["width"])
    assert ends[-1] == X["width"].max()
    seen = np.sort(X["width"].dropna().unique())
    exact = dependence(tree, X[:20], "width", seen).lines
    steps = dependence(tree, X[:20], "width", ends).lines
    assert (steps[:, np.searchsorted(ends, seen)] == exact).all()
    assert 1 < len(ends) < len(seen)


def test_what_changes_elsewhere_too_has_no_steps():
    rng = np.random.default_rng(7)
    X = make_table(rng, 50)
    assert step_ends(make_tree(rng, 12, oblique=0.5), X["width"]) is None
    assert step_ends(make_tree(rng, 12, n_classes=0, linear=True), X["width"]) is None
    assert step_ends(make_tree(rng, 12), X["job"]) is None
    assert step_ends(make_tree(rng, 12), X["width"] * np.nan) is None


def test_intervals_and_places_of_times_are_told_as_times():
    times = Feature("at", unit="hours", form=CellForm(unit="hours", times="h:mm"))
    lines = np.array([[0.2, 0.75]])
    steps = Dependence("at", np.array([17 + 1 / 60, 20.0]), True, lines)
    assert "lowest, 0.200, at 17:01, and highest" in steps.sentence("price", times)
    seen = np.array([6.0, 17.0, 17.5, 20.0])
    steps = replace(steps, values=np.array([17.25, 20.0]), seen=seen)
    words = "lowest, 0.200, at ≤ 17:15, and highest, 0.750, at > 17:15."
    assert steps.sentence("price", times).endswith(words)
