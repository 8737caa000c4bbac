"""Rows worth a look."""

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import number_tree, tree_of
from tests.pages.stores import COLORS, FEATURES
from treelab.evaluation.explanations import (
    least_sure,
    rows_where,
    typical_rows,
    worst_errors,
)
from treelab.trees.ensemble import WeightedTrees


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
def test_the_least_sure_row_has_the_smallest_margin(classes):
    tree = tree_of(4, classes)
    X = pd.DataFrame(
        np.random.default_rng(1).uniform(0, 10, (60, 2)),
        columns=[feature.column for feature in tree.features],
    )
    proba = tree.predict_proba(X)
    largest = -np.sort(-proba, axis=1)
    margin = (largest[:, 0] - largest[:, 1])[least_sure(tree, X, proba)]
    assert (np.diff(margin) >= 0).all()
    assert len(margin) == len(X)


def test_of_numbers_the_leaf_with_the_largest_spread_is_least_sure():
    tree, X, y = number_tree()
    tree = tree.with_rows(X, np.where(X["radius"] > 19.5, y * 9, y))
    assert X["radius"].iloc[least_sure(tree, X)[0]] > 19.5


def test_of_an_ensemble_trees_that_differ_most_are_least_sure():
    rng = np.random.default_rng(2)
    model = WeightedTrees(
        FEATURES,
        np.zeros((3, 1), int),
        np.full((3, 1), 20.0),
        np.ones((3, 1), bool),
        np.stack([[[1.0], [k]] for k in (1.0, 5.0, 9.0)]),
        rng.normal(size=(3, 2)),
        target="weight",
    )
    X = pd.DataFrame({"radius": [5.0, 30.0], "texture $x$": 1.0, "colour": COLORS[0]})
    assert least_sure(model, X).tolist() == [1, 0]


def test_the_worst_error_has_the_smallest_probability_of_its_class():
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
    y = ["a", "a", "b", "new"]
    assert worst_errors(y, None, proba, ("a", "b")).tolist() == [3, 1, 2, 0]
    assert worst_errors([1, 2, 3], [1, 9, 4]).tolist() == [1, 2, 0]


def test_a_typical_row_lies_in_the_middle():
    X = pd.DataFrame(
        {
            "size": [1.0, 2, 3, 4, 5, 3, 90],
            "kind": ["a", "a", "a", "a", None, "b", "a"],
            "empty": [np.nan] * 7,
        }
    )
    candidates = np.array([True] * 6 + [False])
    places = typical_rows(X, candidates)
    assert places[0] == 2
    assert sorted(places) == list(range(6))
    assert len(typical_rows(X, ~candidates & False)) == 0


def test_rows_are_filtered_by_bounds_and_categories():
    numbers = pd.Series([1.0, np.nan, 3.0, 5.0])
    assert rows_where(numbers).all()
    assert rows_where(numbers, 3).tolist() == [False, False, True, True]
    assert rows_where(numbers, 1, 3).tolist() == [True, False, True, False]
    flags = pd.Series([True, False, None], dtype=object)
    assert rows_where(flags, among=["True"]).tolist() == [True, False, False]
