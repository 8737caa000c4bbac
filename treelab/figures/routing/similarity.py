"""How alike the routes of classes are: a matrix, and the hierarchy beside it."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.routing.similarity import RouteSimilarity
from treelab.figures.style.colors import (
    Mode,
    Palette,
    fraction_scale,
    mix,
    palette,
    text_on,
)
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html
from treelab.trees.text.names import short

_MOST_NUMBERS = 12  # classes up to which each cell has its number
_MOST_LARGE = 4  # classes up to which it is as large as other text
_NAME = 16  # letters of a class's name
_CELL = 44  # pixels


def similarity_figure(found: RouteSimilarity, *, mode: Mode = "light") -> go.Figure:
    """Draw how alike the routes of each two classes are, those alike together.

    Parameters
    ----------
    found : RouteSimilarity
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        A matrix; to its right the dendrogram, whose joints lie at the mean similarity
        of the classes they join.
    """
    colors = palette(mode)
    n = len(found.names)
    order = found.order
    names = [escape_html(short(found.names[i], _NAME)) for i in order]
    whole = np.array([escape_html(found.names[i]) for i in order], dtype=object)
    figure = make_subplots(
        cols=2, column_widths=[0.8, 0.2], shared_yaxes=True, horizontal_spacing=0.02
    )
    figure.add_heatmap(
        z=found.similarity[np.ix_(order, order)],
        x=np.arange(n),
        y=np.arange(n),
        zmin=0,
        zmax=1,
        colorscale=fraction_scale(colors),
        showscale=False,
        xgap=2,
        ygap=2,
        customdata=np.dstack(np.meshgrid(whole, whole)),
        hovertemplate="%{customdata[1]} and %{customdata[0]}: %{z:.2f}<extra></extra>",
        row=1,
        col=1,
    )
    if n <= _MOST_NUMBERS:
        _add_numbers(figure, found.similarity[np.ix_(order, order)], colors)
    _add_dendrogram(figure, found, colors.muted)
    ticks = {"tickvals": np.arange(n), "showgrid": False, "showline": False}
    figure.update_xaxes(
        {**ticks, "ticktext": names, "tickangle": -40, "range": [-0.5, n - 0.5]}, col=1
    )
    figure.update_xaxes(
        range=[1.02, -0.02],
        tickvals=[1, 0.5, 0],
        ticktext=["1", "0.5", "0"],
        title="similarity",
        showline=False,
        col=2,
    )
    figure.update_yaxes(showgrid=False, showline=False, range=[n - 0.5, -0.5])
    figure.update_yaxes(tickvals=np.arange(n), ticktext=names, col=1)
    return figure.update_layout(
        template=template(mode),
        height=150 + max(12, min(_CELL, 900 // n)) * n,
        margin={"t": 8, "b": 8},
        showlegend=False,
    )


def _add_numbers(figure: go.Figure, similarity: np.ndarray, colors: Palette) -> None:
    """Write each similarity into its cell."""
    size = 13 if len(similarity) <= _MOST_LARGE else 11
    figure.layout.annotations = [  # all at once; one by one plotly copies them all
        {
            "x": j,
            "y": i,
            "text": f"{value:.2f}",
            "showarrow": False,
            "font": {
                "size": size,
                "color": text_on(mix(colors.accent, colors.background, value)),
            },
        }
        for (i, j), value in np.ndenumerate(similarity)
    ]


def _add_dendrogram(figure: go.Figure, found: RouteSimilarity, color: str) -> None:
    """Draw the hierarchy: each joint a bracket around the classes it joins."""
    y, x = found.brackets()
    gap = np.full((len(x), 1), np.nan)
    figure.add_scatter(
        x=np.hstack([x, gap]).ravel(),
        y=np.hstack([y, gap]).ravel(),
        mode="lines",
        line={"color": color, "width": 2},
        hoverinfo="skip",
        row=1,
        col=2,
    )
