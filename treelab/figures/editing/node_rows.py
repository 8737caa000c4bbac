"""The rows of a node along one column, and where a split would part them."""

from collections.abc import Collection, Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style.colors import LEARNER_COLORS, Mode, palette, with_alpha
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten
from treelab.trees.text.numerals import shortest

BINS = 40
HEIGHT = 210
NAME_LENGTH = 18  # letters of a category's name
_FADED = 0.35

# Of each group of rows: its name, which rows are in it, and its colour.
Groups = Sequence[tuple[str, np.ndarray, str]]


def number_figure(
    x: np.ndarray,
    groups: Groups,
    threshold: float | None,
    *,
    title: str,
    words: str | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the rows of a node by a number column, and a line at the threshold.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values; missing ones are not drawn.
    groups : sequence of (str, bool ndarray of shape (n,), str)
        Stacked bars: name, rows, colour.
    threshold : float or None
        None, or beyond all rows: no line.
    title : str
        Of the axis: the column, with its unit.
    words : str, optional
        The threshold as the tree writes it.
    mode : {"light", "dark"}, default="light"
    """
    known = np.isfinite(x)
    low, high = (x[known].min(), x[known].max()) if known.any() else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    figure = _empty(title, mode)
    for name, members, color in groups:
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=np.histogram(x[known & members], bins=edges)[0],
            width=edges[1] - edges[0],
            name=escape_html(name),
            marker_color=color,
            hovertemplate="%{y} rows near %{x:.3g}<extra>%{fullData.name}</extra>",
        )
    if threshold is not None and np.isfinite(threshold):
        figure.add_vline(
            x=threshold,
            line={"color": palette(mode).accent, "width": 2, "dash": "dash"},
            annotation_text=f"≤ {words or shortest(threshold)}",
            annotation_position="top",
        )
    return figure


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
    groups, title, mode
        As in ``number_figure``.
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


def side_groups(is_left: np.ndarray) -> Groups:
    """Return the rows of a node by the side they take, where there are no classes."""
    color = LEARNER_COLORS["get"]
    return [
        ("left: yes", is_left, color),
        ("right: no", ~is_left, with_alpha(color, 0.45)),
    ]


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
