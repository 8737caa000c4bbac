"""Curves of two models in one chart."""

import numpy as np
import pandas as pd

from treelab.figures.comparison import (
    DrawnCurve,
    costs_figure,
    curves_figure,
    residuals_figure,
)


def curve(name: str, color: str, n: int = 5, **more) -> DrawnCurve:
    x = np.linspace(0, 1, n)
    return DrawnCurve(name, color, pd.DataFrame({"x": x, "y": x**2, **more}))


def test_models_have_their_colour_and_a_dash_of_their_own():
    both = [curve("CART", "#6B7280"), curve("<b>", "#0072B2")]
    diagonal, first, second = curves_figure(both, "x", "y", diagonal=True).data
    assert list(diagonal.x) == [0, 1]
    assert (first.line.color, second.line.color) == ("#6B7280", "#0072B2")
    assert first.line.dash != second.line.dash
    assert second.name == "&lt;b&gt;"


def test_marks_of_a_calibration_grow_with_their_rows():
    (trace,) = curves_figure(
        [curve("CART", "#6B7280", rows=range(1, 6))], "x", "y"
    ).data
    assert trace.mode == "lines+markers"
    assert (np.diff(trace.marker.size) > 0).all()


def test_a_long_curve_is_thinned_but_keeps_its_ends():
    (trace,) = curves_figure([curve("GRANDE", "#E69F00", 5000)], "x", "y").data
    assert len(trace.x) <= 600
    assert (trace.x[0], trace.x[-1]) == (0, 1)


def test_costs_are_steps_with_the_threshold_marked():
    figure = costs_figure([curve("CART", "#6B7280")], 0.3, "threshold")
    assert figure.data[0].line.shape == "vh"
    assert figure.layout.shapes[0].x0 == 0.3


def test_residuals_have_the_axes_that_they_share():
    ends = (0.0, 9.0), (-2.0, 2.0)
    figure = residuals_figure(np.ones(3), np.zeros(3), ends, "kg", color="#6B7280")
    assert figure.layout.xaxis.range == ends[0]
    assert figure.layout.yaxis.range == ends[1]
    assert "(kg)" in figure.layout.xaxis.title.text


def test_residuals_of_times_are_times():
    ends, look = ((8.0, 9.0), (-0.5, 0.5)), {"color": "#6B7280", "times": True}
    figure = residuals_figure(np.full(1, 8.5), np.full(1, -0.25), ends, "hours", **look)
    assert [*map(list, figure.data[0].customdata)] == [["8:30", "−0:15"]]
    assert "8:30" in figure.layout.xaxis.ticktext
    assert {"−0:30", "0:00", "0:30"} <= {*figure.layout.yaxis.ticktext}
    assert "hours" not in figure.layout.xaxis.title.text
