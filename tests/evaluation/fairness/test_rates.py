"""Rates by group, against counting row by row, and against fairlearn where it is."""

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.fairness import (
    MISSING,
    OTHERS,
    RATES,
    gaps_of_models,
    groups_of,
    rate_gaps,
    rates_by_group,
)
from treelab.trees.dates import decimal_years
from treelab.trees.words import parse


def rows(n: int = 400):
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    truth = rng.random(n) < np.where(group == "a", 0.5, 0.3)
    predicted = np.where(rng.random(n) < 0.8, truth, rng.random(n) < 0.5)
    return truth, predicted, group


def share(rows) -> float:
    """Fraction of a list of bools, by adding them up."""
    return sum(rows) / len(rows) if rows else np.nan


def slow_rates(truth, predicted, group, name) -> list[float]:
    """The rates of one group, row by row."""
    own = [(t, p) for t, p, g in zip(truth, predicted, group) if g == name]
    return [
        share([p for _, p in own]),
        share([t == p for t, p in own]),
        share([p for t, p in own if t]),
        share([p for t, p in own if not t]),
        share([t for t, p in own if p]),
    ]


def test_rates_are_those_counted_row_by_row():
    truth, predicted, group = rows()
    found = rates_by_group(truth, predicted, group)
    assert [*found.index] == ["a", "b", "c"]  # the largest first
    assert found["n_rows"].sum() == len(truth)
    for name in found.index:
        expected = slow_rates(truth, predicted, group, name)
        assert found.loc[name, list(RATES)].tolist() == pytest.approx(expected)


def test_gaps_are_highest_minus_lowest_and_lie_in_their_interval():
    truth, predicted, group = rows()
    table = rates_by_group(truth, predicted, group)
    for name, found in rate_gaps(truth, predicted, group).items():
        assert found.difference == pytest.approx(table[name].max() - table[name].min())
        assert found.ratio == pytest.approx(table[name].min() / table[name].max())
        assert -1 <= found.low <= found.high <= 1
    several = np.stack([predicted, truth])
    own = gaps_of_models(several, truth, group, "true positive rate")
    difference = rate_gaps(truth, predicted, group)["true positive rate"].difference
    assert own.tolist() == pytest.approx([difference, 0])
    weight = 0.1 + np.arange(len(truth)) % 5
    weighted = rate_gaps(truth, predicted, group, weight)["precision"].difference
    own = gaps_of_models(several, truth, group, "precision", weight)
    assert own.tolist() == pytest.approx([weighted, 0])


def test_a_group_without_the_class_has_no_true_positive_rate():
    truth = np.array([True, False, False, False])
    table = rates_by_group(truth, truth, ["a", "a", "b", "b"])
    assert np.isnan(table.loc["b", "true positive rate"])
    assert np.isnan(
        rate_gaps(truth, truth, ["a", "a", "b", "b"])["true positive rate"].difference
    )


def test_groups_are_categories_or_quarters_of_numbers():
    assert set(groups_of(pd.Series(["x", None, "y"]))) == {"x", "y", MISSING}
    few = groups_of(pd.Series([3.0, 10.0, np.nan, 2.0, 3.0]))
    assert [*few] == ["3", "10", MISSING, "2", "3"]
    assert [*few.cat.categories] == ["2", "3", "10", MISSING]
    days = groups_of(
        decimal_years(pd.Series(pd.to_datetime(["2019-05-12", "2020-01-01"])))
    )
    assert [*days] == ["12 May 2019", "1 January 2020"]
    assert groups_of(pd.Series(np.arange(100.0))).nunique() == 4
    times = groups_of(pd.Series(np.arange(96) / 4), of_times=True)
    assert [*times.cat.categories][:2] == ["0:00 to 5:45", "6:00 to 11:45"]
    for end, rest in ((0, range(1, 11)), (11, range(1, 11))):
        tied = groups_of(pd.Series([end] * 90 + [*rest]))
        assert tied.value_counts().to_dict() == {str(end): 90, "1 to 10": 10}
    fine = groups_of(pd.Series(1 + np.arange(100) * 1e-9))
    assert fine.value_counts().tolist() == [25] * 4
    many = groups_of(pd.Series([str(i % 20) for i in range(100)]))
    assert many.nunique() == 8
    assert OTHERS in set(many)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e9])
def test_as_written_a_number_lies_in_its_own_group_alone(scale):
    values = pd.Series(np.random.default_rng(2).gamma(2.0, scale, 400))
    group = groups_of(values)
    spans = {own: [parse(end) for end in own.split(" to ")] for own in group.unique()}
    for value, own in zip(values, group):
        assert [g for g, (low, high) in spans.items() if low <= value <= high] == [own]


def test_quarters_of_numbers_stand_in_their_order():
    values = pd.Series(np.arange(-10.0, 91)).sample(frac=1.0, random_state=0)
    group = groups_of(values)  # as text "11 to 40" would come before "−10 to 10"
    is_class = (values > 50).to_numpy()
    lowest = [parse(own.split(" ")[0]) for own in group.cat.categories]
    assert lowest == sorted(lowest)
    found = rates_by_group(is_class, is_class, group)
    assert [*found.index] == [*group.cat.categories]
    some = rates_by_group(is_class[:3], is_class[:3], group[:3])
    assert [*some.index] == [g for g in group.cat.categories if g in {*group[:3]}]


def test_rates_equal_those_of_fairlearn():
    metrics = pytest.importorskip("fairlearn.metrics")
    from sklearn.metrics import accuracy_score, precision_score

    truth, predicted, group = rows()
    frame = metrics.MetricFrame(
        metrics={
            "selection rate": metrics.selection_rate,
            "accuracy": accuracy_score,
            "true positive rate": metrics.true_positive_rate,
            "false positive rate": metrics.false_positive_rate,
            "precision": precision_score,
        },
        y_true=truth,
        y_pred=predicted,
        sensitive_features=group,
    )
    found = rates_by_group(truth, predicted, group)[list(RATES)]
    pd.testing.assert_frame_equal(
        found.sort_index(), frame.by_group.astype(float), check_names=False
    )
    gaps = rate_gaps(truth, predicted, group)
    assert [g.difference for g in gaps.values()] == pytest.approx(
        frame.difference().astype(float).tolist()
    )
    assert [g.ratio for g in gaps.values()] == pytest.approx(
        frame.ratio().astype(float).tolist()
    )


def test_quarters_of_dates_are_named_by_days():
    days = pd.Series(pd.date_range("2021-01-01", "2021-12-31")).sample(frac=1.0)
    column = decimal_years(days).where(days.dt.day > 1)
    names = set(groups_of(column)) - {MISSING}
    assert "2 January 2021 to 3 April 2021" in names
    assert len(names) == 4


def test_of_many_equal_groups_the_two_furthest_apart_seldom_differ_clearly():
    clear = np.zeros(len(RATES))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = np.repeat(list("abcdefgh"), 100)
        truth = rng.random(800) < 0.4
        predicted = rng.random(800) < np.where(truth, 0.8, 0.2)
        clear += [own.low > 0 for own in rate_gaps(truth, predicted, group).values()]
    assert (clear <= 7).all()
    better = predicted | ((group == "a") & truth)
    assert rate_gaps(truth, better, group)["true positive rate"].low > 0


def test_a_group_of_few_rows_seldom_differs_clearly():
    clear = np.zeros(len(RATES))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = np.repeat(list("abcdefgh"), [300, 100, 50, 20, 8, 5, 4, 3])
        truth = rng.random(len(group)) < 0.4
        predicted = rng.random(len(group)) < np.where(truth, 0.8, 0.2)
        clear += [own.low > 0 for own in rate_gaps(truth, predicted, group).values()]
    assert (clear <= 7).all()


def test_groups_of_very_unequal_weights_seldom_differ_clearly():
    n_tables, n_clear = 200, 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        group = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1])
        is_class, predicted = rng.random((2, 300)) < 0.3
        weight = rng.lognormal(0, 1.2, 300)  # as unsteady as a quarter of the rows
        name = "selection rate"
        found = rate_gaps(is_class, predicted, group, weight, rates=[name])
        n_clear += found[name].low > 0
    assert n_clear <= 0.05 * n_tables
