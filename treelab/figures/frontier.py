"""Score against number of leaves, a line for each run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from treelab.evaluation.frontier import HELD_OUT, FrontierLine
from treelab.figures.style.colors import Mode, palette, with_alpha
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html

HEIGHT = 420
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star", "hexagon")


@dataclass(frozen=True, eq=False)
class DrawnLine:
    """A run on the frontier.

    Attributes
    ----------
    name, color : str
    line : FrontierLine or None
        Its trees by size; None for an ensemble, which is a line across.
    score : float
        Of an ensemble.
    """

    name: str
    color: str
    line: FrontierLine | None = None
    score: float = np.nan


def frontier_figure(
    lines: Sequence[DrawnLine],
    column: str,
    *,
    score_title: str,
    height: int = HEIGHT,
    mode: Mode = "light",
) -> go.Figure:
    """Draw each run's score against its number of leaves, and ring what it retained.

    Parameters
    ----------
    lines : sequence of DrawnLine
    column : {"held_out", "test"}
        Which score.
    score_title : str
        Of the axis: "macro F1, test rows".
    height : int, default=420
        Pixels.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Leaves on a log scale; points carry the number of their line and their row as
        ``customdata``. Around scores on held-out rows a band of one standard error.
    """
    colors = palette(mode)
    figure = go.Figure()
    most = max(
        [int(own.line.table["leaves"].max()) for own in lines if own.line] or [64]
    )
    for number, own in enumerate(lines):
        name = escape_html(own.name)
        if own.line is None:
            figure.add_scatter(
                x=[1, most],
                y=[own.score] * 2,
                mode="lines",
                name=name,
                line={"color": own.color, "width": 2, "dash": "dot"},
                hovertemplate=f"{name}, all trees together: %{{y:.3f}}<extra></extra>",
            )
            continue
        table = own.line.table
        known = table[table[column].notna()]
        if column == HELD_OUT:
            _add_band(figure, known, own.color)
        places = known.index.to_numpy()
        figure.add_scatter(
            x=known["leaves"].tolist(),
            y=known[column].tolist(),
            mode="lines+markers",
            name=name,
            line={"color": own.color, "width": 2},
            marker={"size": 8, "symbol": _SYMBOLS[number % len(_SYMBOLS)]},
            customdata=np.column_stack([np.full(len(places), number), places]),
            hovertemplate=f"{name}, %{{x}} leaves: %{{y:.3f}}<extra></extra>",
        )
        if own.line.chosen in known.index:
            _add_ring(figure, known.loc[own.line.chosen], column, colors.text)
    ticks = [2**level for level in range(11) if 2**level <= 2 * most]
    return figure.update_layout(
        template=template(mode),
        height=height,
        margin_t=56,
        clickmode="event+select",
        xaxis={
            "title": "leaves",
            "type": "log",
            "tickvals": ticks,
            "ticktext": [f"{size:,}" for size in ticks],
        },
        yaxis={"title": score_title},
        legend={"y": 1, "yref": "container", "yanchor": "top"},
    )


def _add_ring(figure: go.Figure, row, column: str, color: str) -> None:
    """Ring the tree that a run retained."""
    figure.add_scatter(
        x=[row["leaves"]],
        y=[row[column]],
        mode="markers",
        marker={
            "symbol": "circle-open",
            "size": 18,
            "color": color,
            "line": {"width": 2},
        },
        hoverinfo="skip",
        showlegend=False,
    )


def _add_band(figure: go.Figure, known, color: str) -> None:
    """Shade one standard error around the scores, where errors are known."""
    known = known[known["standard_error"].notna()]
    if len(known) < 2:
        return
    high = known["held_out"] + known["standard_error"]
    low = known["held_out"] - known["standard_error"]
    figure.add_scatter(
        x=[*known["leaves"], *known["leaves"][::-1]],
        y=[*high, *low[::-1]],
        fill="toself",
        fillcolor=with_alpha(color, 0.1),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )
