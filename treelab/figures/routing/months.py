"""How far the rows of each month are from those that a tree was fitted to."""

import pandas as pd
import plotly.graph_objects as go

from treelab.evaluation.routing.shift import LARGE, LITTLE
from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template

_HEIGHT = 260  # pixels


def months_figure(found: pd.DataFrame, *, mode: Mode = "light") -> go.Figure:
    """Draw the stability index of each month, those marked that differ.

    Parameters
    ----------
    found : DataFrame
        As ``shift_by_month`` returns it.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    colors = palette(mode)
    figure = go.Figure()
    figure.add_bar(
        x=found["month"],
        y=found["psi"],
        marker_color=[
            colors.accent if differs else colors.line for differs in found["differs"]
        ],
        text=["*" if differs else "" for differs in found["differs"]],
        textposition="outside",
        textfont={"size": 16},
        customdata=found["rows"],
        hovertemplate="%{x}: PSI %{y:.3f}, %{customdata:,} rows<extra></extra>",
        cliponaxis=False,
        showlegend=False,
    )
    figure.add_scatter(
        x=found["month"],
        y=found["psi_by_chance"],
        name="expected by chance",
        mode="lines+markers",
        line={"color": colors.text, "dash": "dot", "width": 1.5},
        marker={"size": 5},
        hoverinfo="skip",
    )
    most = max(found["psi"].max(), found["psi_by_chance"].max())
    for bound, word in ((LITTLE, "little below"), (LARGE, "large above")):
        if bound <= 1.2 * most:
            figure.add_hline(
                y=bound,
                line={"color": colors.grid, "width": 1},
                annotation_text=word,
                annotation_position="right",
            )
    return figure.update_layout(
        template=template(mode),
        height=_HEIGHT,
        margin={"t": 40, "r": 90},
        xaxis={"title": "month", "type": "category"},
        yaxis={"title": "PSI", "rangemode": "tozero", "range": [0, 1.2 * most]},
    )
