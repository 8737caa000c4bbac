"""A whole tree as areas: icicle and sunburst, a node as large as its rows."""

from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from treelab.figures.style import (
    SEQUENTIAL,
    Mode,
    escape_html,
    mix,
    palette,
    template,
    text_on,
    time_ticks,
)
from treelab.trees.colors import Palette
from treelab.trees.text import (
    prediction_text,
    predicts_times,
    rows_text,
    rule_text,
    split_condition,
    target_title,
)
from treelab.trees.tree import Tree, sum_up

Kind = Literal["icicle", "sunburst"]
MOST_NODES = 1_000  # drawn; with more a page gets slow and areas too small
_PALEST = 0.2  # strength of a class's colour where it is no likelier than chance
_LINE = 60  # letters across the hover box
_MOST_LINES = 12  # of a rule
_SHORT = 22  # letters of a name in an area


def overview_figure(
    tree: Tree, colors: dict, *, kind: Kind = "icicle", mode: Mode = "light"
) -> go.Figure:
    """Draw each node as an area as large as its rows.

    An area names the last condition on the path to it; below a node lie its two
    children, left first. The more probable a class, the stronger its colour (hex, by
    class); for a regression the colour is the node's mean. One trace; ``customdata``
    and ``ids`` are node numbers. Of a large tree only the levels above
    ``levels_shown(tree)`` are drawn; without rows, every leaf is equally large.
    """
    theme = palette(mode)
    drawn = np.flatnonzero(tree.level <= levels_shown(tree))
    size = tree.n_rows if tree.n_rows[0] else sum_up(tree, tree.is_leaf.astype(int))
    drawn = drawn[size[drawn] > 0]
    names = [_name(tree, node) for node in drawn.tolist()]
    marker, shown = _marker(tree, drawn, colors, theme)
    trace = {
        "ids": [str(node) for node in drawn],
        "parents": [str(tree.parent[node]) if node else "" for node in drawn],
        "labels": names,
        "values": size[drawn],
        "branchvalues": "total",
        "customdata": drawn,
        "hovertext": [_hover(tree, int(node)) for node in drawn],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "sort": False,
        "leaf": {"opacity": 1},
        "marker": {**marker, "line": {"color": theme.background, "width": 1.5}},
        "insidetextfont": {"color": list(map(text_on, shown))},
    }
    if kind == "icicle":
        shape = go.Icicle(**trace, tiling={"orientation": "v"}, pathbar_visible=False)
    elif kind == "sunburst":
        shape = go.Sunburst(**trace, insidetextorientation="auto")
    else:
        raise ValueError(f"kind must be 'icicle' or 'sunburst', got {kind!r}.")
    return go.Figure(shape).update_layout(
        template=template(mode),
        height=620 if kind == "sunburst" else max(320, min(140 + 62 * tree.depth, 700)),
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        uniformtext={"minsize": 11, "mode": "hide"},
    )


def levels_shown(tree: Tree) -> int:
    """Return the deepest level whose nodes, and all above, are few enough to draw."""
    so_far = np.cumsum(np.bincount(tree.level))
    return max(int(np.searchsorted(so_far, MOST_NODES, side="right")) - 1, 0)


def _name(tree: Tree, node: int) -> str:
    """The last condition on the path to a node; at a leaf also its prediction."""
    name = escape_html(last_condition(tree, int(node), most=2, length=_SHORT))
    if not tree.is_leaf[node]:
        return name
    prediction = prediction_text(tree, int(node), most=1, length=_SHORT)
    return f"{name}<br><b>{escape_html(prediction)}</b>"


def last_condition(tree: Tree, node: int, **cut) -> str:
    """Return the condition that leads from its parent to a node: "age > 40".

    ``cut`` is ``most`` and ``length``, as in ``split_text``.
    """
    if node == 0:
        return "all rows"
    parent = int(tree.parent[node])
    condition = split_condition(tree, parent, bool(tree.left[parent] == node))
    return condition.text(False, **cut) or "any other"


def _hover(tree: Tree, node: int) -> str:
    """Lines of the box that an area shows under the pointer."""
    lines = wrap(rule_text(tree, node), _LINE)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "…"]
    rows = f"<b>{rows_text(tree, node)}</b><br>" if tree.n_rows[0] else ""
    verb = "predicts" if tree.is_leaf[node] else "would predict"
    rule = "<br>".join(map(escape_html, lines))
    prediction = escape_html(prediction_text(tree, node, most=3))
    return f"{rule}<br>{rows}{verb} {prediction}"


def _marker(
    tree: Tree, drawn: np.ndarray, colors: dict, theme: Palette
) -> tuple[dict, list[str]]:
    """Plotly's marker that colours the areas, and each area's colour as hex."""
    if tree.classes is None:
        values = tree.value[drawn, tree.main_output]
        places = ((values - values.min()) / (np.ptp(values) or 1.0)).tolist()
        title = {"text": escape_html(target_title(tree)), "side": "right"}
        bar = {"title": title, "thickness": 10, "outlinewidth": 0}
        bar["tickfont"] = {"color": theme.muted}
        if predicts_times(tree):
            bar |= time_ticks(float(values.min()), float(values.max()), 5)
        marker = {"colors": values, "colorscale": SEQUENTIAL, "colorbar": bar}
        marker |= {"cmin": values.min(), "cmax": values.max(), "showscale": True}
        scale = sample_colorscale(SEQUENTIAL, places, colortype="tuple")
        return marker, [
            "#" + "".join(f"{round(255 * part):02X}" for part in color)
            for color in scale
        ]
    best = tree.predicted_class[drawn]
    chance = 1 / max(len(tree.classes), 2)
    over_chance = (tree.value[drawn, best] - chance) / (1 - chance)
    strength = _PALEST + (1 - _PALEST) * np.clip(over_chance, 0, 1)
    own = (colors[tree.classes[k]] for k in best)
    shown = [mix(color, theme.background, s) for color, s in zip(own, strength)]
    return {"colors": shown}, shown
