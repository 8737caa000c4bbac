"""A heat tree: each node as bright as the fraction of some rows that pass it."""

from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.layout import tree_layout
from treelab.figures.style.colors import Mode, palette, text_on
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html
from treelab.trees.tree import Tree

# Plotly's viridis at ten even steps, to find a text colour that reads on each.
_VIRIDIS = (
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#fde725",
)
_LARGEST, _SMALLEST = 38, 9  # pixels across a node
_ROOM_FOR_TEXT = 27  # pixels that "100%" takes in a node
_USUAL_WIDTH = 420  # pixels across the figure beside another one
_MOST_NAMED_ENDS = 8  # of branches that have words below their nodes
_MOST_ENDS = 32  # of branches that are drawn at first
_LETTERS_ACROSS = 72  # of size 12 beside each other in a figure of usual width
_EDGE_WIDTHS = (1.0, 2.0, 3.5, 5.5, 8.0)  # pixels, from no rows to all of them


def levels_to_draw(tree: Tree) -> int:
    """Find how many levels of splits a heat tree can show; at least one if there is."""
    for depth in range(tree.depth, 1, -1):
        if _n_ends(tree, depth) <= _MOST_ENDS:
            return depth
    return min(tree.depth, 1)


def heat_tree_figure(
    tree: Tree,
    table: pd.DataFrame,
    *,
    what: str,
    color_by: str = "level_fraction",
    max_depth: int | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the tree with each node as bright as its fraction of the rows.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    table : DataFrame
        What ``routing_table`` made of it and some rows.
    what : str
        The rows' name, for the hover text: "'malignant' test rows".
    color_by : {"level_fraction", "fraction"}, default="level_fraction"
        The column that sets the colour and the number in the node.
    max_depth : int or None, default=None
        Deepest level that is drawn; None: all.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Every node is a point whose ``customdata`` is its number.
    """
    colors = palette(mode)
    depth = tree.depth if max_depth is None else min(max_depth, tree.depth)
    x, y = tree_layout(tree, depth)
    n_ends = _n_ends(tree, depth)
    shown = np.flatnonzero(tree.level <= depth)
    size = _node_sizes(tree, x, n_ends)
    named = n_ends <= _MOST_NAMED_ENDS
    figure = go.Figure()
    for width, edges in _edges_by_width(tree, shown, table["fraction"].to_numpy()):
        figure.add_scatter(
            x=np.concatenate([[x[a], x[b], np.nan] for a, b in edges]),
            y=np.concatenate([[y[a], y[b], np.nan] for a, b in edges]),
            mode="lines",
            line={"width": width, "color": colors.line},
            hoverinfo="skip",
            showlegend=False,
        )
    fraction = table[color_by].to_numpy()[shown]
    figure.add_scatter(
        x=x[shown],
        y=y[shown],
        mode="markers+text",
        marker={
            "size": size[shown],
            "symbol": np.where(tree.is_leaf[shown], "square", "circle"),
            "color": fraction,
            "colorscale": [
                [i / (len(_VIRIDIS) - 1), color] for i, color in enumerate(_VIRIDIS)
            ],
            "cmin": 0,
            "cmax": 1,
            "opacity": 1,
            "line": {"width": 1, "color": colors.muted},
            "showscale": True,
            "colorbar": _color_bar(_SCALE_TITLES[color_by], colors.muted),
        },
        text=[
            f"{value:.0%}" if room >= _ROOM_FOR_TEXT else ""
            for value, room in zip(fraction, size[shown])
        ],
        textfont={"size": 12, "color": [_readable(value) for value in fraction]},
        customdata=shown,
        hovertext=[_hover(table.iloc[node], what) for node in shown],
        hoverinfo="text",
        name="nodes",
        showlegend=False,
    )
    if named:
        room = _letters_of_room(tree, x, n_ends)
        for node in shown:
            words = table.condition[node] or table.prediction[node]
            lines = wrap(words, room[node], max_lines=2, placeholder="…")
            figure.add_annotation(
                x=x[node],
                y=y[node],
                text="<br>".join(escape_html(line) for line in lines),
                showarrow=False,
                yanchor="top",
                yshift=-(size[node] / 2 + 1),
                font={"size": 12, "color": colors.text},
                bgcolor=colors.background,
                borderpad=1,
            )
    below = 0.7 if named else 0.45
    return figure.update_layout(
        template=template(mode),
        height=110 + (92 if named else 66) * (depth + 1),
        xaxis={"visible": False, "range": [-0.7, n_ends - 0.3]},
        yaxis={"visible": False, "range": [-depth - below, 0.35]},
        margin={"l": 0, "r": 0, "t": 0, "b": 64},
    )


_SCALE_TITLES = {
    "level_fraction": "fraction of the rows at this level",
    "fraction": "fraction of all these rows",
}


def _n_ends(tree: Tree, depth: int) -> int:
    """Count the branches' ends in a picture of this many levels."""
    return int(np.sum((tree.level == depth) | (tree.is_leaf & (tree.level < depth))))


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


def _narrowest(tree: Tree, x: np.ndarray) -> np.ndarray:
    """Distance of each node's level between its two closest nodes, (n,)."""
    gap = np.full(tree.n_nodes, np.inf)
    for level in range(tree.depth + 1):
        here = np.flatnonzero((tree.level == level) & np.isfinite(x))
        if len(here) > 1:
            gap[here] = np.diff(np.sort(x[here])).min()
    return gap


def _node_sizes(tree: Tree, x: np.ndarray, n_ends: int) -> np.ndarray:
    """Pixels across each node: as large as its neighbours on the level leave room."""
    room = _narrowest(tree, x) * _USUAL_WIDTH / max(n_ends, 1)
    return np.clip(0.86 * room, _SMALLEST, _LARGEST)


def _letters_of_room(tree: Tree, x: np.ndarray, n_ends: int) -> np.ndarray:
    """Letters that fit on a line under each node, beside its neighbours' words."""
    room = _narrowest(tree, x) * _LETTERS_ACROSS / max(n_ends, 2)
    return np.clip(room, 8, 30).astype(int)


def _readable(fraction: float) -> str:
    """Colour of a number that stands on viridis at ``fraction``."""
    return text_on(_VIRIDIS[round(fraction * (len(_VIRIDIS) - 1))])


def _hover(row: pd.Series, what: str) -> str:
    """Lines of the box that a node shows under the pointer."""
    text = f"prediction {row.prediction}" if row.prediction else row.condition
    return (
        f"<b>{escape_html(text)}</b><br>"
        f"{row['rows']:,} of the {escape_html(what)} ({row.fraction:.1%})<br>"
        f"{row.level_fraction:.1%} of those that reach level {row.level}"
    )
