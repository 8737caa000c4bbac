"""A whole tree as areas, an icicle or a sunburst, on a page: a click selects a node."""

import plotly.graph_objects as go
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.html import color_legend
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import fitted_words
from treelab.figures.overview import levels_shown, overview_figure
from treelab.figures.tree import tree_alt
from treelab.trees.tree import Tree


def overview(tree: Tree, loaded: LoadedRun, kind: str, key: str) -> int | None:
    """Draw a tree as areas; return the node that was clicked just now, or None.

    Parameters
    ----------
    tree : Tree
        As it is shown.
    loaded : LoadedRun
        The run it belongs to, for the classes' colours.
    kind : {"icicle", "sunburst"}
    key : str
        Names the chart, together with the run; another tree of the run needs another.
    """
    colors = run_colors(loaded)
    event = show_figure(
        _figure(*loaded.key, key, kind, mode(), tree, colors),
        key=f"{key}-{kind}-{loaded.run.id}",
        alt=f"{tree_alt(tree)} Each node is an area as large as its rows.",
        on_select="rerun",
    )
    if tree.classes is not None:
        st.html(color_legend(colors))
    levels = levels_shown(tree)
    only = f" The first {levels} of {tree.depth} levels." if levels < tree.depth else ""
    what = "confidence" if tree.classes is not None else "mean"
    st.caption(
        f"Areas are as large as their rows, of {fitted_words(loaded)}; colour: "
        f"{what}. Click a branch to zoom in, click its top to zoom out.{only}"
    )
    points = event.selection.points
    return int(points[0]["id"]) if points else None


@st.cache_data(show_spinner=False, max_entries=16)
def _figure(home, run_id, epoch, key, kind, mode, _tree, _colors) -> go.Figure:
    """The figure, by values that name it."""
    return overview_figure(_tree, _colors, kind=kind, mode=mode)
