"""The best split of each column, against trying them all."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.editing.tables import COLUMNS, fitted, table
from treelab.editing.candidates import candidates, gain_of
from treelab.editing.edited import Edited
from treelab.editing.limits import EditRows
from treelab.learners.cart.estimators import CartRegressor


def impurity(values: np.ndarray) -> float:
    """Gini impurity of indicators, or variance: summed over the outputs."""
    return values.var(axis=0).sum() if len(values) else 0.0


def gain(values: np.ndarray, left: np.ndarray) -> float:
    n = len(values)
    sides = values[left], values[~left]
    return impurity(values) - sum(len(side) / n * impurity(side) for side in sides)


@pytest.mark.parametrize("target", ["label", "value"])
def test_a_number_is_cut_where_a_greedy_tree_cuts_it(target):
    frame = table(1).dropna()
    tree = fitted(frame, target)
    rows = EditRows(tree, frame[COLUMNS], frame[target])
    at = np.flatnonzero(frame["job"] != "cook")
    found = {c.column: c for c in candidates(rows, at, tree.features)}
    grower = DecisionTreeRegressor if target == "value" else DecisionTreeClassifier
    for column in ("age", "income"):
        x, y = frame[[column]].to_numpy()[at], frame[target].to_numpy()[at]
        grown = grower(max_depth=1, min_samples_leaf=5).fit(x, y).tree_
        assert found[column].threshold == pytest.approx(grown.threshold[0])
        left = x[:, 0] <= grown.threshold[0]
        assert found[column].gain == pytest.approx(gain(rows.values(at), left))
        assert found[column].n_left == left.sum()
        assert gain_of(rows, at, left) == pytest.approx(found[column].gain)


@pytest.mark.parametrize("target", ["label", "value"])
def test_no_other_division_of_the_categories_gains_more(target):
    frame = table(2)
    tree = fitted(frame, target)
    rows = EditRows(tree, frame[COLUMNS], frame[target])
    at = np.arange(len(frame))
    found = {c.column: c for c in candidates(rows, at, tree.features)}["job"]
    job = frame["job"].to_numpy()
    every = [
        gain(rows.values(), np.isin(job, names))
        for n in (1, 2, 3)
        for names in combinations(["cook", "nurse", "pilot", "smith"], n)
    ]
    assert found.gain == pytest.approx(max(every))
    assert found.gain == pytest.approx(
        gain(rows.values(), np.isin(job, found.categories))
    )


def test_missing_values_go_where_they_gain_most():
    frame = table(3)
    tree = fitted(frame)
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    found = {
        c.column: c for c in candidates(rows, np.arange(len(frame)), tree.features)
    }["age"]
    age = frame["age"].to_numpy()
    every = []
    for threshold in np.unique(age[~np.isnan(age)])[:-1]:
        for side in (True, False):
            left = np.where(np.isnan(age), side, age <= threshold)
            if 5 <= left.sum() <= len(age) - 5:
                every.append(gain(rows.values(), left))
    assert found.gain == pytest.approx(max(every))


@pytest.mark.parametrize("target", ["label", "value"])
def test_rows_of_whole_weights_split_as_rows_that_often(target):
    frame = table(3)
    times = np.random.default_rng(0).integers(1, 4, len(frame))
    tree = fitted(frame, target)
    rows = EditRows(tree, frame[COLUMNS], frame[target], times)
    often = frame.loc[frame.index.repeat(times)]
    repeated = EditRows(tree, often[COLUMNS], often[target])
    assert rows.variance == pytest.approx(repeated.variance)
    at, every = np.arange(len(frame)), np.arange(len(often))
    found = candidates(rows, at, tree.features, min_samples_leaf=1)
    wanted = candidates(repeated, every, tree.features, min_samples_leaf=1)
    assert len(found) == len(wanted) == 3
    for one, other in zip(found, wanted):
        named = ("column", "threshold", "categories", "missing_left")
        for name in named:
            assert getattr(one, name) == getattr(other, name)
        assert one.gain == pytest.approx(other.gain)
        assert one.n_left < other.n_left
    left = frame["income"].to_numpy() > 0
    many = left.repeat(times)
    assert gain_of(rows, at, left) == pytest.approx(gain_of(repeated, every, many))


def test_rows_go_where_a_new_split_says_though_another_takes_zeros_for_missing():
    x = np.repeat([-1.0, 0.0, 0.0, 1.0], 9)
    frame, y = pd.DataFrame({"x": x}), (x >= 0) * 1.0
    one = CartRegressor(tune=False, max_leaf_nodes=2).fit(frame, y).tree_
    other = replace(one.features[0], missing_range=(0.0, 0.0))  # as of LightGBM
    tree = replace(one, features=(*one.features, other))
    rows = EditRows(tree, frame, y)
    (found,) = candidates(rows, np.arange(len(x)), tree.features)
    left = Edited.of(tree).with_split(found.edit("")).tree
    assert np.sum(left.apply(frame) == left.left[0]) == found.n_left


def test_forbidden_columns_and_small_nodes_have_no_candidates():
    frame = table()
    tree = fitted(frame)
    rows = EditRows(tree, frame[COLUMNS], frame["label"])
    every = np.arange(len(frame))
    found = candidates(rows, every, tree.features, forbidden={"income"})
    assert {c.column for c in found} == {"age", "job"}
    gains = [c.gain for c in candidates(rows, every, tree.features)]
    assert gains == sorted(gains, reverse=True)
    for few in (every[:9], every[:0]):
        assert candidates(rows, few, tree.features) == []
