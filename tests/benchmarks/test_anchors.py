"""Anchors: the rule that a model follows is found, and is the shortest."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.deciders import anchor_facts, find_anchor, interval_codes


@pytest.fixture
def table():
    """Four hundred rows: a text, a number with few values, a number with many."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "color": random.choice(["red", "blue", "green"], 400),
            "doors": random.integers(2, 5, 400),
            "price": random.normal(size=400),
        }
    )


def test_a_rule_of_one_condition_is_its_anchor(table):
    predicted = np.where(table["color"] == "red", "stop", "go")
    rows = np.flatnonzero(table["color"] == "red")
    facts = anchor_facts(table, predicted, rows[:5], "color")
    assert facts["conditions"] == facts["precision"] == facts["alone"] == 1
    assert facts["coverage"] == pytest.approx((table["color"] == "red").mean())


def test_a_rule_of_two_conditions_takes_both(table):
    high = table["price"] > table["price"].median()
    predicted = (table["color"] == "red") & high
    row = int(np.flatnonzero(predicted)[0])
    anchor = find_anchor(interval_codes(table), predicted.to_numpy(), row)
    assert sorted(anchor.columns) == [0, 2]
    assert anchor.precision == 1


def test_a_model_of_one_answer_needs_no_condition(table):
    anchor = find_anchor(interval_codes(table), np.zeros(400), 3)
    assert anchor.columns == ()
    assert anchor.coverage == 1


def test_missing_values_are_a_condition_of_their_own(table):
    table.loc[:49, "price"] = np.nan
    codes = interval_codes(table)
    assert len(np.unique(codes[:50, 2])) == 1
    assert not np.isin(codes[50:, 2], codes[:50, 2]).any()
