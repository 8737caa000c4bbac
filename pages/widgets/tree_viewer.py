"""The tree viewer on a page: a component that draws a payload and returns a node.

The script retains zoom, folds, frame and selection while the page reruns; it reports
the node that is selected, and the frame it was selected in.
"""

import math
from dataclasses import dataclass

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.tree_pictures import ViewerPayload, tree_picture
from pages.widgets.page import ASSETS
from pages.widgets.words import fitted_words
from treelab.figures.viewer.page import viewer_script, viewer_style
from treelab.figures.viewer.payload import to_json, view_settings
from treelab.trees.pruning_path import takes_empty_branch
from treelab.trees.tree import Tree

HEIGHT = 540  # pixels: what belongs to the picture stays in the window
PANEL = HEIGHT + 100  # of what stands beside it, and scrolls where it is longer
_LETTERS = 105  # of the legend, or of a note, on one line
_MOST_NOTES = 84  # pixels; more notes are scrolled

_mount = st.components.v2.component(
    "treelab_tree",
    js=viewer_script() + (ASSETS / "viewer-component.js").read_text("utf-8"),
    css=viewer_style(),
)


@dataclass(frozen=True)
class Selection:
    """What the visitor selected in the viewer."""

    key: str | None = None  # path from the root to the selected node
    frame: int | None = None  # of the payload; None before the visitor moved it


def tree_viewer(
    payload: ViewerPayload,
    key: str,
    *,
    select: str | None = None,
    height: int = HEIGHT,
    **options,
) -> Selection:
    """Draw a payload and return what the visitor selected.

    Under one key the component stays as it is while data change: ``select``, a node's
    key, is what it first shows. The height is the picture's, in pixels; all else is as
    in ``view_settings``.
    """
    first = f"{key}-first"
    if key not in st.session_state:  # not drawn since the visitor came to this page
        st.session_state[first] = select
    wanted = st.session_state[first]
    options = {"controls": True, "leaves_apart": payload.leaves_apart} | options
    total = total_height(payload, height, **options)
    chosen = None if wanted is None else {"key": wanted, "version": 0}
    changing = view_settings(select=chosen, total=total, **options)
    # Both are JSON objects: joined without writing the larger one again. Of a name
    # that both have, the later one counts.
    data = f"{payload.text[:-1]},{to_json(changing)[1:]}".encode()
    _mount(
        key=key,
        height=total,
        data=data,
        default={"at": {"key": wanted, "frame": None}},
        on_at_change=lambda: None,  # the page runs again; the value has what is needed
    )
    return selection(key)


def selection(key: str) -> Selection:
    """Return what the visitor selected in a viewer; nothing before it is drawn."""
    at = (st.session_state.get(key) or {}).get("at") or {}
    return Selection(at.get("key"), at.get("frame"))


def show_tree(loaded: LoadedRun, tree: Tree, key: str, name: str, **options) -> None:
    """Draw one tree of a run, which ``tree_picture`` knows by its name."""
    payload = tree_picture(loaded, tree, name).payload
    tree_viewer(payload, f"tree-view-{key}-{loaded.run.id}", **options)
    st.caption(f"Rows and bars in the picture: {fitted_words(loaded)}.")


def note_empty_branch(loaded: LoadedRun, row, estimator: int | None = None) -> None:
    """Say where the model sends a row into a branch that the picture leaves out."""
    if takes_empty_branch(loaded.model, row, estimator).any():
        st.caption(
            "In the model this row takes a branch that none of the "
            f"{fitted_words(loaded)} took; the tree leaves that branch out, and the "
            "path goes on beside it."
        )


def total_height(
    payload: ViewerPayload, height: int, *, controls=True, compact=False, **_
) -> int:
    """Return how many pixels a viewer gets, so that nothing moves once it is drawn.

    The legend and the notes take what they need of them, and the picture the rest:
    in a window of usual width about ``height``.
    """
    if compact:
        return height + 7 + 20 * math.ceil(payload.legend / _LETTERS)
    aside = 60  # letters: what yes and no mean, and the shade
    legend = 11 + 21 * math.ceil((payload.legend + aside) / _LETTERS)
    notes = sum(4 + 18 * math.ceil(n / _LETTERS) for n in payload.notes)
    above = 41 * controls + payload.scrubber
    return above + height + legend + min(notes, _MOST_NOTES)
