"""How strongly columns go together, as a matrix."""

import numpy as np
import plotly.graph_objects as go

from treelab.evaluation.profile.associations import Associations
from treelab.figures.style.colors import Mode, fraction_scale, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

_NAME = 22  # letters of a column's name
_CELL = 22  # pixels


def associations_figure(found: Associations, mode: Mode = "light") -> go.Figure:
    """Draw how strongly each two columns go together, those that do side by side.

    Parameters
    ----------
    found : Associations
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    n, order = len(found.names), found.order()
    names = [escape_html(found.names[i]) for i in order]
    short = [escape_html(shorten(found.names[i], _NAME)) for i in order]
    shown = found.strength[np.ix_(order, order)]
    shown = np.where(np.eye(n, dtype=bool), np.nan, shown)
    across, down = np.meshgrid(names, names)
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            zmin=0,
            zmax=1,
            colorscale=fraction_scale(palette(mode)),
            xgap=1,
            ygap=1,
            customdata=np.dstack([down, across]),
            hovertemplate="%{customdata[0]} and %{customdata[1]}: %{z:.2f}"
            "<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "tickvals": [0, 0.5, 1]},
        )
    )
    ticks = {"tickvals": list(range(n)), "ticktext": short, "showgrid": False}
    return figure.update_layout(
        template=template(mode),
        height=190 + _CELL * n,
        margin={"t": 8},
        xaxis={**ticks, "showline": False, "tickangle": -60},
        yaxis={**ticks, "autorange": "reversed", "showline": False},
    )
