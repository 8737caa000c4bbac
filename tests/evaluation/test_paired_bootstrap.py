"""The paired bootstrap, against scikit-learn's scores and slow resampling."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from treelab.evaluation.comparison import disagreement
from treelab.evaluation.frontier import FrontierLine, size_words
from treelab.evaluation.metrics import scores
from treelab.evaluation.paired_bootstrap import (
    ScoreDifference,
    paired_bootstrap,
    score_intervals,
)
from treelab.trees.losses import Loss


def noisy(y, share, rng, labels):
    """Predictions that are right except for a ``share`` of the rows, drawn anew."""
    wrong = rng.random(len(y)) < share
    return np.where(wrong, rng.choice(labels, len(y)), y)


@pytest.mark.parametrize("labels", [[0, 1], ["a", "b", "c"], [True, False]])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_scores_are_those_of_the_score_table(labels, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(labels, 120)
    first, second = noisy(y, 0.4, rng, labels), noisy(y, 0.2, rng, labels)
    found = paired_bootstrap("multiclass", y, first, second)
    for metric in ("macro_f1", "accuracy"):
        assert found[metric].first == pytest.approx(
            scores("multiclass", y, first)[metric]
        )
        assert found[metric].second == pytest.approx(
            scores("multiclass", y, second)[metric]
        )


def test_in_the_other_order_it_is_the_same_interval():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 120)
    pair = [noisy(y, share, rng, ["a", "b", "c"]) for share in (0.4, 0.2)]
    orders = pair, pair[::-1]
    one, other = (paired_bootstrap("multiclass", y, *own)["macro_f1"] for own in orders)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_models_that_predict_the_same_have_no_interval():
    y, other = np.arange(40.0), np.arange(40.0) % 7
    rounded = other * (1 + 1e-15)
    assert disagreement("regression", y, other, rounded).rows.empty
    for second, same in ((other, True), (rounded, True), (2 * y - other, False)):
        best = paired_bootstrap("regression", y, other, second)["r2"]
        assert best.first == best.second
        assert ("CI" not in best.interval_words(("A", "B"))) == same
        assert (best.finding(("A", "B")) == "B and A predict the same") == same
        line = FrontierLine(pd.DataFrame({"leaves": [1]}), None)
        words = size_words(best, (line, line), ("A", "B"), 3)
        assert ("leaves: B and A predict the same, " in words) == same


def test_number_scores_are_those_of_the_score_table():
    rng = np.random.default_rng(0)
    y = rng.normal(200, 40, 90)
    first, second = y + rng.normal(0, 30, 90), y + rng.normal(5, 20, 90)
    found = paired_bootstrap("regression", y, first, second)
    for metric in ("r2", "rmse", "mae"):
        assert found[metric].first == pytest.approx(
            scores("regression", y, first)[metric]
        )
        assert found[metric].second == pytest.approx(
            scores("regression", y, second)[metric]
        )


@pytest.mark.parametrize("loss", [Loss("poisson"), Loss("quantile", 0.8)])
def test_d2_is_that_of_the_score_table_and_its_interval_that_of_drawing_rows(loss):
    rng = np.random.default_rng(1)
    y, weight = rng.poisson(3.0, 80).astype(float), rng.uniform(0.5, 2, 80)
    first, second = rng.uniform(1, 6, 80), 0.5 + y * rng.uniform(0.5, 1.5, 80)
    found = paired_bootstrap("regression", y, first, second, weight, loss=loss)["d2"]
    assert found.first == pytest.approx(loss.score(first, y, weight))
    assert found.second == pytest.approx(loss.score(second, y, weight))
    gains = []
    for _ in range(500):
        rows = rng.integers(80, size=80)
        own = y[rows], weight[rows]
        gains.append(loss.score(second[rows], *own) - loss.score(first[rows], *own))
    low, high = np.quantile(gains, [0.025, 0.975])
    width = high - low
    assert found.low == pytest.approx(low, abs=0.2 * width)
    assert found.high == pytest.approx(high, abs=0.2 * width)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_the_interval_is_that_of_drawing_rows_one_by_one(task):
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=80) if task == "multiclass" else rng.normal(size=80)
    if task == "multiclass":
        first, second = noisy(y, 0.5, rng, range(3)), noisy(y, 0.2, rng, range(3))
    else:
        first, second = y + rng.normal(size=80), y + 0.5 * rng.normal(size=80)
    metric = "macro_f1" if task == "multiclass" else "r2"
    gains = []
    for _ in range(300):
        rows = rng.integers(80, size=80)
        two = scores(task, y[rows], second[rows])[metric]
        gains.append(two - scores(task, y[rows], first[rows])[metric])
    found = paired_bootstrap(task, y, first, second)[metric]
    width = np.subtract(*np.quantile(gains, [0.975, 0.025]))
    assert found.low == pytest.approx(np.quantile(gains, 0.025), abs=0.12 * width)
    assert found.high == pytest.approx(np.quantile(gains, 0.975), abs=0.12 * width)


@pytest.mark.parametrize("n_rows", [12, 30, 200])
def test_the_interval_of_a_mean_is_students_however_few_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    y, off = rng.normal(size=n_rows), rng.normal(3, 0.5, size=n_rows)  # all above 0
    found = paired_bootstrap("regression", y, y, y + off)["mae"]
    error = off.std(ddof=1) / np.sqrt(n_rows)
    low, high = stats.t.interval(0.95, n_rows - 1, off.mean(), error)
    assert (found.low + found.high) / 2 == pytest.approx(off.mean(), abs=0.3 * error)
    assert found.high - found.low == pytest.approx(high - low, rel=0.15)


def test_a_model_is_not_better_than_itself():
    y = np.array(["a", "b"] * 30)
    found = paired_bootstrap("binary", y, y[::-1], y[::-1])["macro_f1"]
    assert (found.low, found.high, found.winner) == (0, 0, None)


def test_the_better_model_wins_whether_more_or_less_is_better():
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    far, near = y + rng.normal(size=300), y + 0.1 * rng.normal(size=300)
    found = paired_bootstrap("regression", y, far, near)
    assert {metric: d.winner for metric, d in found.items()} == dict.fromkeys(
        ("r2", "rmse", "mae"), 1
    )
    assert found["rmse"].estimate < 0 < found["r2"].estimate


def test_tens_of_thousands_of_rows_are_compared():
    rng = np.random.default_rng(0)
    y = rng.choice(["yes", "no"], 30_000)
    found = paired_bootstrap("binary", y, noisy(y, 0.2, rng, ["yes", "no"]), y)
    assert found["accuracy"].winner == 1


def test_predictions_for_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"each of the 3 rows, got shape .2,"):
        paired_bootstrap("binary", [0, 1, 1], [0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="truth has no value in row 1"):
        paired_bootstrap("regression", [1, np.nan, 3], [1, 2, 3], [1, 2, 3])
    with pytest.raises(ValueError, match=r"truth is 0, .* 'no' and 'no'"):
        paired_bootstrap("binary", [0, 1], ["no", "yes"], ["no", "no"])
    with pytest.raises(ValueError, match="at least 2 rows, got 1"):
        paired_bootstrap("binary", [0], [0], [1])


def test_intervals_of_one_models_scores_hold_the_scores_and_narrow_with_rows():
    rng = np.random.default_rng(0)
    widths = []
    for n_rows in (60, 960):
        y = rng.choice(["a", "b"], n_rows)
        predicted = noisy(y, 0.3, rng, ["a", "b"])
        low, high = score_intervals("binary", y, predicted)["macro_f1"]
        assert low < scores("binary", y, predicted)["macro_f1"] < high
        widths.append(high - low)
    assert 3 < widths[0] / widths[1] < 5  # a quarter with 16 times the rows


@pytest.mark.parametrize(("n_rows", "n_right"), [(30, 30), (30, 26), (200, 120)])
def test_the_interval_of_the_accuracy_is_wilsons_by_weight_too(n_rows, n_right):
    y = np.array(["a", "b"] * (n_rows // 2))
    predicted = np.where(np.arange(n_rows) < n_right, y, "c")
    expected = stats.binomtest(n_right, n_rows).proportion_ci(method="wilson")
    for weight in (None, np.full(n_rows, 2.5)):
        ends = score_intervals("binary", y, predicted, weight)["accuracy"]
        assert ends == pytest.approx((expected.low, expected.high))


def test_resamples_of_equal_values_have_no_r2():
    y, near, far = np.zeros(60), np.full(60, 0.1), np.full(60, 0.2)
    y[:2], near[:2], far[:2] = (3.1, 7.7), 2, 1  # a third of the resamples has neither
    found = paired_bootstrap("regression", y, near, far)["r2"]
    assert -1 < found.low <= found.high < 0


@pytest.mark.slow  # 720 comparisons
def test_several_pairs_that_chance_alone_parts_are_seldom_called_different():
    alarms = {1: 0, 6: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=200)
        models = [y + rng.normal(size=200) / 2 for _ in range(4)]
        for n_pairs in alarms:
            alarms[n_pairs] += any(
                paired_bootstrap("regression", y, *two, n_pairs=n_pairs)["r2"].clear
                for two in itertools.combinations(models, 2)
            )
    assert alarms[6] <= 6 < alarms[1]


def test_an_interval_of_one_of_several_pairs_holds_that_of_a_pair_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    both = (np.where(rng.random(100) < wrong, 1 - y, y) for wrong in (0.1, 0.2))
    rows = [y, *both]
    alone, of_six = (paired_bootstrap("binary", *rows, n_pairs=n) for n in (1, 6))
    for metric, one in of_six.items():
        assert one.low < alone[metric].low < alone[metric].high < one.high
        assert "(99.2% CI)" in one.interval_words(("A", "B"))


def test_the_leaves_that_reach_a_score_are_those_on_these_rows():
    found = ScoreDifference("r2", 0.5, 0.6, 0.05, 0.15, 90)
    steps = {"leaves": [2, 4, 8], "held_out": [0.4, 0.5, 0.5], "test": [0.3, 0.6, 0.7]}
    line = FrontierLine(pd.DataFrame(steps), 1)
    words = size_words(found, (line, line), ("A", "B"), 8)
    assert words.endswith("A reaches that score on these rows with 4 leaves, no fewer.")
