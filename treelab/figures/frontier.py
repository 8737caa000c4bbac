"""Score against number of leaves, a line for each run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.evaluation.frontier import HELD_OUT, FrontierLine
from treelab.figures.style import (
    Mode,
    add_ring,
    escape_html,
    palette,
    template,
    with_alpha,
)

HEIGHT = 420
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star", "hexagon")


@dataclass(frozen=True, eq=False)
class DrawnLine:
    """A run on the frontier."""

    name: str
    color: str
    # Its trees by size; None for an ensemble, which is a line across.
    line: FrontierLine | None = None
    score: float = np.nan  # of an ensemble
    # Its scores over several data splits, as ``split_band`` makes it; of an ensemble
    # one row.
    band: pd.DataFrame | None = None
    n_splits: int = 0  # how many data splits these are
    # Of an ensemble: ``trees``, how many of each row's heaviest trees decide,
    # ``leaves``, so many average trees have, and ``score``.
    few_trees: pd.DataFrame | None = None
    symbol: str = ""  # plotly's name of its marker; "": one that no other line has


def frontier_figure(
    lines: Sequence[DrawnLine],
    column: str,
    *,
    score_title: str,
    height: int = HEIGHT,
    mode: Mode = "light",
) -> go.Figure:
    """Draw each run's score against its number of leaves, and ring what it retained.

    The column is "held_out" or "test", and the title of the score that of the axis:
    "macro F1, test rows". Leaves on a log scale; points carry the number of their line
    and their row as ``customdata``, those of an ensemble the row -1. A band of one
    standard error is drawn around the mean over data splits where there is one, else
    around scores on held-out rows.
    """
    figure = go.Figure()
    tables = [own.line.table if own.line else own.few_trees for own in lines]
    most = max([int(own["leaves"].max()) for own in tables if own is not None] or [64])
    ticks = [2**level for level in range(11) if 2**level <= 2 * most]
    for number, own in enumerate(lines):
        n_before = len(figure.data)
        _add_line(figure, own, number, column, ticks, palette(mode).text)
        for trace in figure.data[n_before:]:  # the legend hides them together
            trace.legendgroup = str(number)
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
        legend={"y": 1, "yref": "container", "yanchor": "top", "traceorder": "normal"},
    )


def _add_line(
    figure: go.Figure,
    own: DrawnLine,
    number: int,
    column: str,
    ticks: list[int],
    ring_color: str,
) -> None:
    """Draw all that belongs to one run."""
    name = escape_html(own.name)
    _add_mean(figure, own, ticks[-1])
    if own.line is None:
        figure.add_scatter(
            x=ticks,
            y=[own.score] * len(ticks),
            mode="lines",
            name=name,
            line={"color": own.color, "width": 2, "dash": "dot"},
            customdata=[[number, -1]] * len(ticks),
            hovertemplate=f"{name}, all trees together: %{{y:.3f}}<extra></extra>",
        )
        _add_few_trees(figure, own, name, number)
        return
    table = own.line.table
    known = table[table[column].notna()]
    if column == HELD_OUT and own.band is None:
        sure = known[known["standard_error"].notna()]
        if len(sure) > 1:
            ends = sure[column], sure["standard_error"]
            _add_band(figure, sure["leaves"], *ends, with_alpha(own.color, 0.1))
    places = known.index.to_numpy()
    figure.add_scatter(
        x=known["leaves"].tolist(),
        y=known[column].tolist(),
        mode="lines+markers",
        name=name,
        line={"color": own.color, "width": 2},
        marker={"size": 8, "symbol": own.symbol or _SYMBOLS[number % len(_SYMBOLS)]},
        customdata=[[number, place] for place in places.tolist()],
        selected={"marker": {"size": 13}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate=f"{name}, %{{x}} leaves: %{{y:.3f}}<extra></extra>",
    )
    if own.line.chosen in known.index:
        chosen = known.loc[own.line.chosen]
        at = chosen["leaves"], chosen[column], ring_color
        add_ring(figure, *at, more={"unselected": {"marker": {"opacity": 1}}})


def _add_few_trees(figure: go.Figure, own: DrawnLine, name: str, number: int) -> None:
    """Mark what the heaviest trees of an ensemble reach alone."""
    if own.few_trees is None:
        return
    figure.add_scatter(
        x=own.few_trees["leaves"].tolist(),
        y=own.few_trees["score"].tolist(),
        mode="markers",
        marker={"size": 8, "color": own.color, "symbol": "star"},
        customdata=[[number, -1, k] for k in own.few_trees["trees"].tolist()],
        unselected={"marker": {"opacity": 1}},
        hovertemplate=f"{name}, each row by its %{{customdata[2]}} heaviest: "
        "%{y:.3f}<extra></extra>",
        showlegend=False,
    )


def _add_mean(figure: go.Figure, own: DrawnLine, last: int) -> None:
    """Draw the mean over data splits as steps, and one standard error around it."""
    if own.band is None or own.band.empty:
        return
    leaves = own.band["leaves"].to_numpy(float)
    end = last if own.line is None else max(leaves[-1], 1.15 * leaves[0])
    # Each value holds from its number of leaves to the next one.
    x = [*np.repeat(leaves, 2)[1:].tolist(), end]
    mean, error = (
        np.repeat(own.band[name].to_numpy(float), 2)
        for name in ("mean", "standard_error")
    )
    _add_band(figure, x, mean, error, with_alpha(own.color, 0.18))
    figure.add_scatter(
        x=x,
        y=mean.tolist(),
        mode="lines",
        line={"color": own.color, "width": 1.5, "dash": "dash"},
        customdata=error.tolist(),
        meta="mean",
        hovertemplate=f"{escape_html(own.name)}, mean of {own.n_splits} data splits"
        "<br>%{x:.0f} leaves: %{y:.3f} ± %{customdata:.3f}<extra></extra>",
        showlegend=False,
    )


def _add_band(figure: go.Figure, x, score, error, color: str) -> None:
    """Shade one standard error around scores."""
    figure.add_scatter(
        x=[*x, *x[::-1]],
        y=[*(score + error), *(score - error)[::-1]],
        fill="toself",
        fillcolor=color,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )
