"""The difference of two models' scores, with its interval, around zero."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html
from treelab.trees.text.numerals import significant


def difference_figure(
    differences: pd.DataFrame,
    first: str,
    second: str,
    *,
    colors: tuple[str, str],
    mode: Mode = "light",
) -> go.Figure:
    """Draw each difference as a point on its interval.

    Parameters
    ----------
    differences : DataFrame
        One row a score, all on one scale, more is better: ``title``, ``estimate``
        (second minus first), ``low`` and ``high`` of its interval.
    first, second : str
        The models' names; to the right of zero the second scores more.
    colors : tuple of two str
        The models' colours; a difference that is not clear is grey.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
    """
    theme = palette(mode)
    figure = go.Figure()
    row: Any  # of these columns; pandas types no field
    for row in differences.itertuples():
        clear = row.low > 0 or row.high < 0
        color = colors[int(row.estimate > 0)] if clear else theme.muted
        figure.add_scatter(
            x=[row.low, row.estimate, row.high],
            y=[row.title] * 3,
            mode="lines+markers",
            line={"color": color, "width": 4},
            marker={
                "color": color,
                "size": [1, 14, 1],
                "symbol": "circle" if clear else "circle-open",
                "line": {"width": 2, "color": color},
            },
            hovertemplate=(
                f"{significant(row.estimate)}, interval {significant(row.low)} to "
                f"{significant(row.high)}<extra></extra>"
            ),
            name=row.title,
        )
    reach = 1.15 * max(1e-3, np.abs(differences[["low", "high"]].to_numpy()).max())
    figure.add_vline(x=0, line={"color": theme.text, "width": 1})
    for x, name, anchor in ((-reach, first, "left"), (reach, second, "right")):
        arrow = f"← {name} better" if anchor == "left" else f"{name} better →"
        figure.add_annotation(
            x=x,
            y=1,
            yref="paper",
            yshift=14,
            text=escape_html(arrow),
            showarrow=False,
            xanchor=anchor,
        )
    return figure.update_layout(
        template=template(mode),
        height=96 + 44 * len(differences),
        showlegend=False,
        xaxis={
            "title": {"text": f"{escape_html(second)} minus {escape_html(first)}"},
            "range": [-reach, reach],
            "tickformat": ".3~r",
            "nticks": 7,
        },
        yaxis={"showgrid": False, "autorange": "reversed"},
    )
