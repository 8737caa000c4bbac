"""Rows and splits in the plane of two columns."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.comparison import SplitLine
from treelab.figures.comparison import Axis, Surface, axis_of, plane_figure
from treelab.figures.style import contrast
from treelab.trees.cells import CellForm
from treelab.trees.dates import ISO
from treelab.trees.feature import Feature

AXES = Axis("age (years)", 0, 10), Axis("<b>$x$</b>", 0, 1)
POINTS = pd.DataFrame(
    {"x": [1.0, 2, 3], "y": [0.1, 0.2, 0.3], "target": ["a", "b", "a"]}
)
LINES = [SplitLine(0, 0, (5, 5), (0, 1)), SplitLine(2, 1, (5, 10), (0.5, 0.5))]


def test_each_class_has_its_colour_and_mark():
    figure = plane_figure(POINTS, AXES, LINES, colors={"a": "#0072B2", "b": "#E69F00"})
    first, second, split, below = figure.data
    assert list(first.x) == [1, 3]
    assert first.marker.color == "#0072B2"
    assert first.marker.symbol != second.marker.symbol
    assert split.x[:2] == (5, 5)
    assert (split.line.dash, below.line.dash) == ("solid", "dash")


def test_names_of_a_table_stand_as_they_are():
    figure = plane_figure(POINTS, AXES, [], colors={"a": "#0072B2"})
    assert "<b>" not in figure.layout.yaxis.title.text


def test_a_long_name_upward_is_cut_to_the_figures_height():
    long = replace(AXES[1], title="total amount that the applicants asked for")
    figure = plane_figure(POINTS, (AXES[0], long), [], colors={"a": "#0072B2"})
    assert len(figure.layout.yaxis.title.text) <= 24


def test_numbers_share_the_colours_of_the_surface():
    behind = Surface(np.arange(2.0), np.arange(2.0), np.array([[1.0, 2], [3, 4]]))
    points = POINTS.assign(target=[1.0, 2.0, 9.0])
    surface, rows = plane_figure(points, AXES, [], behind=behind, scale=(0, 9)).data
    assert (surface.zmin, surface.zmax) == (0, 9)
    assert (rows.marker.cmin, rows.marker.cmax) == (0, 9)


def test_values_that_are_times_are_written_as_times():
    points = POINTS.assign(target=[1.0, 1.5, 2.25])
    (rows,) = plane_figure(points, AXES, [], unit="hours", times=True).data
    assert rows.customdata[:, 2].tolist() == ["1:00", "1:30", "2:15"]
    assert all(":" in tick for tick in rows.marker.colorbar.ticktext)
    assert rows.marker.colorbar.title.text is None
    (rows,) = plane_figure(points, AXES, [], unit="kg").data
    assert rows.marker.colorbar.title.text == "kg"


def test_a_surface_of_classes_has_one_shade_each():
    labels = np.array([["a", "b"], ["b", "b"]], dtype=object)
    behind = Surface(np.arange(2.0), np.arange(2.0), labels)
    colors = {"a": "#0072B2", "b": "#E69F00"}
    surface = plane_figure(POINTS, AXES, [], colors=colors, behind=behind).data[0]
    assert np.array(surface.z).tolist() == [[0, 1], [1, 1]]
    assert len({color for _, color in surface.colorscale}) == 2


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_rows_stand_out_from_the_surface_of_their_class(mode):
    labels = np.array([["a", "b"], ["b", "b"]], dtype=object)
    behind = Surface(np.arange(2.0), np.arange(2.0), labels)
    colors = {"a": "#0072B2", "b": "#E69F00"}
    figure = plane_figure(POINTS, AXES, [], colors=colors, behind=behind, mode=mode)
    surface, *rows = figure.data
    for row, (_, shade) in zip(rows, surface.colorscale[::2]):
        against = (row.marker.color, row.marker.line.color)
        assert max(contrast(color, shade) for color in against) > 3


def test_an_axis_has_room_and_names_few_categories():
    axis = axis_of(Feature("age", unit="years"), np.array([1.0, 11.0, np.nan]))
    assert axis.title == "age (years)"
    assert axis.low < 1 < 11 < axis.high
    kind = Feature("kind", "category", categories=("x", "y"), scores=(0.1, 0.9))
    assert axis_of(kind, np.array([0.1, 0.9])).ticks == {0.1: "x", 0.9: "y"}
    near = Feature(
        "kind", "category", categories=("x", "y", "z"), scores=(0.1, 0.9, 0.1)
    )
    assert axis_of(near, np.array([0.1, 0.9])).ticks == {0.1: "x, z", 0.9: "y"}


def test_an_axis_of_dates_shows_them_as_dates():
    day = axis_of(Feature("day", form=CellForm("date", date=ISO)), np.array([2019.0]))
    behind = Surface(np.array([2019.0]), np.array([0.5]), np.array([["a"]]))
    points, line = POINTS.assign(x=2019.5), SplitLine(0, 0, (2019.5, 2019.5), (0, 1))
    figure = plane_figure(
        points, (day, AXES[1]), [line], colors={"a": "#0072B2"}, behind=behind
    )
    surface, rows, split = figure.data
    assert surface.x[0].year == 2019
    assert {str(x)[:10] for x in [*rows.x, *split.x[:2]]} == {"2019-07-02"}
    assert "%b %Y" in rows.hovertemplate


def test_an_axis_of_times_shows_them_as_times():
    clock = Feature("start", unit="hours", form=CellForm(unit="hours", times="h:mm"))
    axis = axis_of(clock, np.array([8.0, 9.5]))
    points = POINTS.assign(x=8.75, target=1.0)
    figure = plane_figure(points, (axis, AXES[1]), [])
    assert figure.layout.xaxis.title.text == "start"
    assert "9:00" in figure.layout.xaxis.ticktext
    assert {row[0] for row in figure.data[0].customdata} == {"8:45"}
    assert figure.data[0].hovertemplate.startswith("%{customdata[0]}, %{y")


def test_categories_stand_at_even_distances_and_rows_stay_on_their_side():
    names = {0.1: "x", 0.12: "y", 0.9: "z"}
    points = pd.DataFrame({"x": np.repeat([0.1, 0.12, 0.9], 50), "y": 0.5})
    axes = Axis("kind", 0, 1, names), AXES[1]
    line = SplitLine(0, 0, (0.11, 0.11), (0, 1))
    figure = plane_figure(
        points.assign(target="a"), axes, [line], colors={"a": "#0072B2"}
    )
    rows, split = figure.data
    assert split.x[:2] == (0.5, 0.5)
    x = np.array(rows.x)
    assert ((x > 0.5) == (points["x"] > 0.11)).all()
    assert len(np.unique(x)) == 150
    assert tuple(figure.layout.xaxis.range) == (-0.5, 2.5)
    assert figure.layout.xaxis.ticktext == ("x", "y", "z")


def test_a_row_with_a_label_has_a_ring():
    points = POINTS.assign(label=["", "test row 7", ""])
    *_, ring = plane_figure(points, AXES, [], colors={"a": "#0072B2"}).data
    assert (ring.name, ring.x, ring.y) == ("test row 7", (2.0,), (0.2,))
