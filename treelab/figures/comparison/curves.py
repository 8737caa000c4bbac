"""Curves of several models in one chart: ROC, precision-recall, calibration, costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

_MOST_POINTS = 600  # of a curve
_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class DrawnCurve:
    """A model's curve.

    Attributes
    ----------
    name, color : str
    points : DataFrame
        ``x`` and ``y``; for a calibration also ``rows``.
    """

    name: str
    color: str
    points: pd.DataFrame


def curves_figure(
    curves: Sequence[DrawnCurve],
    x_title: str,
    y_title: str,
    *,
    diagonal: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw curves of rates or probabilities, all from 0 to 1.

    Parameters
    ----------
    curves : sequence of DrawnCurve
    x_title, y_title : str
    diagonal : bool, default=False
        Whether the diagonal is drawn.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    figure = go.Figure()
    if diagonal:
        figure.add_scatter(
            x=[0, 1],
            y=[0, 1],
            mode="lines",
            line={"color": palette(mode).muted, "dash": "dot", "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
    for place, own in enumerate(curves):
        points = _thinned(own.points)
        has_rows = "rows" in points
        figure.add_scatter(
            x=points["x"],
            y=points["y"],
            mode="lines+markers" if has_rows else "lines",
            name=escape_html(shorten(own.name, 24)),
            line={"color": own.color, "width": 2.5, "dash": _dash(place)},
            marker={"size": 4 + 10 * np.sqrt(points["rows"] / points["rows"].max())}
            if has_rows
            else None,
            customdata=points["rows"] if has_rows else None,
            hovertemplate=f"{x_title} %{{x:.3f}}, {y_title} %{{y:.3f}}"
            + (", %{customdata:,} rows" if has_rows else "")
            + "<extra>%{fullData.name}</extra>",
        )
    return figure.update_layout(
        template=template(mode),
        height=340,
        margin={"t": 40},
        xaxis={"title": x_title, "range": [-0.02, 1.02], "nticks": 6},
        yaxis={"title": y_title, "range": [-0.02, 1.04], "nticks": 6},
    )


def costs_figure(
    curves: Sequence[DrawnCurve],
    threshold: float,
    x_title: str,
    *,
    mode: Mode = "light",
) -> go.Figure:
    """Draw each model's mean cost by the threshold, and mark one threshold.

    Parameters
    ----------
    curves : sequence of DrawnCurve
        ``x`` ascending from 0 to 1; a cost holds from just above the one before.
    threshold : float
    x_title : str
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    figure = go.Figure()
    for place, own in enumerate(curves):
        points = _thinned(own.points)
        figure.add_scatter(
            x=points["x"],
            y=points["y"],
            mode="lines",
            name=escape_html(shorten(own.name, 24)),
            line={
                "color": own.color,
                "width": 2.5,
                "dash": _dash(place),
                "shape": "vh",
            },
            hovertemplate="threshold %{x:.3f}: %{y:.4~g}"
            "<extra>%{fullData.name}</extra>",
        )
    figure.add_vline(
        x=threshold, line={"color": palette(mode).accent, "width": 2, "dash": "dot"}
    )
    return figure.update_layout(
        template=template(mode),
        height=340,
        margin={"t": 40},
        xaxis={"title": escape_html(x_title), "range": [0, 1], "nticks": 6},
        yaxis={"title": "mean cost of a row", "rangemode": "tozero"},
    )


def residuals_figure(
    predicted: np.ndarray,
    residual: np.ndarray,
    ends: tuple[tuple[float, float], tuple[float, float]],
    unit: str = "",
    *,
    color: str,
    mode: Mode = "light",
) -> go.Figure:
    """Draw residuals against predictions.

    Parameters
    ----------
    predicted, residual : ndarray of shape (n_rows,)
    ends : tuple of two (low, high)
        Of both axes, so that figures side by side compare.
    unit : str, default=""
        Of both.
    color : str
        Of the model.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    behind = f" ({unit})" if unit else ""
    figure = go.Figure()
    figure.add_hline(y=0, line={"color": palette(mode).text, "width": 1})
    figure.add_scatter(
        x=predicted,
        y=residual,
        mode="markers",
        showlegend=False,
        marker={"color": color, "size": 6, "opacity": 0.55},
        hovertemplate="predicted %{x:.4~g}, residual %{y:.4~g}<extra></extra>",
    )
    return figure.update_layout(
        template=template(mode),
        height=340,
        margin={"t": 8},
        xaxis={"title": escape_html(f"predicted{behind}"), "range": ends[0]},
        yaxis={"title": escape_html(f"true minus predicted{behind}"), "range": ends[1]},
    )


def _thinned(points: pd.DataFrame) -> pd.DataFrame:
    """Return at most 600 points, the first and the last among them."""
    if len(points) <= _MOST_POINTS:
        return points
    some = np.linspace(0, len(points) - 1, _MOST_POINTS).round().astype(int)
    return points.iloc[some]


def _dash(place: int) -> str:
    """Return a dash, as no curve is known by its colour alone."""
    return _DASHES[place % len(_DASHES)]
