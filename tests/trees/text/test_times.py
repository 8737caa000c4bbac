"""Times of day and durations in words: what they say is what the tree does."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.trees.cells import HOURS, CellForm
from treelab.trees.feature import Feature
from treelab.trees.text import (
    cell_text,
    change_text,
    fact_text,
    path_conditions,
    path_lines,
    split_text,
    to_rules,
    value_within,
)
from treelab.trees.tree import Tree, midpoint
from treelab.trees.words import clock_text, last_time, parse

BEGUN = Feature("begun", unit=HOURS, form=CellForm(unit=HOURS, times="h:mm"))
MILLISECONDS = st.integers(-400 * 3_600_000, 400 * 3_600_000)


def table(hours) -> pd.DataFrame:
    """Rows of times."""
    return pd.DataFrame({"begun": np.asarray(hours, dtype=float)})


def tree_of(thresholds, rows: pd.DataFrame, feature: Feature = BEGUN) -> Tree:
    """A tree of depth 2 that splits times at three places, and knows the rows."""
    low, middle, high = thresholds
    leaves = np.arange(4.0)[:, None]
    splits = [middle, low, high]
    tree = Tree.complete([feature], [0] * 3, splits, [False] * 3, leaves)
    return tree.with_rows(rows, np.zeros(len(rows)))


def holds(words: str, hours: float) -> bool:
    """Whether a reader of a condition would say that it holds for a time."""
    if words.startswith("begun ≤ "):
        return hours <= parse(words.removeprefix("begun ≤ "))
    if words.startswith("begun > "):
        return hours > parse(words.removeprefix("begun > "))
    low, high = words.split(" < begun ≤ ")
    return parse(low) < hours <= parse(high)


@given(passed=MILLISECONDS)
def test_a_time_reads_back_to_the_millisecond(passed):
    hours = passed / 3_600_000
    assert parse(clock_text(hours)) == hours
    assert parse(last_time(hours)) == hours


@pytest.mark.parametrize(
    ("hours", "text"),
    [
        (9 + 5 / 60, "9:05"),
        (0, "0:00"),
        (-1e-9, "0:00"),
        (-1.5, "−1:30"),
        (25.5, "25:30"),
        (17 + 2 / 60 + 30 / 3600, "17:02:30"),
        (1.5 / 3600, "0:00:01.5"),
        (10 - 1e-8, "10:00"),  # seconds are never 60
    ],
)
def test_a_time_is_written_with_the_parts_that_it_has(hours, text):
    assert clock_text(hours) == text


@given(
    passed=st.lists(st.integers(0, 86_399), min_size=4, max_size=12, unique=True),
    parts=st.sampled_from([60, 3600]),
)
def test_a_reader_of_rules_of_times_sends_each_row_to_its_leaf(passed, parts):
    hours = np.unique(np.sort(passed) // (3600 // parts)) / parts
    if len(hours) < 4:
        return
    cuts = [float(midpoint(low, high)) for low, high in pairwise(hours.tolist())]
    frame = table(hours)
    tree = tree_of([cuts[0], cuts[len(cuts) // 2], cuts[-1]], frame)
    rules = to_rules(tree).set_index("leaf")["rule"]
    for time, leaf in zip(hours, tree.apply(frame)):
        passing = [n for n in rules.index if "passes" not in rules[n]]
        assert [n for n in passing if holds(rules[n], time)] == [leaf]
        assert HOURS not in "".join(rules)
    if parts == 60:  # then no other minute changes sides either
        minutes = np.arange(0, 1440, 7) / 60
        goes_left = tree.margin(table(minutes))[:, 0] >= 0
        rule = split_text(tree, 0)
        assert [holds(rule, minute) for minute in minutes] == goes_left.tolist()


def test_all_texts_of_a_row_have_times():
    rows = table([6.5, 9 + 5 / 60, 12.25, 20])
    tree = tree_of((7.75, 12, 16), rows)
    row = rows.iloc[[1]]
    assert split_text(tree, 0) == "begun ≤ 12:00"
    assert path_lines(tree, row) == ["7:45 < begun ≤ 12:00: it is 9:05"]
    (condition,) = path_conditions(tree, tree.path(row)[-1])
    assert fact_text(tree, condition, value_within(tree, condition, row)) == (
        "begun is 9:05 (> 7:45, ≤ 12:00)"
    )
    assert change_text(BEGUN, 9 + 5 / 60, 6.5, tree, rows.iloc[[0]]) == (
        "lower begun from 9:05 to 7:45 or less"
    )


def test_hours_that_were_not_written_as_times_stay_numbers():
    took = Feature("begun", unit=HOURS, form=CellForm(unit=HOURS, example="1.5 hours"))
    tree = tree_of((7.75, 12, 16), table([6.5, 9.5, 12.25, 20]), took)
    assert split_text(tree, 0) == "begun ≤ 12 hours"
    assert cell_text(took, 9.5) == "9.5 hours"


@pytest.mark.parametrize("hours", [1e7 + 0.1, -1e20, 1.7e300, np.inf])
def test_more_hours_than_people_write_are_a_number(hours):
    assert parse(clock_text(hours)) == pytest.approx(hours)
    assert parse(last_time(hours)) == pytest.approx(hours)
    assert cell_text(BEGUN, hours).endswith(" hours")


def test_an_infinite_threshold_is_no_time():
    tree = tree_of((7.75, np.inf, 16), table([6.5, 9.5, 12.25, 20]))
    assert split_text(tree, 0, missing=False) == "begun is known"
