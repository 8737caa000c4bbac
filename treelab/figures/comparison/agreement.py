"""How alike several models predict, as a matrix."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, mix, palette, text_on
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

_NAME = 22  # letters of a model's name
_CELL = 46  # pixels


def agreement_figure(
    matrix: np.ndarray,
    names: Sequence[str],
    *,
    as_percent: bool = True,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a matrix of agreement; the least of it is palest.

    Parameters
    ----------
    matrix : float array of shape (k, k)
        Fractions, or correlations; NaN where two models do not compare.
    names : sequence of k str
    as_percent : bool, default=True
        Whether cells are written as percentages.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    colors, n = palette(mode), len(names)
    shown = np.where(np.eye(n, dtype=bool), np.nan, matrix)
    low, high = np.nanmin(shown, initial=1.0), np.nanmax(shown, initial=-1.0)
    depth = 0.08 + 0.92 * (shown - low) / ((high - low) or 1.0)
    labels = [escape_html(shorten(name, _NAME)) for name in names]
    figure = go.Figure(
        go.Heatmap(
            z=depth,
            x=list(range(n)),
            y=list(range(n)),
            zmin=0,
            zmax=1,
            colorscale=[[0, colors.background], [1, colors.accent]],
            showscale=False,
            xgap=2,
            ygap=2,
            hoverinfo="skip",
        )
    )
    numbers = [
        {
            "x": j,
            "y": i,
            "text": f"{100 * value:.0f}" if as_percent else f"{value:.2f}",
            "showarrow": False,
            "font": {"color": text_on(mix(colors.accent, colors.background, share))},
        }
        for (i, j), value, share in zip(np.ndindex(n, n), shown.flat, depth.flat)
        if not np.isnan(value)
    ]
    ticks = {"tickvals": list(range(n)), "ticktext": labels, "showgrid": False}
    return figure.update_layout(
        template=template(mode),
        height=100 + _CELL * n,
        margin={"t": 8},
        annotations=numbers,
        xaxis={**ticks, "showline": False},
        yaxis={**ticks, "autorange": "reversed"},
    )
