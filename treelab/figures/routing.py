"""Where rows of one kind go: the share of them that passes each node of a tree."""

from textwrap import wrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.colors import Mode, palette, text_on
from treelab.figures.layout import tree_layout
from treelab.figures.template import template
from treelab.figures.words import escape_html
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
_MOST_LABELLED_LEAVES = 16
_MOST_NAMED_LEAVES = 8
_LETTERS_ACROSS = 72  # of size 12 beside each other in a figure of usual width
_EDGE_WIDTHS = (1.0, 2.0, 3.5, 5.5, 8.0)  # pixels, from no rows to all of them
BANDS = ("low", "middle", "high")


def routing_table(tree: Tree, X: pd.DataFrame) -> pd.DataFrame:
    """Count the rows that pass each node and normalise them in each level.

    Source: the class routing distributions of Zantedeschi, Kusner and Niculae,
    "Learning Binary Decision Trees by Argmin Differentiation", arXiv:2010.04627.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    X : DataFrame of shape (n_rows, n_columns)
        The rows to send down, in the table's own columns; may have no row.

    Returns
    -------
    DataFrame of n rows, indexed by node
        ``level``; ``rows`` that pass; ``share``, of all of ``X``; ``level_share``,
        of those rows that reach the node's level (a row that ended in a leaf above
        counts no more), zero where none does; ``question``, empty at leaves;
        ``answer``, empty at splits.
    """
    level = np.asarray(tree.level)
    rows = tree.decision_path(X).sum(axis=0) if len(X) else np.zeros(len(level), int)
    at_level = np.bincount(level, weights=rows)[level]
    return pd.DataFrame(
        {
            "level": level,
            "rows": rows.astype(int),
            "share": rows / max(len(X), 1),
            "level_share": np.divide(
                rows, at_level, out=np.zeros(len(level)), where=at_level > 0
            ),
            "question": [
                "" if leaf else tree.question(node)
                for node, leaf in enumerate(tree.is_leaf)
            ],
            "answer": [
                _answer(tree, node) if leaf else ""
                for node, leaf in enumerate(tree.is_leaf)
            ],
        },
        index=pd.RangeIndex(len(level), name="node"),
    )


def target_bands(y_train, y) -> tuple[np.ndarray, tuple[float, float]]:
    """Sort values of a number target into low, middle and high.

    Parameters
    ----------
    y_train : array-like of shape (n_train_rows,)
        Training values; their thirds set the borders.
    y : array-like of shape (n_rows,)
        The values to sort, in the same units.

    Returns
    -------
    band : ndarray of shape (n_rows,)
        One of ``BANDS``; a value on a border belongs to the lower band.
    borders : tuple of two float
        Between low and middle, and between middle and high.
    """
    borders = np.quantile(np.asarray(y_train, dtype=float), [1 / 3, 2 / 3])
    band = np.array(BANDS)[np.searchsorted(borders, np.asarray(y, dtype=float))]
    return band, (float(borders[0]), float(borders[1]))


def heat_tree_figure(
    tree: Tree,
    table: pd.DataFrame,
    *,
    what: str,
    color_by: str = "level_share",
    mode: Mode = "light",
) -> go.Figure:
    """Draw the tree with each node as bright as its share of the rows.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    table : DataFrame
        What ``routing_table`` made of it and some rows.
    what : str
        The rows' name, for the hover text: "'malignant' test rows".
    color_by : {"level_share", "share"}, default="level_share"
        The column that sets the colour and the number in the node.
    mode : {"light", "dark"}, default="light"
        The ground the figure lies on.

    Returns
    -------
    go.Figure
        Every node is a point whose ``customdata`` is its number.
    """
    colors = palette(mode)
    x, y = tree_layout(tree)
    share = table[color_by].to_numpy()
    figure = go.Figure()
    for width, edges in _edges_by_width(tree, table["share"].to_numpy()):
        figure.add_scatter(
            x=np.concatenate([[x[a], x[b], np.nan] for a, b in edges]),
            y=np.concatenate([[y[a], y[b], np.nan] for a, b in edges]),
            mode="lines",
            line={"width": width, "color": colors.line},
            hoverinfo="skip",
            showlegend=False,
        )
    labelled = tree.n_leaves <= _MOST_LABELLED_LEAVES
    size = 38 if tree.n_leaves <= _MOST_NAMED_LEAVES else 30 if labelled else 13
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers+text" if labelled else "markers",
        marker={
            "size": size,
            "symbol": np.where(tree.is_leaf, "square", "circle"),
            "color": share,
            "colorscale": [
                [i / (len(_VIRIDIS) - 1), color] for i, color in enumerate(_VIRIDIS)
            ],
            "cmin": 0,
            "cmax": 1,
            "line": {"width": 1, "color": colors.muted},
            "showscale": True,
            "colorbar": {
                "title": {
                    "text": _SCALE_TITLES[color_by],
                    "side": "top",
                    "font": {"size": 12, "color": colors.muted},
                },
                "orientation": "h",
                "x": 0.5,
                "y": -0.02,
                "yanchor": "top",
                "len": 0.6,
                "thickness": 8,
                "outlinewidth": 0,
                "tickformat": ".0%",
                "tickvals": [0, 0.5, 1],
                "tickfont": {"size": 12, "color": colors.muted},
            },
        },
        text=[f"{value:.0%}" for value in share],
        textfont={"size": 12, "color": [_readable(value) for value in share]},
        customdata=table.index.to_numpy(),
        hovertext=[_hover(table.loc[node], what) for node in table.index],
        hoverinfo="text",
        name="nodes",
        showlegend=False,
    )
    if tree.n_leaves <= _MOST_NAMED_LEAVES:
        room = _letters_of_room(tree, x)
        for node in table.index:
            words = table.question[node] or table.answer[node]
            lines = wrap(words, room[node], max_lines=2, placeholder="…")
            figure.add_annotation(
                x=x[node],
                y=y[node],
                text="<br>".join(escape_html(line) for line in lines),
                showarrow=False,
                yanchor="top",
                yshift=-(size / 2 + 1),
                font={"size": 12, "color": colors.text},
                bgcolor=colors.ground,
                borderpad=1,
            )
    return figure.update_layout(
        template=template(mode),
        height=140 + 92 * (tree.depth + 1),
        xaxis={"visible": False, "range": [-0.7, tree.n_leaves - 0.3]},
        yaxis={"visible": False, "range": [-tree.depth - 0.7, 0.35]},
        margin={"l": 0, "r": 0, "t": 0, "b": 64},
    )


def busiest_leaf(tree: Tree, table: pd.DataFrame) -> int:
    """Return the leaf where most of the rows end; the first among equals."""
    leaves = np.flatnonzero(tree.is_leaf)
    return int(leaves[np.argmax(table["rows"].to_numpy()[leaves])])


_SCALE_TITLES = {
    "level_share": "share of the rows at this level",
    "share": "share of all these rows",
}


def _edges_by_width(tree: Tree, share: np.ndarray):
    """Yield (width, [(parent, child), ...]), children sorted by their share of rows."""
    grouped = {width: [] for width in _EDGE_WIDTHS}
    for child, parent in enumerate(tree.parent):
        if parent >= 0:
            step = int(np.ceil(share[child] * (len(_EDGE_WIDTHS) - 1)))
            grouped[_EDGE_WIDTHS[step]].append((parent, child))
    return [(width, edges) for width, edges in grouped.items() if edges]


def _letters_of_room(tree: Tree, x: np.ndarray) -> np.ndarray:
    """Letters that fit on a line under each node, beside its neighbours' words."""
    room = np.zeros(tree.n_nodes, dtype=int)
    for level in range(tree.depth + 1):
        here = np.flatnonzero(tree.level == level)
        places = np.sort(x[here])
        gap = np.diff(places).min() if len(places) > 1 else tree.n_leaves
        letters = gap * _LETTERS_ACROSS / max(tree.n_leaves, 2)
        room[here] = int(np.clip(letters, 8, 30))
    return room


def _readable(share: float) -> str:
    """Colour of a number that stands on viridis at ``share``."""
    return text_on(_VIRIDIS[round(share * (len(_VIRIDIS) - 1))])


def _answer(tree: Tree, node: int) -> str:
    """What a leaf says, in a word or a number."""
    if tree.classes is None:
        return f"{tree.value[node, 0]:.3g} {tree.target_unit}".strip()
    return str(tree.classes[int(np.argmax(tree.value[node]))])


def _hover(row: pd.Series, what: str) -> str:
    """Lines of the box that a node shows under the pointer."""
    says = f"says {row.answer}" if row.answer else row.question
    return (
        f"<b>{escape_html(says)}</b><br>"
        f"{row['rows']:,} of the {escape_html(what)} ({row.share:.1%})<br>"
        f"{row.level_share:.1%} of those that reach level {row.level}"
    )
