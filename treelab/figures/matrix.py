"""Matrices: cells whose colour is as strong as a fraction, and the numbers on them."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style import template, text_on
from treelab.trees.colors import Mode, Palette, mix


def matrix_figure(
    cells: go.Heatmap, names: Sequence[str], height: int, mode: Mode, *, x=None, y=None
) -> go.Figure:
    """Draw cells with names along both sides; ``x`` and ``y`` are more of these axes.

    The first row is on top.
    """
    ticks = {"tickvals": list(range(len(names))), "ticktext": names, "showgrid": False}
    return go.Figure(cells).update_layout(
        template=template(mode),
        height=height,
        margin={"t": 8},
        xaxis={**ticks, "showline": False, **(x or {})},
        yaxis={**ticks, "autorange": "reversed", **(y or {})},
    )


def matrix_cells(fraction: np.ndarray, colors: Palette, **more) -> go.Heatmap:
    """Draw fractions (n, n) as cells; ``more`` is what else plotly's heatmap takes."""
    places = list(range(len(fraction)))
    palest = mix(colors.accent, colors.background, 0.06)
    look = {"colorscale": [(0.0, palest), (1.0, colors.accent)], "zmin": 0, "zmax": 1}
    look |= {"xgap": 2, "ygap": 2, "showscale": False}
    return go.Heatmap(z=fraction, x=places, y=places, **look | more)


def cell_numbers(
    texts: Sequence[Sequence[str]], fraction: np.ndarray, colors: Palette, **font
) -> list[dict]:
    """Write a text (n, n) into each cell whose fraction is known, as annotations.

    They are to be set all at once: one by one plotly copies them all, which takes a
    second for ten classes.
    """
    return [
        {
            "x": j,
            "y": i,
            "text": texts[i][j],
            "showarrow": False,
            "font": {
                "color": text_on(mix(colors.accent, colors.background, share)),
                **font,
            },
        }
        for (i, j), share in np.ndenumerate(fraction)
        if not np.isnan(share)
    ]
