"""The small tree of the point of a chart that the pointer rests on."""

from collections.abc import Sequence

import streamlit as st

from pages.common.cached.frontier import RunOnFrontier, small_pictures
from pages.common.theme import ASSETS
from treelab.figures.viewer.page import viewer_script, viewer_style

WIDTH, HEIGHT = 380, 200  # pixels of the card, and of the tree in it

# The card is no part of the page's flow: the component takes no room.
_STYLE = """
.beside-point {
  position: fixed; inset: 0 auto auto 0; margin: 0; padding: 6px 10px 10px;
  overflow: hidden; box-sizing: border-box;
  border: 1px solid var(--tl-grid); border-radius: 10px;
  background: var(--tl-background); box-shadow: 0 4px 18px rgb(0 0 0 / .22);
  pointer-events: none;
}
.beside-point .tl-viewer .pane { border: 0; }
"""

_mount = st.components.v2.component(
    "treelab_hover_tree",
    js=viewer_script() + (ASSETS / "hover-tree.js").read_text("utf-8"),
    css=viewer_style() + _STYLE,
)


def hover_trees(runs: Sequence[RunOnFrontier], chart: str) -> None:
    """Show the tree of a point while the pointer rests on it.

    Parameters
    ----------
    runs : sequence of RunOnFrontier
        By the number that the chart's points carry.
    chart : str
        Key of the container that the chart is in, as ``show_figure`` names it.
    """
    lines = ",".join(small_pictures(own) for own in runs)
    size = f'"width":{WIDTH},"height":{HEIGHT}'
    data = f'{{"chart":"{chart}",{size},"lines":[{lines}]}}'
    with st.container(key=f"aside-{chart}"):  # see the style sheet
        _mount(key=f"hover-{chart}", data=data.encode())
