"""A pruning path: scores and sizes of its trees against the pruning strength."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.frontier import judged_by
from treelab.figures.style import Mode, add_ring, palette, template
from treelab.trees.colors import Palette
from treelab.trees.words import shortest

# Fixed, in pixels, so that a page can lay a line over the figure where a step lies.
MARGINS = {"l": 70, "r": 12, "t": 124, "b": 56}
HEIGHT = 500
_MARGIN_OF_AXIS = 0.4  # steps left of the first and right of the last
_MOST_TICKS = 6
_MOST_MARKERS = 40  # steps; a line through more has no marker on each


# How columns of the table are drawn: what they are called, their dash and marker.
_SCORES = {
    "held_out_score": ("held-out rows", "dash", "circle"),
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
    marks: dict[int, str],
    strength_title: str,
    score_title: str,
    n_rows: dict[str, int],
    mode: Mode = "light",
) -> go.Figure:
    """Draw score above and size below, both against the pruning strength.

    Steps are evenly spaced, since strengths are trained on a log scale and may start at
    zero; points carry the step as ``customdata``. The step that is shown is not in it:
    a line through it is laid over it (see ``place_of``), as drawing all anew would be
    slow.

    The table has a row a step: ``strength``, ascending, or numbers of leaves,
    descending; ``held_out_score`` with its ``standard_error``, or ``valid_score``, and
    ``test_score``; ``valid_loss`` where there is nothing to score against; perhaps
    ``purity``, a dendrogram purity in [0, 1]; any of ``active_splits``,
    ``empty_nodes``, ``leaves``, ``depth``. ``marks`` are steps that get a ring, each
    with the words for it; the titles are those of the axes ("pruning strength
    (lambda)", "macro F1"), and ``n_rows`` the rows behind each score column, for the
    legend.
    """
    colors = palette(mode)
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.1,
        row_heights=[0.55, 0.45],
    )
    judged = judged_by(table)
    for column in (name for name in _SCORES if name in table):
        name, dash, symbol = _SCORES[column]
        color = colors.accent if column == judged else colors.text
        if column in n_rows:
            name += f", {n_rows[column]:,} rows"
        _add_line(figure, table, column, name, dash, symbol, color, row=1)
    for column in (name for name in _SIZES if name in table):
        # Where training emptied nodes, leaves would only repeat the splits.
        if column != "leaves" or "active_splits" not in table:
            color = colors.muted  # the score's solid line is the text's
            _add_line(figure, table, column, *_SIZES[column], color, row=2)
    figure.for_each_trace(
        lambda trace: trace.update(
            hovertemplate=f"{trace.name} %{{y:.3~f}}<br>{strength_title} "
            "%{customdata[1]}<extra></extra>"
        )
    )
    if judged in table and table[judged].notna().any():
        _mark_steps(figure, table[judged], marks, colors)
    figure.update_layout(
        template=template(mode),
        height=HEIGHT,
        margin={**MARGINS, "autoexpand": False},
        legend={"y": 1, "yref": "container", "yanchor": "top"},
    )
    _set_axes(figure, table["strength"], strength_title, score_title)
    return figure


def place_of(step: int, n_steps: int) -> float:
    """Return where a step lies, as a fraction of the width between the margins."""
    return (step + _MARGIN_OF_AXIS) / (n_steps - 1 + 2 * _MARGIN_OF_AXIS)


def _add_line(
    figure, table: pd.DataFrame, column: str, name, dash, symbol, color: str, row: int
) -> None:
    """Draw one column of the table over its steps, with its standard errors if any."""
    steps = np.arange(len(table))
    strengths = [shortest(value) for value in table["strength"]]
    bars = None
    if column == "held_out_score":
        errors = table["standard_error"].fillna(0.0)
        bars = {"array": errors, "color": color, "thickness": 1.2, "width": 3}
    figure.add_scatter(
        x=steps,
        y=table[column],
        name=name,
        mode="lines+markers" if len(table) <= _MOST_MARKERS else "lines",
        line={"color": color, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": 7},
        error_y=bars,
        customdata=np.column_stack([steps, strengths]),
        row=row,
        col=1,
    )


def _mark_steps(
    figure: go.Figure, score: pd.Series, marks: dict[int, str], colors: Palette
) -> None:
    """Draw a ring around the score of each marked step, and its name above."""
    for line, (step, name) in enumerate(marks.items()):
        at = {"name": name, "cliponaxis": False, "row": 1, "col": 1}
        add_ring(figure, step, score.iloc[step], colors.accent, size=17, more=at)
        figure.add_annotation(  # above the lines, two marks one above the other
            x=step,
            y=1,
            yref="y domain",
            text=name,
            showarrow=False,
            xanchor=_anchor(step, len(score)),
            yanchor="bottom",
            yshift=2 + 17 * line,
            font={"color": colors.accent, "size": 13},
        )


def _set_axes(
    figure: go.Figure, strength: pd.Series, strength_title: str, score_title: str
) -> None:
    """Name the axes, and write a few strengths under their steps."""
    n_steps = len(strength)
    every = max(1, int(np.ceil(n_steps / _MOST_TICKS)))
    figure.update_xaxes(
        range=[-_MARGIN_OF_AXIS, n_steps - 1 + _MARGIN_OF_AXIS], automargin=False
    )
    figure.update_xaxes(
        title_text=strength_title,
        tickvals=np.arange(n_steps)[::every],
        ticktext=[_few_digits(value) for value in strength[::every]],
        row=2,
        col=1,
    )
    figure.update_yaxes(automargin=False)
    figure.update_yaxes(title_text=score_title, row=1, col=1)
    figure.update_yaxes(title_text="count", rangemode="tozero", row=2, col=1)


def _anchor(step: int, n_steps: int) -> str:
    """Where a mark's name is anchored so that the figure's edge does not cut it."""
    if step < (n_steps - 1) / 3:
        return "left"
    return "right" if step > 2 * (n_steps - 1) / 3 else "center"


def _few_digits(value: float) -> str:
    """A strength in as few digits as are within a twentieth of it."""
    return shortest(value, lambda shown: abs(shown - value) <= abs(value) / 20, 1)
