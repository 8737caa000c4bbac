"""A map of trees: those that predict alike lie close together."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style import SEQUENTIAL, Mode, add_ring, palette, template

HEIGHT = 360


def likeness_map(
    places: np.ndarray,
    scores: np.ndarray,
    numbers: Sequence[int],
    hover: Sequence[str],
    *,
    own: int | None,
    score_title: str,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a point a tree, coloured by its score (T,).

    Places (T, 2) are what ``evaluation.rashomon.places`` returns; the number of each
    tree is carried as ``customdata``, and ``hover`` is what is said of it, as HTML. The
    run's ``own`` tree is ringed and named; the title is that of the colour bar.
    """
    colors = palette(mode)
    title = {"text": score_title, "side": "right", "font": {"size": 12}}
    bar = {"title": title, "thickness": 10, "outlinewidth": 0, "tickformat": ".3f"}
    figure = go.Figure(
        go.Scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers",
            marker={
                "color": scores,
                "colorscale": SEQUENTIAL,
                "size": 11,
                "opacity": 0.85,
                "line": {"width": 1, "color": colors.background},
                "colorbar": {**bar, "nticks": 5},
            },
            customdata=[[number] for number in numbers],
            hovertext=list(hover),
            hovertemplate="%{hovertext}<extra></extra>",
            unselected={"marker": {"opacity": 0.85}},
            showlegend=False,
        )
    )
    if own is not None:
        x, y = places[own]
        add_ring(figure, x, y, colors.accent, width=3)
        figure.add_annotation(
            x=x,
            y=y,
            text="this run's tree",
            showarrow=True,
            arrowhead=0,
            ax=0,
            ay=-28,
            font={"color": colors.text, "size": 13},
            bgcolor=colors.background,
        )
    axis = {"showticklabels": False, "showgrid": False, "showline": False, "title": ""}
    return figure.update_layout(
        template=template(mode),
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 16, "b": 8},
        xaxis=axis,
        yaxis={**axis, "scaleanchor": "x"},
        clickmode="event+select",
    )
