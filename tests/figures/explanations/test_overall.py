"""Pictures of what matters overall."""

import numpy as np
import plotly.graph_objects as go
import pytest

from treelab.evaluation.importance import Dependence
from treelab.figures.explanations import (
    contributions_figure,
    dependence_figure,
    importance_figure,
)
from treelab.trees.cells import CellForm
from treelab.trees.feature import Feature


@pytest.mark.parametrize("n_columns", [0, 2, 30])
@pytest.mark.parametrize("with_std", [False, True])
def test_the_most_important_columns_have_a_bar(n_columns, with_std):
    names = [f"<i>{k}" for k in range(n_columns)]
    values = np.linspace(1, -0.1, n_columns)
    std = np.full(n_columns, 0.02) if with_std else None
    figure = importance_figure(names, values, std, title="fall in R²")
    (bars,) = figure.data
    assert list(bars.x) == values[:12].tolist()
    assert (bars.error_x.array is not None) == (with_std and n_columns > 0)
    low, high = figure.layout.xaxis.range
    assert low <= min([0, *bars.x]) <= max([0, *bars.x]) <= high
    assert all("<" not in name for name in figure.layout.yaxis.ticktext or ())


@pytest.mark.parametrize("is_number", [True, False])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_mean_and_the_own_row_stand_before_the_others(is_number, mode):
    values = (
        np.array([1.0, 2.0, 5.0]) if is_number else np.array(["a", "$b", "c"], object)
    )
    lines = np.random.default_rng(0).random((150, 3))
    found = Dependence("size", values, is_number, lines)
    feature, texts = Feature("size", unit="mm"), ["1 mm", "2 mm", "5 mm"]
    if not is_number:
        feature = Feature("size", "category", "mm", categories=values, scores=[0] * 3)
        texts = ["“a”", "“&#36;b”", "“c”"]
    look = {"title": "weight", "feature": feature, "mode": mode}
    figure = dependence_figure(found, lines[0], **look)
    rows, mean, own = figure.data
    assert len(rows.x) == 50 * 4
    assert list(mean.y) == pytest.approx(found.mean.tolist())
    assert list(own.y) == lines[0].tolist()
    assert figure.layout.xaxis.title.text == "size (mm)"
    assert list(mean.x) == ([1, 2, 5] if is_number else [0, 1, 2])
    assert list(mean.customdata) == texts
    assert len(dependence_figure(found, title="weight", feature=feature).data) == 2


def drawn_steps(feature: Feature) -> tuple[dict[float, float], go.Figure]:
    """Return the mean by place, and the figure, of steps at 2 and 3 among 1 to 4."""
    lines = np.array([[0.1, 0.5, 0.9], [0.3, 0.5, 0.7]])
    seen = np.array([1.0, 1.5, 2.5, 4.0])
    found = Dependence("at", np.array([2.0, 3.0, 4.0]), True, lines, seen=seen)
    figure = dependence_figure(found, lines[0], title="weight", feature=feature)
    mean = figure.data[1]
    assert list(mean.x) == sorted(mean.x)
    return dict(zip(mean.x, mean.y)), figure


def test_what_changes_at_thresholds_is_drawn_as_steps():
    mean, figure = drawn_steps(Feature("at", unit="kg"))
    assert {trace.line.shape for trace in figure.data} == {"vh"}
    for at, height in mean.items():
        assert height == pytest.approx(0.2 if at <= 2 else 0.5 if at <= 3 else 0.8)
    assert {1, 2, 3, 4} <= set(mean)
    rows = figure.data[0]
    assert list(rows.x) == [1, 2, 3, 4, None] * 2
    assert list(rows.y) == [0.1, 0.1, 0.5, 0.9, None, 0.3, 0.3, 0.5, 0.7, None]
    told = dict.fromkeys(figure.data[1].customdata)
    assert list(told) == ["≤ 2 kg", "&gt; 2, ≤ 3 kg", "&gt; 3 kg"]


def test_an_axis_of_times_has_times():
    times = Feature("at", unit="hours", form=CellForm(unit="hours"))
    _, figure = drawn_steps(times)
    axis = figure.layout.xaxis
    assert axis.title.text == "at"
    assert axis.ticktext == ("1:00", "1:30", "2:00", "2:30", "3:00", "3:30", "4:00")
    assert axis.tickvals == (1, 1.5, 2, 2.5, 3, 3.5, 4)
    told = dict.fromkeys(figure.data[1].customdata)
    assert list(told) == ["≤ 2:00", "&gt; 2:00, ≤ 3:00", "&gt; 3:00"]


def test_predictions_that_are_times_are_drawn_as_times():
    found = Dependence("at", np.array([1.0, 2.0]), True, np.array([[1.0, 2.25]]))
    look = {"title": "took", "feature": Feature("at"), "times": True}
    figure = dependence_figure(found, **look)
    assert figure.layout.yaxis.ticktext == (
        "1:00",
        "1:15",
        "1:30",
        "1:45",
        "2:00",
        "2:15",
    )
    assert figure.data[1].text == ("1:00", "2:15")
    figure = contributions_figure(
        ["a", "b"], [0.5, -0.25], 1.0, title="took", times=True
    )
    assert figure.data[0].text == ("+0:30", "−0:15")
    assert [own.text for own in figure.layout.annotations] == [
        "mean 1:00",
        "this row 1:15",
    ]


def test_an_axis_of_dates_has_dates():
    dates = Feature("at", form=CellForm("date", date="ISO8601"))
    values = np.array([2020.5, 2021.0])
    given = values, True, np.ones((1, 2))
    figure = dependence_figure(Dependence("at", *given), title="x", feature=dates)
    assert [moment.year for moment in figure.data[1].x] == [2020, 2021]
    assert list(figure.data[1].customdata) == ["2 Jul 2020", "1 Jan 2021"]
