"""Two learners' scores on several data splits."""

from collections.abc import Sequence

import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

_ROW = 30  # pixels


def seeds_figure(
    splits: Sequence[str],
    scores: tuple[Sequence[float], Sequence[float]],
    names: tuple[str, str],
    score_title: str,
    *,
    split_title: str = "seed",
    colors: tuple[str, str],
    mode: Mode = "light",
) -> go.Figure:
    """Draw both scores of each data split, joined by a line.

    Parameters
    ----------
    splits : sequence of str
        What each data split is called, beside its line.
    scores : tuple of two sequences of float
    names, colors : tuple of two str
    score_title : str
    split_title : str, default="seed"
        What the names of splits are, in words.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    rows = list(splits)
    figure = go.Figure()
    figure.add_scatter(
        x=[x for both in zip(*scores) for x in (*both, None)],
        y=[row for row in rows for _ in range(3)],
        mode="lines",
        line={"color": palette(mode).line, "width": 3},
        hoverinfo="skip",
        showlegend=False,
    )
    for own, name, color, symbol in zip(scores, names, colors, ("circle", "diamond")):
        figure.add_scatter(
            x=own,
            y=rows,
            mode="markers",
            name=escape_html(shorten(name, 24)),
            marker={"color": color, "symbol": symbol, "size": 11},
            hovertemplate=f"{split_title} %{{y}}: %{{x:.3f}}"
            "<extra>%{fullData.name}</extra>",
        )
    return figure.update_layout(
        template=template(mode),
        height=110 + _ROW * len(rows),
        margin={"t": 36},
        xaxis={"title": escape_html(score_title), "nticks": 6},
        yaxis={"title": split_title, "type": "category", "autorange": "reversed"},
    )
