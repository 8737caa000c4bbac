"""How much each column matters overall, as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten
from treelab.trees.text.numerals import significant

NAME_LENGTH = 24  # letters of a bar's name


def importance_figure(
    columns: Sequence[str],
    importance: Sequence[float],
    std: Sequence[float] | None = None,
    *,
    title: str,
    most: int = 12,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar a column, the most important on top.

    Parameters
    ----------
    columns : sequence of str of length k
    importance : sequence of float of length k
        The largest first; the first ``most`` are drawn.
    std : sequence of float of length k or None, default=None
        Standard deviations, drawn as error bars.
    title : str
        What a bar's length is.
    most : int, default=12
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    theme = palette(mode)
    columns, values = list(columns)[:most], [float(v) for v in importance][:most]
    errors = None if std is None else [float(v) for v in std][:most]
    reach = max([v + e for v, e in zip(values, errors or [0.0] * len(values))] or [0])
    low = min([v - e for v, e in zip(values, errors or [0.0] * len(values))] or [0])
    figure = go.Figure()
    figure.add_bar(
        x=values,
        y=list(range(len(columns))),  # two names may be alike once shortened
        orientation="h",
        marker_color=theme.accent,
        error_x={
            "type": "data",
            "array": errors,
            "color": theme.text,
            "thickness": 1.2,
            "width": 3,
        }
        if errors
        else None,
        customdata=[[escape_html(c), significant(v)] for c, v in zip(columns, values)],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        name="importance",
    )
    return figure.update_layout(
        template=template(mode),
        height=72 + 26 * max(len(columns), 1),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": escape_html(title)},
            "range": [min(low, 0.0) * 1.1, (reach or 1.0) * 1.1],
            "nticks": 5,
        },
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "tickvals": list(range(len(columns))),
            "ticktext": [escape_html(shorten(c, NAME_LENGTH)) for c in columns],
        },
    )
