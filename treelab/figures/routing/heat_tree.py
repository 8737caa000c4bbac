"""A heat tree: each node as bright as the fraction of some rows that pass it."""

from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.layout import n_drawn_leaves, tree_layout
from treelab.figures.style.colors import VIRIDIS, Mode, Palette, palette, text_on
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html
from treelab.trees.text.numerals import percent
from treelab.trees.tree import Tree

_LARGEST, _SMALLEST = 38, 9  # pixels across a node
_ROOM_FOR_TEXT = 27  # pixels that "100%" takes in a node
WIDTH, SMALL_WIDTH = 420, 290  # pixels across a figure, one of two or of three
_ROOM_FOR_WORDS = 50  # pixels a leaf of a picture that has words below its nodes
_MOST_ENDS = 32  # leaves that are drawn at first
_LETTER = 5.8  # pixels that a letter of size 12 takes
_EDGE_WIDTHS = (1.0, 2.0, 3.5, 5.5, 8.0)  # pixels, from no rows to all of them


def levels_to_draw(tree: Tree) -> int:
    """Find how many levels of splits a heat tree can show; at least one if there is."""
    for depth in range(tree.depth, 1, -1):
        if n_drawn_leaves(tree, depth) <= _MOST_ENDS:
            return depth
    return min(tree.depth, 1)


def heat_tree_figure(
    tree: Tree,
    table: pd.DataFrame,
    *,
    rows_name: str,
    max_depth: int | None = None,
    with_scale: bool = True,
    width: int = WIDTH,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the tree with each node as bright as its fraction of the rows.

    Not of the rows at its level: where few come so deep, a handful would glow.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    table : DataFrame
        What ``routing_table`` made of it and some rows.
    rows_name : str
        The rows' name, for the hover text: "'malignant' test rows".
    max_depth : int or None, default=None
        Deepest level that is drawn; None: all.
    with_scale : bool, default=True
        Whether the colours' scale is drawn below the tree.
    width : int, default=WIDTH
        Pixels across that the figure will at least have.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Every node is a point whose ``customdata`` is its number.
    """
    colors = palette(mode)
    depth = tree.depth if max_depth is None else min(max_depth, tree.depth)
    n_ends = n_drawn_leaves(tree, depth)
    drawing = _Drawing(tree, *tree_layout(tree, depth), n_ends, width)
    shown = np.flatnonzero(tree.level <= depth)
    figure = go.Figure()
    _add_edges(figure, drawing, shown, table["fraction"].to_numpy(), colors)
    _add_nodes(figure, drawing, shown, table["fraction"].to_numpy()[shown], colors)
    figure.update_traces(
        hovertext=[_hover(table.iloc[node], rows_name) for node in shown],
        marker_colorbar=_color_bar("fraction of these rows", colors.muted),
        marker_showscale=with_scale,
        selector={"name": "nodes"},
    )
    named = n_ends * _ROOM_FOR_WORDS <= width
    if named:
        _add_names(figure, drawing, shown, table, colors)
    below = 0.7 if named else 0.45
    return figure.update_layout(
        template=template(mode),
        height=(110 if with_scale else 50) + (92 if named else 66) * (depth + 1),
        xaxis={"visible": False, "range": [-0.7, n_ends - 0.3]},
        yaxis={"visible": False, "range": [-depth - below, 0.35]},
        margin={"l": 0, "r": 0, "t": 0, "b": 64 if with_scale else 4},
    )


@dataclass(frozen=True)
class _Drawing:
    """Where a tree's nodes stand, ``x`` and ``y`` (n_nodes,), its ends, and pixels."""

    tree: Tree
    x: np.ndarray
    y: np.ndarray
    n_ends: int
    width: int

    @cached_property
    def _room(self) -> np.ndarray:
        """Distance between the two closest nodes of each node's level, (n_nodes,)."""
        gap = np.full(self.tree.n_nodes, np.inf)
        for level in range(self.tree.depth + 1):
            here = np.flatnonzero((self.tree.level == level) & np.isfinite(self.x))
            if len(here) > 1:
                gap[here] = np.diff(np.sort(self.x[here])).min()
        return gap

    @cached_property
    def node_sizes(self) -> np.ndarray:
        """Pixels across each node: as large as its neighbours leave room."""
        room = self._room * self.width / max(self.n_ends, 1)
        return np.clip(0.86 * room, _SMALLEST, _LARGEST)

    @cached_property
    def letters(self) -> np.ndarray:
        """Letters that fit on a line under each node, beside its neighbours' words."""
        room = self._room * self.width / _LETTER / max(self.n_ends, 2)
        return np.clip(room, 8, 30).astype(int)


def _add_edges(
    figure: go.Figure,
    drawing: _Drawing,
    shown: np.ndarray,
    fraction: np.ndarray,
    colors: Palette,
) -> None:
    """Draw a line to each node from its parent, widest where most rows go."""
    x, y = drawing.x, drawing.y
    for width, edges in _edges_by_width(drawing.tree, shown, fraction):
        figure.add_scatter(
            x=np.concatenate([[x[a], x[b], np.nan] for a, b in edges]),
            y=np.concatenate([[y[a], y[b], np.nan] for a, b in edges]),
            mode="lines",
            line={"width": width, "color": colors.line},
            hoverinfo="skip",
            showlegend=False,
        )


def _add_nodes(
    figure: go.Figure,
    drawing: _Drawing,
    shown: np.ndarray,
    fraction: np.ndarray,
    colors: Palette,
) -> None:
    """Draw the nodes shown, as bright as their fractions, these in the larger ones."""
    size = drawing.node_sizes[shown]
    figure.add_scatter(
        x=drawing.x[shown],
        y=drawing.y[shown],
        mode="markers+text",
        marker={
            "size": size,
            "symbol": np.where(drawing.tree.is_leaf[shown], "square", "circle"),
            "color": fraction,
            "colorscale": [
                [i / (len(VIRIDIS) - 1), color] for i, color in enumerate(VIRIDIS)
            ],
            "cmin": 0,
            "cmax": 1,
            "opacity": 1,
            "line": {"width": 1, "color": colors.muted},
        },
        text=[
            f"{value:.0%}" if room >= _ROOM_FOR_TEXT else ""
            for value, room in zip(fraction, size)
        ],
        textfont={"size": 12, "color": [_readable(value) for value in fraction]},
        customdata=shown,
        hoverinfo="text",
        name="nodes",
        showlegend=False,
    )


def _add_names(
    figure: go.Figure,
    drawing: _Drawing,
    shown: np.ndarray,
    table: pd.DataFrame,
    colors: Palette,
) -> None:
    """Write each split's condition and each leaf's prediction below its node."""
    for node in shown:
        words = table.condition[node] or table.prediction[node]
        lines = wrap(words, drawing.letters[node], max_lines=2, placeholder="…")
        figure.add_annotation(
            x=drawing.x[node],
            y=drawing.y[node],
            text="<br>".join(escape_html(line) for line in lines),
            showarrow=False,
            yanchor="top",
            yshift=-(drawing.node_sizes[node] / 2 + 1),
            font={"size": 12, "color": colors.text},
            bgcolor=colors.background,
            borderpad=1,
        )


def _color_bar(title: str, color: str) -> dict:
    """The scale from no rows to all of them, below the tree."""
    return {
        "title": {"text": title, "side": "top", "font": {"size": 12, "color": color}},
        "orientation": "h",
        "x": 0.5,
        "y": -0.02,
        "yanchor": "top",
        "len": 0.6,
        "thickness": 8,
        "outlinewidth": 0,
        "tickformat": ".0%",
        "tickvals": [0, 0.5, 1],
        "tickfont": {"size": 12, "color": color},
    }


def _edges_by_width(tree: Tree, shown: np.ndarray, fraction: np.ndarray):
    """Return (width, [(parent, child), ...]), widest where most rows go."""
    grouped: dict[float, list] = {width: [] for width in _EDGE_WIDTHS}
    for child in shown[1:]:
        step = int(np.ceil(fraction[child] * (len(_EDGE_WIDTHS) - 1)))
        grouped[_EDGE_WIDTHS[step]].append((tree.parent[child], child))
    return [(width, edges) for width, edges in grouped.items() if edges]


def _readable(fraction: float) -> str:
    """Colour of a number that stands on viridis at ``fraction``."""
    return text_on(VIRIDIS[round(fraction * (len(VIRIDIS) - 1))])


def _hover(row: pd.Series, rows_name: str) -> str:
    """Lines of the box that a node shows under the pointer."""
    text = f"prediction {row.prediction}" if row.prediction else row.condition
    return (
        f"<b>{escape_html(text)}</b><br>"
        f"{row['rows']:,} of the {escape_html(rows_name)} ({percent(row.fraction)})<br>"
        f"{percent(row.level_fraction)} of those that reach level {row.level}"
    )
