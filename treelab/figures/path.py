"""A pruning path: scores and sizes of its trees against the pruning strength."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.knee import judged_by, knee_of
from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.trees.text.numerals import shortest

# Fixed, in pixels, so that a page can lay a line over the figure where a step lies.
MARGINS = {"l": 70, "r": 12, "t": 112, "b": 56}
HEIGHT = 500
_BESIDE = 0.4  # steps of room left of the first and right of the last
_MOST_TICKS = 6
_SCORES = {
    # column: (name on the page, dash, symbol)
    "valid_score": ("validation", "dash", "circle"),
    "test_score": ("test", "solid", "diamond"),
    "valid_loss": ("validation loss", "dash", "circle"),
    "purity": ("purity of clusters", "dot", "square"),
}
_SIZES = {
    "active_splits": ("active splits", "solid", "circle"),
    "empty_nodes": ("empty nodes", "dot", "x"),
    "leaves": ("leaves", "solid", "circle"),
    "depth": ("depth", "dot", "x"),
}


def pruning_figure(
    table: pd.DataFrame,
    *,
    chosen: int | None,
    price: str,
    score: str,
    rows: dict[str, int],
    mode: Mode = "light",
) -> go.Figure:
    """Draw score above and size below, both against the price of size.

    Parameters
    ----------
    table : DataFrame of n_steps rows
        ``strength``, ascending; ``valid_score`` and/or ``test_score``, or
        ``valid_loss`` where there is nothing to score against; perhaps ``purity``, a
        dendrogram purity in [0, 1]; any of ``active_splits``, ``empty_nodes``,
        ``leaves``, ``depth``.
    chosen : int or None
        The step that training chose; marked with a ring.
    price : str
        Name of the strength, for the axis: "pruning strength (lambda)".
    score : str
        Name of the score: "macro F1".
    rows : dict of str to int
        Rows behind each score column, for the legend.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Steps are evenly spaced, since strengths are trained on a log scale and may
        start at zero; points carry the step as ``customdata``. The step that is
        shown is not in it: a line through it is laid over it (see ``place_of``), as
        drawing all anew would be slow.
    """
    colors = palette(mode)
    steps = np.arange(len(table))
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.1,
        row_heights=[0.55, 0.45],
    )
    strengths = [shortest(value) for value in table["strength"]]

    def add_line(column, name, dash, symbol, color, row):
        figure.add_scatter(
            x=steps,
            y=table[column],
            name=name,
            mode="lines+markers" if len(table) <= 40 else "lines",
            line={"color": color, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 7},
            customdata=np.column_stack([steps, strengths]),
            hovertemplate=f"{name} %{{y:.3~f}}<br>{price} %{{customdata[1]}}"
            "<extra></extra>",
            row=row,
            col=1,
        )

    judged = judged_by(table)
    for column, (name, dash, symbol) in _SCORES.items():
        if column in table:
            color = colors.accent if column == judged else colors.text
            label = f"{name}, {rows[column]:,} rows" if column in rows else name
            add_line(column, label, dash, symbol, color, 1)
    # Where training emptied nodes, splits tell the size and leaves would crowd them.
    sizes = {**_SIZES}
    if "active_splits" in table:
        del sizes["leaves"]
    for column, (name, dash, symbol) in sizes.items():
        if column in table:
            color = colors.muted if dash == "dot" else colors.text
            add_line(column, name, dash, symbol, color, 2)
    marks: dict[int, list[str]] = {}
    if judged in table and table[judged].notna().any():
        marks.setdefault(knee_of(table), []).append("knee")
        if chosen is not None:
            marks.setdefault(chosen, []).append("chosen")
    for line, (step, words) in enumerate(marks.items()):
        name = " and ".join(words)
        score_there = table[judged].iloc[step]
        figure.add_scatter(
            x=[step],
            y=[score_there],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": colors.accent,
                "line": {"width": 2},
            },
            cliponaxis=False,
            showlegend=False,
            hoverinfo="skip",
            name=name,
            row=1,
            col=1,
        )
        figure.add_annotation(  # above the lines, two marks one above the other
            x=step,
            y=1,
            yref="y domain",
            text=name,
            showarrow=False,
            xanchor=_beside(step, len(table)),
            yanchor="bottom",
            yshift=2 + 17 * line,
            font={"color": colors.accent, "size": 13},
        )
    every = max(1, int(np.ceil(len(table) / _MOST_TICKS)))
    figure.update_layout(
        template=template(mode),
        height=HEIGHT,
        margin={**MARGINS, "autoexpand": False},
        legend={"y": 1, "yref": "container", "yanchor": "top"},
    )
    figure.update_xaxes(range=[-_BESIDE, len(table) - 1 + _BESIDE], automargin=False)
    figure.update_yaxes(automargin=False)
    figure.update_xaxes(
        title_text=price,
        tickvals=steps[::every],
        ticktext=[_roughly(value) for value in table["strength"][::every]],
        row=2,
        col=1,
    )
    figure.update_yaxes(title_text=score, row=1, col=1)
    return figure.update_yaxes(title_text="count", rangemode="tozero", row=2, col=1)


def place_of(step: int, n_steps: int) -> float:
    """Return where a step lies, as a share of the width between the margins."""
    return (step + _BESIDE) / (n_steps - 1 + 2 * _BESIDE)


def _beside(step: int, n_steps: int) -> str:
    """Where a mark's word is anchored so that the figure's edge does not cut it."""
    if step < n_steps / 3:
        return "left"
    return "right" if step > 2 * n_steps / 3 else "center"


def _roughly(value: float) -> str:
    """Return a strength in as few digits as are within a twentieth of it."""
    return shortest(
        value, lambda shown: abs(shown - value) <= abs(value) / 20, digits=1
    )
