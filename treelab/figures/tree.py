"""Beside the picture of a tree: how much to draw, its alt text, its thumbnail."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.figures.layout import n_drawn_leaves, tree_layout
from treelab.figures.style import Mode, palette, with_alpha
from treelab.trees.text import prediction_label, split_text
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import counted, percent

WIDTH = 720  # pixels of the wider of two columns on a page
WRAP = 18  # letters a line of a node, so that more nodes stand beside each other
WRAP_SUM = 26  # where splits test a sum of columns, so that nodes do not grow tall
_NODE_WIDTH, _LEVEL_HEIGHT = 142, 150  # pixels, margins included
_WIDER = 1.3  # factor of a node whose split tests a sum
_MOST_ENDS = 14  # leaves below each other on a page
_MOST_LEVELS = 12  # levels below each other on a page


@dataclass(frozen=True)
class PicturePlan:
    """How a tree is drawn so that it can be read."""

    depth: int  # levels of splits that are drawn; what hangs below is counted
    # "TB" or "LR": top-down, or from left to right where that makes better use of the
    # page.
    direction: str
    fits: bool  # whether it fits without becoming too small to read
    wrap: int  # letters a line of a node


def plan_picture(
    tree: Tree, width: int = WIDTH, depth: int | None = None
) -> PicturePlan:
    """Find how many levels can be drawn, and in which direction.

    In so many pixels: as many levels as fit, at least one, unless a depth must be
    drawn.
    """
    if depth is not None:
        return _plan(tree, width, min(depth, tree.depth))
    for levels in range(tree.depth, 1, -1):
        plan = _plan(tree, width, levels)
        if plan.fits:
            return plan
    return _plan(tree, width, min(tree.depth, 1))


def _plan(tree: Tree, width: int, depth: int) -> PicturePlan:
    """How this many levels are drawn: top-down where that fits."""
    drawn = tree.level[tree.level <= depth]
    sums = bool((tree.feature == OBLIQUE).any())
    wrap, wider = (WRAP_SUM, _WIDER) if sums else (WRAP, 1.0)
    across = np.bincount(drawn).max() * _NODE_WIDTH * wider
    along = (depth + 1) * _LEVEL_HEIGHT * wider
    if across <= width and depth <= _MOST_LEVELS:
        return PicturePlan(depth, "TB", True, wrap)
    fits = n_drawn_leaves(tree, depth) <= _MOST_ENDS and bool(along <= width * 1.1)
    return PicturePlan(depth, "LR" if along < across else "TB", fits, wrap)


def columns_by_path(tree: Tree, row: pd.DataFrame) -> tuple[str, ...]:
    """Return a tree's columns: those on the decision path of one row first."""
    on_path = [
        tree.features[j].column
        for node in tree.path(row)[:-1]
        if (j := tree.feature[node]) != OBLIQUE
    ]
    return tuple(dict.fromkeys([*on_path, *tree.columns]))


def tree_alt(tree: Tree) -> str:
    """Describe a tree's picture in one or two sentences, for a screen reader."""
    if tree.n_splits == 0:
        label = prediction_label(tree, 0)
        return f"A tree of one leaf: it predicts {label} for every row."
    words = (
        f"Decision tree for {tree.target} of depth {tree.depth} with "
        f"{counted(tree.n_leaves, 'leaf', 'leaves')}. "
        f"The root tests whether {split_text(tree, 0)}."
    )
    if tree.n_rows[0]:
        leaves = np.flatnonzero(tree.is_leaf)
        largest = leaves[np.argmax(tree.n_rows[leaves])]
        label, rows = prediction_label(tree, largest), tree.n_rows[largest]
        fraction = percent(rows / tree.n_rows[0])
        words += f" The largest leaf predicts {label} for {fraction} of rows."
    return words


def thumbnail_svg(
    tree: Tree, colors: dict, *, mode: Mode = "light", highlighted: bool = False
) -> str:
    """Draw a tree as a thumbnail: its shape, its leaves in their colours.

    SVG of 160 by 96 pixels, without any text of the table. A highlighted one, as that
    of the open tree, has a border in the accent colour.
    """
    theme = palette(mode)
    x, y = tree_layout(tree)
    across = 140 / max(tree.n_leaves - 1, 1)
    down = 70 / max(tree.depth, 1)
    x = x * across + (10 if tree.n_leaves > 1 else 80)
    y = 13 - y * down
    fraction = tree.n_rows / max(int(tree.n_rows[0]), 1)
    border = theme.accent if highlighted else theme.grid
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="96" '
        'viewBox="0 0 160 96">',
        f'<rect x="1" y="1" width="158" height="94" rx="8" fill="{theme.panel}" '
        f'stroke="{border}" stroke-width="{2 if highlighted else 1}"/>',
    ]
    for node, parent in enumerate(tree.parent[1:], start=1):
        parts.append(
            f'<line x1="{x[parent]:.1f}" y1="{y[parent]:.1f}" x2="{x[node]:.1f}" '
            f'y2="{y[node]:.1f}" stroke="{theme.line}" '
            f'stroke-width="{1 + 4 * fraction[node]:.1f}" stroke-linecap="round"/>'
        )
    for node, (cx, cy) in enumerate(zip(x, y)):
        if tree.is_leaf[node]:
            shape = (
                f'rect x="{cx - 4:.1f}" y="{cy - 4:.1f}" width="8" height="8" rx="2"'
            )
            fill = _fill(tree, node, colors, theme.accent)
        else:
            shape, fill = f'circle cx="{cx:.1f}" cy="{cy:.1f}" r="2.5"', theme.muted
        parts.append(f'<{shape} fill="{fill}"/>')
    return "".join([*parts, "</svg>"])


def _fill(tree: Tree, node: int, colors: dict, accent: str) -> str:
    """Colour of a leaf: its class, or the accent as strong as its value is high."""
    if tree.classes is not None:
        return colors[tree.classes[tree.predicted_class[node]]]
    of_nodes = tree.value[:, tree.main_output]
    values = of_nodes[tree.is_leaf]
    value_range = np.ptp(values)
    height = (of_nodes[node] - values.min()) / value_range if value_range else 0.5
    return with_alpha(accent, 0.25 + 0.75 * height)
