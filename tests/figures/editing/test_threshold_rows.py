"""What a histogram with a threshold that is dragged is drawn from."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.figures.editing import threshold_rows, threshold_stops
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.dates import decimal_years
from treelab.trees.text import shown_threshold


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3e8])
def test_every_row_with_a_value_is_in_a_bar_and_on_one_side(scale):
    rng = np.random.default_rng(0)
    x = scale * rng.normal(size=200)
    x[::7] = np.nan
    odd = np.arange(200) % 2 == 1
    known = ~np.isnan(x)
    stops = {float(at): f"{at:.3g}" for at in np.quantile(x[known], [0.1, 0.5, 0.9])}
    groups = [("odd", odd, "#111111"), ("even", ~odd, "#222222")]
    rows = json.loads(json.dumps(threshold_rows(x, groups, stops, [*stops][1])))
    assert rows["at"] == 1
    assert rows["n_rows"] == known.sum()
    for (_, _, counts), (_, members, _) in zip(rows["groups"], groups):
        assert sum(counts) == (known & members).sum()
    assert [at for at, _, _ in rows["stops"]] == [*stops]  # exact, as they are edits
    assert [n for _, _, n in rows["stops"]] == [int((x <= at).sum()) for at in stops]
    ticks = [at for at, _ in rows["x_ticks"]]
    assert 2 <= len(ticks) <= 6
    assert rows["edges"][0] <= ticks[0] + 1e-9 * scale
    assert ticks[-1] <= rows["edges"][-1] + 1e-9 * scale


@pytest.mark.parametrize("x", [[], [np.nan], [2.0, 2.0], [1e16, 1e16]])
def test_rows_that_nothing_parts_have_no_line(x):
    x = np.array(x)
    rows = threshold_rows(x, [("rows", np.ones(len(x), bool), "#111111")], {}, np.inf)
    assert (rows["at"], rows["stops"]) == (None, [])


@pytest.mark.parametrize("seed", range(4))
def test_a_threshold_is_written_as_the_tree_writes_it_after_the_move(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=90).round(3), "rest": rng.random(90)})
    y = (X["size"] > 0.1).astype(int) ^ (X["rest"] > 0.9)
    train = np.arange(90) < 60
    fitted = CartClassifier(max_depth=2, tune=False, random_state=0).fit(X, y).tree_
    x, known = X["size"].to_numpy()[train], X["size"].to_numpy()
    now = float(fitted.threshold[0])  # all rows reach the root
    stops = threshold_stops(x, known, now)
    assert stops[now] == shown_threshold(fitted, 0)
    for stop in [*stops][::9]:
        threshold = fitted.threshold.copy()
        threshold[0] = stop
        moved = replace(fitted, threshold=threshold, between=None, missing_rows=None)
        assert stops[stop] == shown_threshold(moved.with_rows(X, y), 0)
    assert [*stops] == sorted(stops)


def test_a_threshold_between_times_is_written_as_a_time():
    x = np.arange(360, 1200, 7) / 60  # each seven minutes from 6:00
    stops = threshold_stops(x, x, None, kind="clock")
    rows = threshold_rows(x, [], stops, min(stops), kind="clock")
    assert rows["stops"][0][1:] == ("6:03", 1)
    assert rows["sign"] == "≤"
    assert rows["x_ticks"][0][1] == "10:00"


def test_a_threshold_between_dates_is_written_as_a_date():
    days = decimal_years(pd.Series(pd.date_range("2019-03-01", periods=40, freq="9D")))
    x = days.to_numpy()
    stops = threshold_stops(x, x, None, kind="date")
    rows = threshold_rows(x, [], stops, min(stops), kind="date")
    assert rows["stops"][0][1:] == ("6 March 2019", 1)
    assert rows["sign"] == "before"
    assert rows["x_ticks"][0][1].endswith("2019")
