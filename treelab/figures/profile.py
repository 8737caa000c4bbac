"""Pictures of a table's columns."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.profile import Associations, Distribution
from treelab.figures.matrix import matrix_cells, matrix_figure
from treelab.figures.style import (
    Mode,
    class_colors,
    escape_html,
    palette,
    shorten,
    template,
    time_ticks,
)
from treelab.trees.words import short_time

# The rows in bins of one column, by class, or with the target's mean.


MOST_CLASSES = 12  # that have a colour of their own
MOST_TICKS = 12
_NAME = 18  # letters of a bin's label


def distribution_figure(
    found: Distribution,
    name: str,
    target: str,
    colors: dict | None = None,
    mode: Mode = "light",
    *,
    times: bool = False,
) -> go.Figure:
    """Draw how many rows fall into each bin of a column.

    Stacked bars, a colour a class, by default by frequency; of a regression bars, and
    below them the target's mean in each bin. The axes are called by the names of the
    column and of the target, with their units; ``times`` are means in hours that are
    written as times.
    """
    theme = palette(mode)
    ticks = [escape_html(shorten(label, _NAME)) for label in found.labels]
    place = list(range(len(ticks)))
    shown = _shown(found.labels)
    has_mean = found.target_mean is not None
    figure = make_subplots(
        rows=2 if has_mean else 1, cols=1, shared_xaxes=True, vertical_spacing=0.08
    )
    counts = found.counts
    named = {str(label): color for label, color in (colors or {}).items()}
    plain = [theme.accent] if has_mean else class_colors(counts.shape[1])
    for i, label in enumerate(counts.columns[:MOST_CLASSES]):
        figure.add_bar(
            x=place,
            y=counts[label],
            name=escape_html(shorten(label, _NAME)),
            marker={"color": named.get(str(label), plain[i]), "line_width": 0},
            customdata=ticks,
            hovertemplate="%{customdata}: %{y:,} rows<extra>%{fullData.name}</extra>",
            row=1,
            col=1,
        )
    if (rest := counts.iloc[:, MOST_CLASSES:]).shape[1]:
        figure.add_bar(
            x=place,
            y=rest.sum(axis=1),
            name=f"{rest.shape[1]} other classes",
            marker={"color": theme.line, "line_width": 0},
            row=1,
            col=1,
        )
    if (means := found.target_mean) is not None:
        figure.add_scatter(
            x=place,
            y=means,
            mode="lines+markers",
            line={"color": theme.text, "width": 1},
            marker={"color": theme.text, "size": 6},
            customdata=ticks,
            text=[short_time(own) if times else f"{own:.4g}" for own in means],
            hovertemplate="%{customdata}: mean %{text}<extra></extra>",
            row=2,
            col=1,
        )
        heights = time_ticks(np.nanmin(means), np.nanmax(means), 4) if times else {}
        title = f"mean {escape_html(shorten(target, 24))}"
        figure.update_yaxes(title=title, **heights, row=2)
    figure.update_yaxes(title="rows", row=1, rangemode="tozero", separatethousands=True)
    # Slanted labels end at their bin: at the right edge there is no room for "missing".
    figure.update_xaxes(
        tickvals=shown,
        ticktext=[ticks[i] for i in shown],
        autotickangles=[0, -30, -90],
        showgrid=False,
    )
    figure.update_xaxes(title=escape_html(name), row=2 if has_mean else 1)
    return figure.update_layout(
        template=template(mode),
        height=420 if has_mean else 320,
        barmode="stack",
        bargap=0.06,
        margin={"t": 36},
        showlegend=not has_mean,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )


def _shown(labels: list[str]) -> list[int]:
    """Return the bins whose labels fit: every so many, and the missing values."""
    last = [len(labels) - 1] if labels[-1:] == ["missing"] else []
    n = len(labels) - len(last)
    return [*range(0, n, max(1, -(-n // MOST_TICKS))), *last]


# How strongly columns go together, as a matrix.


_NAME_LENGTH = 22  # letters of a column's name
_CELL = 22  # pixels


def associations_figure(found: Associations, mode: Mode = "light") -> go.Figure:
    """Draw how strongly each two columns go together, those that do side by side."""
    n, order = len(found.names), found.order()
    names = [escape_html(found.names[i]) for i in order]
    short = [escape_html(shorten(found.names[i], _NAME_LENGTH)) for i in order]
    shown = found.strength[np.ix_(order, order)]
    across, down = np.meshgrid(names, names)
    cells = matrix_cells(
        np.where(np.eye(n, dtype=bool), np.nan, shown),
        palette(mode),
        xgap=1,
        ygap=1,
        showscale=True,
        customdata=np.dstack([down, across]),
        hovertemplate="%{customdata[0]} and %{customdata[1]}: %{z:.2f}<extra></extra>",
        colorbar={"thickness": 10, "outlinewidth": 0, "tickvals": [0, 0.5, 1]},
    )
    x, y = {"tickangle": -60}, {"showline": False}
    return matrix_figure(cells, short, 190 + _CELL * n, mode, x=x, y=y)
