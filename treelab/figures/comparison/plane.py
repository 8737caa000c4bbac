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
_CLOSE = 0.05  # of an axis, within which names would overlap
_BEHIND = 0.28  # of a class's colour, behind the rows


@dataclass(frozen=True)
class Axis:
    """An axis of the plane.

    Attributes
    ----------
    title : str
    low, high : float
    ticks : dict of float to str
        Names of the places on it; empty: numbers.
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
        ticks = _ticks(feature, _CLOSE * (high - low))
    elif feature.kind == "category":
        title = f"score of {feature.column}"
    return Axis(title, low - room, high + room, ticks)


def _ticks(feature: Feature, close: float) -> dict[float, str]:
    """Name the scores of categories, close ones together."""
    ticks: dict[float, str] = {}
    last = -np.inf
    for score, name in sorted(zip(feature.scores, feature.categories)):
        if score - last < close:
            ticks[last] += f", {name}"
        else:
            ticks[score], last = name, score
    return ticks


def spread_out(axis: Axis, values: np.ndarray) -> np.ndarray:
    """Return values apart where an axis has few places, so that rows do not cover.

    Each moves by a fifth of the way to the next place at most: no value crosses a
    threshold midway.
    """
    places = np.unique(list(axis.ticks))
    if len(places) < 2:
        return values
    reach = 0.2 * float(np.diff(places).min())
    return values + np.random.default_rng(0).uniform(-reach, reach, len(values))


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
        ``x``, ``y`` and ``target`` of each row.
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
    figure = go.Figure()
    if scale is None and colors is None:
        scale = float(points["target"].min()), float(points["target"].max())
    ends = scale or (0.0, 1.0)  # classes have none
    if behind is not None:
        _add_surface(figure, behind, colors, ends, mode)
    if colors is None:
        _add_values(figure, points, ends, unit, mode)
    else:
        _add_classes(figure, points, colors, mode)
    _add_lines(figure, lines, mode)
    figure.update_layout(template=template(mode), height=430, margin={"t": 44})
    for axis, update in zip(axes, (figure.update_xaxes, figure.update_yaxes)):
        update(
            title_text=escape_html(shorten(axis.title, 40)),
            range=[axis.low, axis.high],
            showgrid=False,
        )
        if axis.ticks:
            names = [escape_html(shorten(name, 14)) for name in axis.ticks.values()]
            update(tickvals=list(axis.ticks), ticktext=names)
    return figure


def _add_classes(figure: go.Figure, points, colors: dict, mode: Mode) -> None:
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
                "line": {"width": 0.8, "color": palette(mode).background},
            },
            hovertemplate="%{x:.4~g}, %{y:.4~g}<extra>%{fullData.name}</extra>",
        )


def _add_values(figure: go.Figure, points, scale, unit: str, mode: Mode) -> None:
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
            "line": {"width": 1, "color": palette(mode).background},
            "colorbar": {"thickness": 10, "outlinewidth": 0, "title": unit},
        },
        hovertemplate="%{x:.4~g}, %{y:.4~g}: %{marker.color:.4~g}<extra></extra>",
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


def _add_lines(figure: go.Figure, lines: Sequence[SplitLine], mode: Mode) -> None:
    """Draw splits, the first one thick."""
    below = "splits below it" if any(not line.level for line in lines) else "splits"
    thin = 0.7 if len(lines) > _MANY_LINES else 1.5
    for first in (True, False):
        own = [line for line in lines if (line.level == 0) == first]
        if not own:
            continue
        # One trace for all: the gap between two lines is a None.
        x = [value for line in own for value in (*line.x, None)]
        y = [value for line in own for value in (*line.y, None)]
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
