"""Pictures of an ensemble's estimators."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style import LEARNER_COLORS, Mode, add_ring, palette, template

# How well an ensemble's heaviest trees predict alone, against how many they are.


_DASHES = ("dash", "solid")


def deciders_figure(
    counts: Sequence[int],
    scores: dict[str, np.ndarray],
    *,
    shown: int,
    score_title: str,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the score of the k heaviest trees of each row, for every k that was tried.

    Counts, how many trees decide, are on a log scale and ascend to all that may; a ring
    marks the one at ``shown``. Scores (n_counts,) go by the name of the rows, for the
    legend: "validation, 91 rows"; their title is that of the axis: "macro F1".
    """
    colors = palette(mode)
    solid = LEARNER_COLORS["grande"]
    figure = go.Figure()
    for (name, values), dash in zip(scores.items(), _DASHES[-len(scores) :]):
        figure.add_scatter(
            x=list(counts),
            y=values,
            mode="lines+markers",
            name=name,
            line={"color": solid, "width": 2, "dash": dash},
            marker={"size": 7},
            hovertemplate=f"{name}: %{{y:.3f}} with %{{x}} trees<extra></extra>",
        )
        add_ring(figure, counts[shown], values[shown], colors.text, size=17)
    names = [f"{count:,}" for count in counts[:-1]] + [f"all {counts[-1]:,}"]
    return figure.update_layout(
        template=template(mode),
        height=340,
        margin_t=48,
        xaxis={
            "title": "trees of highest weight that decide",
            "type": "log",
            "tickvals": list(counts),
            "ticktext": names,
        },
        yaxis={"title": score_title},
        legend={"y": 1, "yref": "container", "yanchor": "top"},
    )
