"""Predictions against the truth: a matrix of classes, or points about a diagonal."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.matrix import cell_numbers, matrix_cells, matrix_figure
from treelab.figures.style import Mode, escape_html, palette, template, time_ticks
from treelab.trees.words import short, short_time, significant

_MOST_NUMBERS = 14  # classes up to which each cell has its number
_NAME = 16  # letters of a class's name
_CELL = 44  # pixels
_MOST_LEVEL = 3  # classes whose names stand level below the columns


def confusion_figure(
    confusion: np.ndarray,
    classes: Sequence,
    *,
    target_is: str = "true",
    mode: Mode = "light",
) -> go.Figure:
    """Draw a confusion matrix; each row is as bright as its fractions.

    Rows (n_classes, n_classes), or their weights; true classes down, predicted ones
    across. ``target_is`` says what the rows of the matrix are, "true" or "imitated".
    """
    colors = palette(mode)
    names = [escape_html(short(str(label), _NAME)) for label in classes]
    of_class = confusion.sum(axis=1, keepdims=True)
    fraction = confusion / np.maximum(of_class, np.finfo(float).tiny)
    is_weight = np.issubdtype(confusion.dtype, np.floating)
    number, of = (",.3~s", "weight") if is_weight else (",", "rows")
    n = len(names)
    cells = matrix_cells(
        fraction,
        colors,
        customdata=np.dstack([confusion, np.broadcast_to(of_class, (n, n))]),
        hovertemplate=f"%{{customdata[0]:{number}}} of "
        f"%{{customdata[1]:{number}}} {of}<extra></extra>",
    )
    height = 110 + _CELL * min(n, _MOST_NUMBERS)
    # Turned by plotly itself the last names would leave the figure, and are then left
    # out.
    x = {"title": "predicted class", "tickangle": -40 if n > _MOST_LEVEL else 0}
    y = {"title": f"{target_is} class"}
    figure = matrix_figure(cells, names, height, mode, x=x, y=y)
    if n <= _MOST_NUMBERS:
        write = significant if is_weight else "{:,}".format
        texts = [[write(count) for count in row] for row in confusion]
        figure.layout.annotations = cell_numbers(texts, fraction, colors)
    return figure


def scatter_figure(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    name: str,
    target_is: str = "true",
    times: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw predicted against true values, and the diagonal on which both agree.

    ``target_is`` says what the truth is, "true" or "imitated"; the name is that of the
    target, with its unit; ``times`` are hours that are written as times.
    """
    colors = palette(mode)
    both = np.concatenate([y_true, y_pred])
    ends = [float(both.min()), float(both.max())]
    ticks = time_ticks(ends[0], ends[1], 5) if times else {}
    shown, texts = ("%{x:.3~g}", "%{y:.3~g}"), None
    if times:
        shown = "%{customdata[0]}", "%{customdata[1]}"
        texts = [[short_time(a), short_time(b)] for a, b in zip(y_true, y_pred)]
    figure = go.Figure()
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": colors.muted, "dash": "dot", "width": 1},
        hoverinfo="skip",
    )
    figure.add_scattergl(
        x=y_true,
        y=y_pred,
        mode="markers",
        marker={"color": colors.accent, "size": 6, "opacity": 0.5},
        customdata=texts,
        hovertemplate=f"{target_is} {shown[0]}, predicted {shown[1]}<extra></extra>",
    )
    return figure.update_layout(
        template=template(mode),
        height=320,
        margin={"t": 8},
        showlegend=False,
        xaxis={"title": f"{target_is} {escape_html(name)}", **ticks},
        yaxis={"title": "predicted", **ticks},
    )
