"""A heat tree: each node as bright as the fraction of some rows that pass it."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.routing.drawing import EDGE_WIDTHS, WIDTH, TreeDrawing
from treelab.figures.style.colors import VIRIDIS, Mode, palette, text_on
from treelab.figures.style.words import escape_html
from treelab.trees.text.numerals import percent
from treelab.trees.tree import Tree


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
    drawing = TreeDrawing(tree, depth, width)
    fraction = table["fraction"].to_numpy()
    figure = go.Figure()
    for edge_width, edges in _edges_by_width(drawing, fraction):
        drawing.add_edges(figure, edges, width=edge_width, color=colors.line)
    here = fraction[drawing.shown]
    drawing.add_nodes(
        figure,
        texts=[f"{value:.0%}" for value in here],
        text_colors=[_readable(value) for value in here],
        hovertext=[_hover(table.iloc[node], rows_name) for node in drawing.shown],
        marker={
            "color": here,
            "colorscale": [
                [i / (len(VIRIDIS) - 1), color] for i, color in enumerate(VIRIDIS)
            ],
            "cmin": 0,
            "cmax": 1,
            "line": {"width": 1, "color": colors.muted},
            "showscale": with_scale,
            "colorbar": _color_bar("fraction of these rows", colors.muted),
        },
    )
    drawing.add_names(figure, table, colors)
    drawing.set_layout(figure, below=64 if with_scale else 4, mode=mode)
    return figure


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


def _edges_by_width(drawing: TreeDrawing, fraction: np.ndarray):
    """Return (width, [(parent, child), ...]), widest where most rows go."""
    grouped: dict[float, list] = {width: [] for width in EDGE_WIDTHS}
    for child in drawing.shown[1:]:
        step = int(np.ceil(fraction[child] * (len(EDGE_WIDTHS) - 1)))
        grouped[EDGE_WIDTHS[step]].append((drawing.tree.parent[child], child))
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
