"""Two groups of rows in one tree: at each node, how much more of the one pass it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.routing.drawing import EDGE_WIDTHS, WIDTH, TreeDrawing
from treelab.figures.style.colors import Mode, Palette, mix, palette, text_on
from treelab.figures.style.words import escape_html
from treelab.trees.text.numerals import percent
from treelab.trees.tree import Tree

MARK = "*"  # behind the number of a node that is marked


def difference_figure(
    tree: Tree,
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    names: Sequence[str],
    marked: np.ndarray | None = None,
    most: float = 1.0,
    max_depth: int | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw at each node the fraction of the first rows less that of the second.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    first, second : DataFrame
        What ``routing_table`` made of it and of the rows of each group.
    names : sequence of two str
        What the hover text calls these rows.
    marked : bool array of shape (n,) or None, default=None
        Nodes with a ring and a star.
    most : float, default=1.0
        Difference at which the colours are strongest.
    max_depth : int or None, default=None
        Deepest level that is drawn; None: all.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Every node is a point whose ``customdata`` is its number; the colours of
        nodes and edges are those of ``difference_colors``.
    """
    colors = palette(mode)
    depth = tree.depth if max_depth is None else min(max_depth, tree.depth)
    drawing = TreeDrawing(tree, depth, WIDTH)
    difference = first["fraction"].to_numpy() - second["fraction"].to_numpy()
    ring = np.zeros(tree.n_nodes, bool) if marked is None else marked
    figure = go.Figure()
    _add_edges(figure, drawing, difference / most, colors)
    shown = drawing.shown
    fills = [_color(value / most, colors) for value in difference[shown]]
    drawing.add_nodes(
        figure,
        texts=[_points(difference[node]) + MARK * int(ring[node]) for node in shown],
        text_colors=[text_on(fill) for fill in fills],
        hovertext=[
            _hover(first.iloc[node], second.iloc[node], names) for node in shown
        ],
        marker={
            "color": fills,
            "line": {
                "width": np.where(ring[shown], 3, 1),
                "color": np.where(ring[shown], colors.text, colors.muted),
            },
        },
    )
    drawing.add_names(figure, first, colors)
    drawing.set_layout(figure, below=4, mode=mode)
    return figure


def difference_colors(mode: Mode = "light") -> tuple[str, str, str]:
    """Return the colours for more of the second rows, as much, more of the first."""
    return palette(mode).diverging


def _color(value: float, colors: Palette) -> str:
    """Colour of a difference in [-1, 1]: grey at 0."""
    low, middle, high = colors.diverging
    return mix(high if value > 0 else low, middle, min(abs(value), 1.0))


def _add_edges(
    figure: go.Figure, drawing: TreeDrawing, difference: np.ndarray, colors: Palette
) -> None:
    """Draw a line to each node from its parent, wide and coloured by difference."""
    grouped: dict[tuple, list] = {}
    for child in drawing.shown[1:]:
        size = min(abs(difference[child]), 1.0)
        step = round(size * (len(EDGE_WIDTHS) - 1))
        side = int(np.sign(difference[child])) if step else 0
        edge = (drawing.tree.parent[child], child)
        grouped.setdefault((step, side), []).append(edge)
    for (step, side), edges in sorted(grouped.items()):
        color = colors.diverging[side + 1] if side else colors.line
        drawing.add_edges(figure, edges, width=EDGE_WIDTHS[step], color=color)


def _points(difference: float) -> str:
    """Write a difference of fractions in percentage points."""
    text = f"{100 * difference:+.0f}".replace("-", "−")
    return "0" if text in ("+0", "−0") else text


def _hover(first: pd.Series, second: pd.Series, names: Sequence[str]) -> str:
    """Lines of the box that a node shows under the pointer."""
    text = f"prediction {first.prediction}" if first.prediction else first.condition
    lines = [
        f"{row['rows']:,} of the {escape_html(name)} ({percent(row.fraction)})"
        for row, name in zip((first, second), names)
    ]
    return "<br>".join([f"<b>{escape_html(text)}</b>", *lines])
