"""A path by size: the score of the best tree at each size, on held-out rows."""

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.trees.pruning.size_path import SizePath


def size_figure(path: SizePath, *, score_title: str, mode: Mode = "light") -> go.Figure:
    """Draw the score of each tree of a path against its leaves, and ring the chosen.

    Parameters
    ----------
    path : SizePath
        Trees without a score are left out.
    score_title : str
        Of the axis: "macro F1".
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Leaves on a log scale; bars are one standard error.
    """
    colors = palette(mode)
    scores = path.scores.assign(leaves=[tree.n_leaves for tree in path.trees])
    known = scores[scores["score"].notna()]
    figure = go.Figure()
    figure.add_scatter(
        x=known["leaves"],
        y=known["score"],
        error_y={
            "array": known["standard_error"],
            "color": colors.muted,
            "thickness": 1.2,
            "width": 3,
        },
        customdata=known["standard_error"],
        mode="lines+markers",
        name="held-out rows",
        line={"color": colors.accent, "width": 2},
        marker={"size": 7},
        hovertemplate="%{x} leaves: %{y:.3f}, standard error %{customdata:.3f}"
        "<extra></extra>",
    )
    chosen = scores.iloc[path.chosen]
    if path.chosen in known.index:
        figure.add_scatter(
            x=[chosen["leaves"]],
            y=[chosen["score"]],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": colors.accent,
                "line": {"width": 2},
            },
            name="chosen",
            hoverinfo="skip",
        )
        figure.add_annotation(
            x=np.log10(chosen["leaves"]),  # where the axis is one of logarithms
            y=chosen["score"],
            text="chosen",
            showarrow=False,
            yshift=-20,
            font={"color": colors.accent, "size": 13},
        )
    ticks = [2**level for level in range(11)]
    return figure.update_layout(
        template=template(mode),
        height=300,
        margin_t=24,
        showlegend=False,
        xaxis={
            "title": "leaves",
            "type": "log",
            "tickvals": ticks,
            "ticktext": [f"{size:,}" for size in ticks],
        },
        yaxis={"title": score_title},
    )
