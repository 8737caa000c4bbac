"""The rows of a node by the categories of a column, and which of them go left."""

from collections.abc import Collection, Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style.colors import LEARNER_COLORS, Mode, with_alpha
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten

BINS = 40
HEIGHT = 210
NAME_LENGTH = 18  # letters of a category's name
_FADED = 0.35

# Of each group of rows: its name, which rows are in it, and its colour.
Groups = Sequence[tuple[str, np.ndarray, str]]


def category_figure(
    codes: np.ndarray,
    categories: Sequence[str],
    left: Collection[str],
    groups: Groups,
    *,
    title: str,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the rows of a node by category; those that go right are pale.

    Parameters
    ----------
    codes : int array of shape (n,)
        Place in ``categories``; -1 where it is missing.
    categories : sequence of str
    left : collection of str
        Those that go left.
    groups : sequence of (str, bool ndarray of shape (n,), str)
        Stacked bars: name, rows, colour.
    title : str
        Of the axis: the column.
    mode : {"light", "dark"}, default="light"
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    shown = [c for c in np.argsort(-counts, kind="stable").tolist() if counts[c]]
    shown = shown[:BINS]
    shown.sort(key=lambda code: categories[code] not in left)
    figure = _empty(title, mode)
    names = [escape_html(shorten(categories[code], NAME_LENGTH)) for code in shown]
    for name, members, color in groups:
        if not members.any():
            continue
        of_group = np.bincount(codes[(codes >= 0) & members], minlength=len(categories))
        figure.add_bar(
            x=[*range(len(shown))],
            y=of_group[shown],
            name=escape_html(name),
            marker_color=[
                color if categories[code] in left else with_alpha(color, _FADED)
                for code in shown
            ],
            customdata=names,
            hovertemplate="%{y} rows of %{customdata}<extra>%{fullData.name}</extra>",
        )
    figure.update_xaxes(tickvals=[*range(len(shown))], ticktext=names)
    return figure


def one_group(n_rows: int) -> Groups:
    """Return all rows of a node as one group, where nothing tells them apart."""
    return [("rows", np.ones(n_rows, dtype=bool), LEARNER_COLORS["get"])]


def _empty(title: str, mode: Mode) -> go.Figure:
    """Return a figure without bars."""
    return go.Figure().update_layout(
        template=template(mode),
        barmode="stack",
        bargap=0.05,
        height=HEIGHT,
        margin={"t": 24, "b": 36},
        showlegend=False,  # the tree beside it names the colours
        xaxis_title=escape_html(title),
        yaxis_title="training rows",
    )
