"""A whole tree as areas, an icicle or a sunburst, on a page: a click selects a node."""

import plotly.graph_objects as go
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, label_colors
from pages.common.theme import color_key, mode, show_figure
from pages.common.views.parts import shown_rows
from treelab.figures.overview import levels_shown, overview_figure
from treelab.figures.tree import tree_alt
from treelab.trees.tree import Tree


def overview(tree: Tree, loaded: LoadedRun, kind: str, key: str) -> int | None:
    """Draw a tree as areas; return the node that was clicked just now, or None.

    Parameters
    ----------
    tree : Tree
        As it is drawn: without branches that no training row takes.
    loaded : LoadedRun
        The run it belongs to, for the classes' colours.
    kind : {"icicle", "sunburst"}
    key : str
        Names the chart, together with the run; another tree of the run needs another.
    """
    colors = label_colors(loaded)
    event = show_figure(
        _figure(*loaded.key, key, kind, mode(), tree, colors),
        key=f"{key}-{kind}-{loaded.run.id}",
        alt=f"{tree_alt(tree)} Each node is an area as large as its rows.",
        on_select="rerun",
    )
    if tree.classes is not None:
        st.html(color_key(colors))
    cut = ""
    if (levels := levels_shown(tree)) < tree.depth:
        cut = f" The first {levels} of {tree.depth} levels are drawn."
    st.caption(
        f"An area is as large as its rows, of {shown_rows(tree, loaded)}"
        + (
            "; the stronger its colour, the surer its answer."
            if tree.classes is not None
            else "; its colour is its mean."
        )
        + f" A click opens a branch, a click on its head closes it.{cut}"
    )
    points = event.selection.points

    return int(points[0]["id"]) if points else None


@st.cache_data(show_spinner=False, max_entries=16)
def _figure(home, run_id, epoch, key, kind, shown_mode, _tree, _colors) -> go.Figure:
    return overview_figure(_tree, _colors, kind=kind, mode=shown_mode)
