"""Who decided: the say of the heaviest trees of a weighted ensemble on one row."""

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style.colors import LEARNER_COLORS, Mode, palette, with_alpha
from treelab.figures.style.template import template
from treelab.trees.text.numerals import counted


def weights_figure(
    estimators: np.ndarray,
    weights: np.ndarray,
    n_estimators: int,
    *,
    shown: int | None = None,
    agree: np.ndarray | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar for each of the heaviest trees and one for all others together.

    Parameters
    ----------
    estimators : ndarray of int of shape (k,)
        Numbers of the trees, heaviest first.
    weights : ndarray of shape (k,)
        Their weights on the row, in [0, 1]; what is missing to 1 is the others'.
    n_estimators : int
        Trees in the ensemble, at least ``k``.
    shown : int or None, default=None
        Number of the tree that is drawn beside the bars; its bar is solid.
    agree : ndarray of bool of shape (k,) or None, default=None
        Whether each tree alone says what the ensemble says; the others' bars are
        hatched.
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
        lit = shown is None or estimator == shown
        fills.append(solid if lit else with_alpha(solid, 0.45))
    hatches = [
        "" if agree is None or same else "/"
        for same in (agree if agree is not None else np.ones(len(names), bool))
    ]
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
        hovertemplate="%{y}: %{text} of the answer<extra></extra>",
        name="weight",
    )
    return figure.update_layout(
        template=template(mode),
        height=64 + 30 * len(names),
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": "share of the answer"},
            "range": [0, max(values) * 1.22],
            "tickformat": ".0%",
            "nticks": 5,
        },
        yaxis={"autorange": "reversed", "showgrid": False},
    )


def percent(share: float) -> str:
    """Return a share in words that never round something to nothing or to all."""
    if 0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1:
        return "> 99.9%"
    if share in (0, 1) or share >= 0.1:
        return f"{share:.0%}" if not 0.995 <= share < 1 else f"{share:.1%}"
    return f"{share:.1%}"
