"""A tree while it grows: its whole shape in a small place, questions where they fit."""

import textwrap

import numpy as np
import plotly.graph_objects as go

from treelab.figures.colors import Mode, palette, with_alpha
from treelab.figures.layout import tree_layout
from treelab.figures.template import template
from treelab.figures.words import escape_html
from treelab.trees.tree import Tree
from treelab.trees.words import question

WIDTH, HEIGHT = 400, 340  # pixels that the picture is laid out for
LETTER = 6.4  # pixels, of the questions' font at its size
WRAP = 17  # letters a line
MOST_LEVELS = 3  # that ask their question
ROOM = 62  # pixels from one of these to the next level: two lines and an edge
ABOVE, BELOW = 24, 12  # pixels over the root's and under the deepest level's middle


def growing_figure(tree: Tree, colors: dict, mode: Mode = "light") -> go.Figure:
    """Draw all nodes of a tree, and the questions of its first levels.

    Parameters
    ----------
    tree : Tree
    colors : dict
        Hex colour of each class; empty for regression, where a leaf is the darker the
        higher its value.
    mode : {"light", "dark"}, default="light"
        The ground that the figure lies on.

    Returns
    -------
    go.Figure
        Edges as thick as their share of rows, splits as small circles or as their
        question, leaves as squares in the colour of their answer.
    """
    ground = palette(mode)
    x, _ = tree_layout(tree)
    level_y = _level_heights(tree.depth)
    y = level_y[tree.level]
    figure = go.Figure()
    _add_edges(figure, tree, x, y, ground.line)
    splits = np.flatnonzero(~tree.is_leaf)
    leaves = np.flatnonzero(tree.is_leaf)
    figure.add_scatter(
        x=x[splits],
        y=y[splits],
        mode="markers",
        marker={"size": 7, "color": ground.muted},
        customdata=splits,
        hovertext=[escape_html(tree.question(node)) for node in splits],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.add_scatter(
        x=x[leaves],
        y=y[leaves],
        mode="markers",
        marker={
            "size": 11,
            "symbol": "square",
            "color": _leaf_colors(tree, leaves, colors, ground.accent),
            "line": {"color": ground.ground, "width": 1},
        },
        customdata=leaves,
        hovertext=[escape_html(tree.describe(node)) for node in leaves],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    for note in _questions(tree, x, level_y):
        figure.add_annotation(
            **note,
            showarrow=False,
            bgcolor=ground.panel,
            bordercolor=ground.line,
            borderpad=3,
            font={"size": 12, "color": ground.text},
        )
    hidden = {"visible": False, "fixedrange": True}
    return figure.update_layout(
        template=template(mode),
        height=HEIGHT,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
        hovermode="closest",
        xaxis={**hidden, "range": [-0.6, tree.n_leaves - 0.4]},
        yaxis={**hidden, "range": [-HEIGHT, 0]},
    )


def _level_heights(depth: int) -> np.ndarray:
    """Place levels 0 to ``depth``, in pixels below the top edge, (depth + 1,).

    Levels that ask keep room for their questions; the deeper ones share the rest.
    """
    whole = HEIGHT - ABOVE - BELOW
    gaps = np.full(depth, whole / max(depth, 1))
    if depth > MOST_LEVELS and gaps[0] < ROOM:
        gaps[:MOST_LEVELS] = ROOM
        gaps[MOST_LEVELS:] = (whole - MOST_LEVELS * ROOM) / (depth - MOST_LEVELS)
    return -ABOVE - np.concatenate([[0.0], np.cumsum(gaps)])


def _add_edges(figure: go.Figure, tree: Tree, x, y, color: str) -> None:
    """Draw the edges, in five widths so that there are few traces."""
    child = np.flatnonzero(tree.parent >= 0)
    share = tree.n_rows[child] / max(int(tree.n_rows[0]), 1)
    width = np.ceil(np.clip(share, 0, 1) * 5).astype(int)
    for step in np.unique(width):
        some = child[width == step]
        gap = np.full(len(some), np.nan)
        parent = tree.parent[some]
        figure.add_scatter(
            x=np.column_stack([x[parent], x[some], gap]).ravel(),
            y=np.column_stack([y[parent], y[some], gap]).ravel(),
            mode="lines",
            line={"color": color, "width": 1 + 1.4 * int(step)},
            hoverinfo="skip",
        )


def _leaf_colors(tree: Tree, leaves, colors: dict, accent: str) -> list[str]:
    """Colour each leaf by its answer."""
    if tree.classes is not None:
        best = tree.value[leaves].argmax(axis=1)
        return [colors[tree.classes[i]] for i in best]
    values = tree.value[leaves, 0]
    spread = np.ptp(values)
    height = (values - values.min()) / spread if spread else np.full(len(values), 0.5)
    return [with_alpha(accent, 0.2 + 0.8 * h) for h in height]


def _questions(tree: Tree, x: np.ndarray, level_y: np.ndarray) -> list[dict]:
    """Place the questions of the first levels where they do not hide each other."""
    pixels = (x + 0.6) / (tree.n_leaves + 0.2) * WIDTH
    placed, level, end = [], -1, 0.0
    splits = np.flatnonzero(~tree.is_leaf & (tree.level < MOST_LEVELS))
    for node in splits[np.lexsort((x[splits], tree.level[splits]))]:
        if tree.level[node] != level:
            level, end = tree.level[node], 0.0
        asked = _short_question(tree, node)
        name, at, threshold = asked.partition("≤")  # the number keeps its unit
        number, also, missing = threshold.partition(" (")
        number = (at + number).replace(" ", "\N{NO-BREAK SPACE}")
        asked = name + number + also + missing
        text = textwrap.wrap(asked, WRAP)
        if len(text) > 2:
            text = [text[0], text[1][: WRAP - 1] + "…"]
        half = max(map(len, text)) * LETTER / 2 + 5
        middle = float(np.clip(pixels[node], half, WIDTH - half))
        if middle - half < end:
            continue
        end = middle + half + 4
        placed.append(
            {
                "x": x[node],
                "y": level_y[level],
                "xshift": middle - pixels[node],
                "text": "<br>".join(map(escape_html, text)),
            }
        )
    return placed


def _short_question(tree: Tree, node: int) -> str:
    """Say what a split asks; a weighted sum only by how many columns it weighs."""
    if tree.weights is not None and (n := np.count_nonzero(tree.weights[node])) > 1:
        return f"a mix of {n} columns"
    return question(tree, node, most=2, length=16)
