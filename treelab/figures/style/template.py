"""The look of every plotly figure, light and dark."""

import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, class_colors, palette

# Streamlit ships this face; the rest stands in for it in exported figures.
FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'


def template(mode: Mode = "light") -> go.layout.Template:
    """Return the plotly template of one mode: quiet axes, no box, room to breathe.

    Parameters
    ----------
    mode : {"light", "dark"}, default="light"

    Returns
    -------
    go.layout.Template
        A new template; nothing is registered with plotly.
    """
    colors = palette(mode)
    axis = {
        "gridcolor": colors.grid,
        "linecolor": colors.line,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": colors.muted, "size": 13},
        "title": {"font": {"color": colors.muted, "size": 13}, "standoff": 8},
        "automargin": True,
    }
    layout = go.Layout(
        font={"family": FONT, "size": 14, "color": colors.text},
        title={"font": {"size": 16, "color": colors.text}, "x": 0, "xanchor": "left"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        colorway=class_colors(8),
        margin={"l": 8, "r": 8, "t": 32, "b": 8},
        xaxis={**axis, "showgrid": False, "showline": True},
        yaxis=axis,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 13, "color": colors.text},
        },
        hoverlabel={
            "bgcolor": colors.panel,
            "bordercolor": colors.line,
            "font": {"family": FONT, "color": colors.text, "size": 13},
        },
        annotationdefaults={"font": {"color": colors.muted, "size": 13}},
        dragmode=False,
        bargap=0.15,
    )
    return go.layout.Template(layout=layout)
