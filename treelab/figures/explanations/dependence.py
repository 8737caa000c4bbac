"""How the prediction depends on one column: the mean, rows, and the row explained."""

import numpy as np
import plotly.graph_objects as go

from treelab.evaluation.explanations.dependence import Dependence
from treelab.figures.style.colors import Mode, palette, with_alpha
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

MOST_LINES = 60  # rows that are drawn
FEW_VALUES = 6  # that each have a tick
NAME_LENGTH = 18  # letters of a category


def dependence_figure(
    found: Dependence,
    own: np.ndarray | None = None,
    *,
    title: str,
    unit: str = "",
    mode: Mode = "light",
) -> go.Figure:
    """Draw the mean prediction by the values of a column, and rows behind it.

    Parameters
    ----------
    found : Dependence
    own : array of shape (n_values,) or None, default=None
        Predictions of the one row that is explained.
    title : str
        What is predicted, with its unit.
    unit : str, default=""
        Of the column.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    theme = palette(mode)
    x = found.values.tolist() if found.is_number else list(range(len(found.values)))
    lines = found.lines[:: max(1, -(-len(found.lines) // MOST_LINES))]
    figure = go.Figure()
    figure.add_scatter(
        x=[*x, None] * len(lines),
        y=[value for line in lines.tolist() for value in [*line, None]],
        mode="lines",
        line={"color": with_alpha(theme.muted, 0.25), "width": 1},
        hoverinfo="skip",
        name="single rows",
    )
    # Between categories there is nothing that a line could show.
    marks = "lines" if found.is_number else "markers"
    means = found.mean.tolist()
    hover = "%{y:.3g}<extra>%{fullData.name}</extra>"
    figure.add_scatter(
        x=x,
        y=means,
        mode=marks,
        line={"color": theme.text, "width": 3},
        marker={"color": theme.text, "size": 11},
        hovertemplate=hover,
        name="mean",
    )
    if own is not None:
        figure.add_scatter(
            x=x,
            y=np.asarray(own).tolist(),
            mode=marks,
            line={"color": theme.accent, "width": 3, "dash": "dash"},
            marker={"color": theme.accent, "size": 11, "symbol": "diamond"},
            hovertemplate=hover,
            name="this row",
        )
    name = f"{found.column} ({unit})" if unit else found.column
    axis = {"title": {"text": escape_html(name)}, "nticks": 8}
    if found.is_number:
        if len(x) <= FEW_VALUES:
            axis["tickvals"] = x
    else:
        axis |= {
            "tickvals": x,
            "ticktext": [
                escape_html(shorten(str(value), NAME_LENGTH)) for value in found.values
            ],
            "tickangle": -35 if len(x) > 4 else 0,
        }
    return figure.update_layout(
        template=template(mode),
        height=380,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        xaxis=axis,
        yaxis={"title": {"text": escape_html(title)}, "nticks": 6},
        hovermode="x",
    )
