"""The leaves of a tree as bars: how many rows of each class end there."""

from collections.abc import Mapping

import plotly.graph_objects as go

from treelab.evaluation.routing.purity import LeafPurity
from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html

MOST_LEAVES = 30  # that are drawn, those of most rows
_BAR = 26  # pixels a leaf


def purity_figure(
    found: LeafPurity, colors: Mapping[str, str], *, mode: Mode = "light"
) -> go.Figure:
    """Draw a bar for each leaf, left to right from the top, in the classes' colours.

    Parameters
    ----------
    found : LeafPurity
    colors : mapping of class to hex colour
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    most = found.leaves["rows"].nlargest(MOST_LEAVES).index
    leaves = found.leaves.loc[found.leaves.index.isin(most)]
    rows = found.rows.loc[leaves.index]
    places = [f"leaf {node}" for node in leaves.index]
    figure = go.Figure()
    for name in rows:
        figure.add_bar(
            x=rows[name],
            y=places,
            orientation="h",
            name=escape_html(name),
            marker_color=colors.get(str(name), palette(mode).muted),
            customdata=leaves["rows"],
            hovertemplate=f"%{{y}}: %{{x:,}} of %{{customdata:,}} rows are "
            f"{escape_html(name)}<extra></extra>",
        )
    figure.layout.annotations = [
        {
            "x": n_rows,
            "y": place,
            "text": f"{purity:.0%}",
            "showarrow": False,
            "xanchor": "left",
            "font": {"color": palette(mode).text, "size": 13},
        }
        for place, n_rows, purity in zip(places, leaves["rows"], leaves["purity"])
    ]
    return figure.update_layout(
        template=template(mode),
        height=70 + _BAR * len(leaves),
        margin={"t": 8, "r": 48},
        barmode="stack",
        showlegend=False,
        xaxis={"title": "rows", "showgrid": False},
        yaxis={"autorange": "reversed", "showgrid": False},
    )
