"""Pictures of an ensemble's estimators and their weights."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style import LEARNER_COLORS, Mode, palette, template, with_alpha
from treelab.trees.words import counted, percent

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

    Parameters
    ----------
    counts : sequence of int
        How many trees decide, ascending; the last one is all that may.
    scores : dict of str to ndarray of shape (n_counts,)
        By the name of the rows, for the legend: "validation, 91 rows".
    shown : int
        Index of the count that a ring marks.
    score_title : str
        Of the axis: "macro F1".
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Counts on a log scale.
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
        figure.add_scatter(
            x=[counts[shown]],
            y=[values[shown]],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 17,
                "color": colors.text,
                "line": {"width": 2},
            },
            hoverinfo="skip",
            showlegend=False,
        )
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


# The estimator weights of a weighted ensemble on one row, the highest first.


def weights_figure(
    estimators: np.ndarray,
    weights: np.ndarray,
    n_estimators: int,
    *,
    shown: int | None = None,
    agree: np.ndarray | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar for each highest-weighted tree and one for all others together.

    Parameters
    ----------
    estimators : ndarray of int of shape (k,)
        Numbers of the trees, the highest weight first.
    weights : ndarray of shape (k,)
        Their weights on the row, in [0, 1]; the others' sum up to 1 with them.
    n_estimators : int
        Trees in the ensemble, at least ``k``.
    shown : int or None, default=None
        Number of the tree that is drawn beside the bars; its bar is solid.
    agree : ndarray of bool of shape (k,) or None, default=None
        Whether each tree alone predicts what the ensemble predicts; bars of those
        that do not are hatched.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Bars carry the tree's number as ``customdata``; the others' bar carries -1.
    """
    colors = palette(mode)
    solid = LEARNER_COLORS["grande"]
    estimators, weights = np.asarray(estimators), np.asarray(weights, dtype=float)
    names = [f"tree {estimator}" for estimator in estimators]
    values, fills = list(weights), []
    for estimator in estimators:
        highlighted = shown is None or estimator == shown
        fills.append(solid if highlighted else with_alpha(solid, 0.45))
    agree = np.ones(len(names), dtype=bool) if agree is None else agree
    hatches = ["" if same else "/" for same in agree]
    tags = [int(estimator) for estimator in estimators]
    others = n_estimators - len(estimators)
    if others:
        names.append(counted(others, "other"))
        values.append(max(1 - float(weights.sum()), 0.0))
        fills.append(colors.line)
        hatches.append("")
        tags.append(-1)
    figure = go.Figure()
    figure.add_bar(
        x=values,
        y=names,
        orientation="h",
        marker={
            "color": fills,
            "line": {"width": 0},
            "pattern": {"shape": hatches, "fgcolor": colors.background, "size": 6},
        },
        text=[percent(value) for value in values],
        textposition="outside",
        textfont={"color": colors.text, "size": 13},
        cliponaxis=False,
        customdata=tags,
        hovertemplate="%{y}: %{text} of the prediction<extra></extra>",
        name="weight",
    )
    return figure.update_layout(
        template=template(mode),
        height=64 + 30 * len(names),
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": "share of the prediction"},
            "range": [0, max(values) * 1.22],
            "tickformat": ".0%",
            "nticks": 5,
        },
        yaxis={"autorange": "reversed", "showgrid": False},
    )
