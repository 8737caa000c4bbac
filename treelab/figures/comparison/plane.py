"""Rows in the plane of two features, the splits as lines, predictions behind them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.evaluation.comparison.plane import SplitLine
from treelab.figures.style.colors import SEQUENTIAL, Mode, mix, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten
from treelab.trees.feature import Feature

_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")
_MOST_TICKS = 8  # categories that an axis names
_MANY_LINES = 30
_SPREAD = 0.25  # of the way to the next category, by which rows are drawn apart
_BEHIND = 0.28  # of a class's colour, behind the rows


@dataclass(frozen=True)
class Axis:
    """An axis of the plane.

    Attributes
    ----------
    title : str
    low, high : float
    ticks : dict of float to str
        Names of the scores of categories, ascending, which stand at even distances;
        empty: numbers.
    """

    title: str
    low: float
    high: float
    ticks: dict[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface:
    """Predictions on a grid of the plane.

    Attributes
    ----------
    x, y : float arrays of shapes (n_x,), (n_y,)
    predicted : array of shape (n_y, n_x)
        Labels, or values.
    """

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray


def axis_of(feature: Feature, values: np.ndarray) -> Axis:
    """Return the axis of a feature that holds these values, with room at its ends."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = 0.04 * (high - low) or 0.5
    title = f"{feature.column} ({feature.unit})" if feature.unit else feature.column
    ticks = {}
    if feature.kind == "category" and len(feature.categories) <= _MOST_TICKS:
        ticks = _ticks(feature)
    elif feature.kind == "category":
        title = f"score of {feature.column}"
    return Axis(title, low - room, high + room, ticks)


def _ticks(feature: Feature) -> dict[float, str]:
    """Name the scores of categories, those of one score together."""
    ticks: dict[float, str] = {}
    for score, name in sorted(zip(feature.scores, feature.categories)):
        ticks[score] = f"{ticks[score]}, {name}" if score in ticks else name
    return ticks


def plane_figure(
    points: pd.DataFrame,
    axes: tuple[Axis, Axis],
    lines: Sequence[SplitLine],
    *,
    colors: dict | None = None,
    behind: Surface | None = None,
    scale: tuple[float, float] | None = None,
    unit: str = "",
    mode: Mode = "light",
) -> go.Figure:
    """Draw rows by their class or value, with the lines of a tree's splits.

    Parameters
    ----------
    points : DataFrame
        ``x``, ``y`` and ``target`` of each row; ``label``, where there is such a
        column, names the rows that are marked, the others have "".
    axes : tuple of two Axis
    lines : sequence of SplitLine
        Those of level 0 are thick, the others dashed.
    colors : dict or None, default=None
        Hex colour of each class; None: the target is a number.
    behind : Surface or None, default=None
        Predictions that colour the plane.
    scale : tuple of two float or None, default=None
        Lowest and highest value on the colour scale; None: of the rows.
    unit : str, default=""
        Of the target, where it is a number.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    x, y = (_rows_at(axis, points[name]) for axis, name in zip(axes, "xy"))
    points = points.assign(x=x, y=y)
    figure = go.Figure()
    if scale is None and colors is None:
        scale = float(points["target"].min()), float(points["target"].max())
    ends = scale or (0.0, 1.0)  # classes have none
    if behind is not None:
        _add_surface(figure, behind, colors, ends, mode)
    # On the shade of their own class rows are seen by their outline.
    outline = palette(mode).background if behind is None else palette(mode).text
    if colors is None:
        _add_values(figure, points, ends, unit, outline)
    else:
        _add_classes(figure, points, colors, outline)
    _add_lines(figure, lines, axes, mode)
    _add_marks(figure, points, mode)
    figure.update_layout(template=template(mode), height=430, margin={"t": 44})
    for axis, update in zip(axes, (figure.update_xaxes, figure.update_yaxes)):
        reach = _thresholds_at(axis, [axis.low, axis.high])
        update(
            title_text=escape_html(shorten(axis.title, 40)), range=reach, showgrid=False
        )
        if axis.ticks:
            names = [escape_html(shorten(name, 14)) for name in axis.ticks.values()]
            update(tickvals=list(range(len(names))), ticktext=names)
    return figure


def _rows_at(axis: Axis, values) -> np.ndarray:
    """Return where rows stand on an axis; those of one category a little apart."""
    values = np.asarray(values, dtype=float)
    if not axis.ticks:
        return values
    rank = np.interp(values, list(axis.ticks), np.arange(len(axis.ticks)))
    return rank + np.random.default_rng(0).uniform(-_SPREAD, _SPREAD, len(rank))


def _thresholds_at(axis: Axis, values) -> list[float]:
    """Return where thresholds stand on an axis: midway between two categories."""
    if not axis.ticks:
        return list(values)
    return (np.searchsorted(list(axis.ticks), values, side="right") - 0.5).tolist()


def _add_classes(figure: go.Figure, points, colors: dict, outline: str) -> None:
    """Draw the rows of each class in its colour and with a mark of its own."""
    for place, (label, color) in enumerate(colors.items()):
        own = points[points["target"] == label]
        name = escape_html(shorten(label, 24))
        figure.add_scatter(
            x=own["x"],
            y=own["y"],
            mode="markers",
            name=name,
            marker={
                "color": color,
                "symbol": _SYMBOLS[place % len(_SYMBOLS)],
                "size": 7,
                "opacity": 0.85,
                "line": {"width": 0.8, "color": outline},
            },
            hovertemplate="%{x:.4~g}, %{y:.4~g}<extra>%{fullData.name}</extra>",
        )


def _add_values(figure: go.Figure, points, scale, unit: str, outline: str) -> None:
    """Draw the rows by the colour of their value."""
    figure.add_scatter(
        x=points["x"],
        y=points["y"],
        mode="markers",
        showlegend=False,
        marker={
            "color": points["target"],
            "colorscale": SEQUENTIAL,
            "cmin": scale[0],
            "cmax": scale[1],
            "size": 7,
            "line": {"width": 1, "color": outline},
            "colorbar": {"thickness": 10, "outlinewidth": 0, "title": unit},
        },
        hovertemplate="%{x:.4~g}, %{y:.4~g}: %{marker.color:.4~g}<extra></extra>",
    )


def _add_marks(figure: go.Figure, points: pd.DataFrame, mode: Mode) -> None:
    """Draw a ring around each row that has a label."""
    if "label" not in points:
        return
    for row in points[points["label"] != ""].to_dict("records"):
        figure.add_scatter(
            x=[row["x"]],
            y=[row["y"]],
            mode="markers",
            name=escape_html(row["label"]),
            marker={
                "symbol": "circle-open",
                "size": 18,
                "color": palette(mode).text,
                "line": {"width": 2.5},
            },
            hoverinfo="skip",
        )


def _add_surface(
    figure: go.Figure,
    behind: Surface,
    colors: dict | None,
    scale: tuple[float, float],
    mode: Mode,
) -> None:
    """Colour the plane by what is predicted on it."""
    colorscale: str | list = SEQUENTIAL
    low, high = scale
    shown = behind.predicted
    if colors is not None:
        codes = {label: place for place, label in enumerate(colors)}
        flat = [codes[label] for label in behind.predicted.ravel().tolist()]
        shown = np.reshape(np.array(flat, dtype=np.int16), behind.predicted.shape)
        low, high = -0.5, len(colors) - 0.5
        background = palette(mode).background
        shades: list[list] = []
        for place, color in enumerate(colors.values()):
            shade = mix(color, background, _BEHIND)
            ends = place / len(colors), (place + 1) / len(colors)
            shades += [[end, shade] for end in ends]
        colorscale = shades
    figure.add_heatmap(
        x=behind.x,
        y=behind.y,
        z=shown,
        zmin=low,
        zmax=high,
        colorscale=colorscale,
        showscale=False,
        opacity=0.75 if colors is None else 1,
        hoverinfo="skip",
    )


def _add_lines(
    figure: go.Figure, lines: Sequence[SplitLine], axes: tuple[Axis, Axis], mode: Mode
) -> None:
    """Draw splits, the first one thick."""
    below = "splits below it" if any(not line.level for line in lines) else "splits"
    thin = 0.7 if len(lines) > _MANY_LINES else 1.5
    for first in (True, False):
        own = [line for line in lines if (line.level == 0) == first]
        if not own:
            continue
        # One trace for all: the gap between two lines is a None.
        x = [v for line in own for v in (*_thresholds_at(axes[0], line.x), None)]
        y = [v for line in own for v in (*_thresholds_at(axes[1], line.y), None)]
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name="first split" if first else below,
            line={
                "color": palette(mode).text,
                "width": 3 if first else thin,
                "dash": "solid" if first else "dash",
            },
            hoverinfo="skip",
        )
