"""Counterfactuals: exact ones against all possible rows, searched ones by need."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import CATEGORIES, make_table, make_tree
from treelab.evaluation.counterfactuals import (
    Changes,
    KnownValues,
    Wanted,
    searched_counterfactuals,
    tree_counterfactuals,
)
from treelab.trees.cells import CellForm, note_forms
from treelab.trees.dates import ISO, decimal_years, moment_text
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

SEEDS = st.integers(0, 2**32 - 1)
COLUMNS = ["width", "age", "bmi", "job"]


def problem(seed, *, n_rows=6, oblique=0.0, **limits):
    """A random tree, a row, and few rows whose values are possible."""
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, 7, oblique=oblique, infinite=0.0)
    X = make_table(rng, n_rows)
    row = make_table(rng, 1)
    changes = Changes(row, KnownValues(X), **limits)
    predicted = tree.predict(row)[0]
    wanted = Wanted(tuple(label for label in tree.classes if label != predicted))
    return tree, changes, wanted, rng


def possible_rows(changes):
    """Every combination of the values that the rows have, and of missing ones."""
    options = []
    for column in COLUMNS:
        before = changes.value(column)
        values = [before, np.nan, *changes.known.X[column].dropna().unique()]
        if column == "job":
            values += CATEGORIES
        values = {str(value): value for value in values}.values()
        options.append([own for own in values if changes.allows(column, own)])
    rows = pd.DataFrame(list(product(*options)), columns=COLUMNS)
    numbers = dict.fromkeys(COLUMNS[:3], float)
    cost = sum(
        np.array([changes.cost(column, now) for now in rows[column]])
        for column in COLUMNS
    )
    return rows.astype(numbers), cost


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=SEEDS,
    locked=st.sampled_from([(), ("job",), ("width", "bmi")]),
    rising=st.sampled_from([(), ("age",)]),
)
def test_no_possible_row_is_nearer_than_the_exact_one(seed, locked, rising):
    tree, changes, wanted, _ = problem(seed, locked=locked, rising=rising)
    found = tree_counterfactuals(tree, changes, wanted)
    rows, cost = possible_rows(changes)
    good = wanted.accepts(tree.predict(rows))
    assert [own.distance for own in found] == sorted(own.distance for own in found)
    for own in found:
        assert tree.predict(own.row)[0] == own.prediction
        assert wanted.accepts([own.prediction])[0]
        assert not set(own.changes) & set(locked)
        for column, (before, now) in own.changes.items():
            assert changes.allows(column, now)
            assert not (column in rising and now < before)
        assert own.distance == pytest.approx(
            sum(changes.cost(column, now) for column, (_, now) in own.changes.items())
        )
    if good.any():
        assert found
        assert found[0].distance <= cost[good].min() + 1e-9


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=SEEDS)
def test_no_random_row_is_nearer_than_a_linear_programs(seed):
    tree, changes, wanted, rng = problem(seed, n_rows=20, oblique=1.0)
    found = tree_counterfactuals(tree, changes, wanted)
    known = [c for c in COLUMNS[:3] if not pd.isna(changes.value(c))]
    rows = pd.concat([changes.row] * 2000, ignore_index=True)
    for column in known:
        moves = rng.random(len(rows)) < 0.6
        rows[column] += moves * rng.normal(0, 1.5, len(rows))
        ends = [*changes.known.distinct[column][[0, -1]], changes.value(column)]
        rows[column] = rows[column].clip(min(ends), max(ends))  # none is invented
        for own in found:
            assert min(ends) - 1e-9 <= own.row[column].iloc[0] <= max(ends) + 1e-9
    good = wanted.accepts(tree.predict(rows))
    cost = sum(
        (rows[c] - changes.value(c)).abs() / changes.known.spreads[c] for c in known
    )
    for own in found:
        assert tree.predict(own.row)[0] == own.prediction
        assert set(own.changes) <= set(known)
    if good.any():
        assert found
        assert found[0].distance <= cost[good].min() + 1e-3


def test_a_leaf_between_the_rows_values_is_reached_at_its_border():
    tree, changes, wanted, _ = problem(3, n_rows=1)
    found = tree_counterfactuals(tree, changes, wanted)
    assert found
    for own in found:
        assert tree.predict(own.row)[0] == own.prediction


@pytest.mark.parametrize("seed", range(20))
def test_what_changes_more_than_a_nearer_one_is_left_out(seed):
    tree, changes, wanted, _ = problem(seed)
    found = tree_counterfactuals(tree, changes, wanted, most=tree.n_leaves)
    for near, far in combinations(found, 2):
        is_more = near.changes.items() <= far.changes.items()
        assert not is_more or near.prediction != far.prediction


def test_a_value_may_be_asked_for():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 6, n_classes=0, infinite=0.0)
    row, X = make_table(rng, 1), make_table(rng, 30)
    wanted = Wanted(low=float(np.sort(tree.value[tree.is_leaf, 0])[-1]))
    (found,) = tree_counterfactuals(tree, Changes(row, KnownValues(X)), wanted)
    assert tree.predict(found.row)[0] >= wanted.low


def test_linear_leaves_are_refused():
    rng = np.random.default_rng(0)
    tree = make_tree(rng, 6, n_classes=0, linear=True)
    changes = Changes(make_table(rng, 1), KnownValues(make_table(rng, 5)))
    with pytest.raises(ValueError, match="linear leaves"):
        tree_counterfactuals(tree, changes, Wanted(low=0.0))


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=SEEDS)
def test_each_change_of_a_searched_row_is_needed(seed):
    tree, changes, wanted, _ = problem(seed, n_rows=40, locked=("age",))
    exact = tree_counterfactuals(tree, changes, wanted)
    found = searched_counterfactuals(tree, changes, wanted, COLUMNS)
    for own in found:
        assert tree.predict(own.row)[0] == own.prediction
        assert "age" not in own.changes
        assert own.distance >= exact[0].distance - 1e-9
        for column in own.changes:
            without = {c: now for c, (_, now) in own.changes.items() if c != column}
            assert not wanted.accepts(tree.predict(changes.changed(without)))[0]


@pytest.mark.parametrize("bound", [15.0, 25.0])
def test_a_sum_moves_columns_only_within_their_range(bound):
    tree = Tree.complete(
        (Feature("x", fill=0.0), Feature("y", fill=0.0), Feature("unread")),
        None,
        np.array([bound]),
        np.zeros(1, bool),
        np.array([[1.0, 0.0], [0.0, 1.0]]),
        weights=np.array([[1.0, 1.0, 0.0]]),
        classes=("low", "high"),
    )
    X = pd.DataFrame({name: np.linspace(0, 10, 11) for name in ("x", "y", "unread")})
    X.loc[2, "unread"] = np.nan
    found = tree_counterfactuals(
        tree, Changes(X.iloc[[2]], KnownValues(X)), Wanted(("high",))
    )
    assert bool(found) == (bound < 20)
    for own in found:
        assert (own.row[["x", "y"]].to_numpy() <= 10).all()


@pytest.mark.parametrize(("locked", "now"), [("beds", "21 April 2021"), ("day", 3.0)])
def test_in_a_sum_dates_move_by_days_and_whole_numbers_by_whole_ones(locked, now):
    features = (Feature("day", form=CellForm("date", date=ISO)), Feature("beds"))
    tree = Tree.complete(
        features, None, [2021.3], [True], [1.0, 2.0], weights=[[1.0, 0.03]]
    )
    days = pd.Series(pd.date_range("2019-01-01", "2022-12-31", freq="17D"))
    X = pd.DataFrame({"day": decimal_years(days), "beds": np.arange(len(days)) % 5.0})
    note_forms(X, {features[0].column: features[0].form})
    row = X.iloc[[48]].assign(beds=0.0)  # 27 March 2021
    changes = Changes(row, KnownValues(X), locked=(locked,))
    (found,) = tree_counterfactuals(tree, changes, Wanted(low=2.0))
    ((_, value),) = found.changes.values()
    assert now == (value if locked == "day" else moment_text(value))


def test_equal_values_have_no_spread_for_the_rounding_of_their_mean():
    assert KnownValues(pd.DataFrame({"x": [0.1] * 6})).spreads == {"x": 1.0}
