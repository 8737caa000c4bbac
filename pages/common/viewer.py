"""The tree viewer on a page: a component that draws a payload and answers a node.

The script keeps zoom, folds, frame and selection while the page reruns; Python hears of
the node that is selected, and of the frame it was seen in.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from pages.common.theme import ASSETS, mode
from treelab.figures.viewer import Way, settings, to_json
from treelab.figures.viewer_code import viewer_script, viewer_style

HEIGHT = 540  # pixels: what belongs to the picture stays in the window

_mount = st.components.v2.component(
    "treelab_tree",
    js=viewer_script() + (ASSETS / "viewer-component.js").read_text("utf-8"),
    css=viewer_style(),
)


@dataclass(frozen=True)
class Seen:
    """Where the visitor looks.

    Attributes
    ----------
    key : str or None
        Way from the root to the selected node; None where none is selected.
    frame : int or None
        Frame of the payload; None before the visitor moved it.
    """

    key: str | None = None
    frame: int | None = None


def packed(payload: dict) -> str:
    """Write a payload once, so that it need not be written at each rerun."""
    return to_json(payload)


def tree_viewer(
    payload: str,
    key: str,
    *,
    ways: Iterable[Way] = (),
    flow: dict | None = None,
    select: str | None = None,
    height: int = HEIGHT,
    **options,
) -> Seen:
    """Draw a payload and return where the visitor looks.

    Parameters
    ----------
    payload : str
        As ``packed`` returns it.
    key : str
        Names the component: what has one key keeps its place while data change.
    ways : iterable of Way
        At most two rows that are followed.
    flow : dict or None
        As in ``viewer.settings``.
    select : str or None
        Key of a node that is selected when the component is first drawn.
    height : int, default=540
        Pixels of the picture.
    **options
        As in ``viewer.settings``: direction, depth, live, controls, compact; and
        ``tell_frames``, whether Python hears of each frame where the scrubber rests.
    """
    first = f"{key}-first"
    if key not in st.session_state:  # not drawn since the visitor came to this page
        st.session_state[first] = select
    wanted = st.session_state[first]
    changing = settings(
        mode(),
        ways=ways,
        flow=flow,
        select=None if wanted is None else {"key": wanted, "stamp": 0},
        height=height,
        **{"controls": True} | options,
    )
    # Both are JSON objects: joined without writing the larger one anew.
    data = f"{payload[:-1]},{to_json(changing)[1:]}".encode()
    result = _mount(
        key=key,
        data=data,
        default={"at": {"key": wanted, "frame": None}},
        on_at_change=_heard,
    )
    at = result.at or {}
    return Seen(at.get("key"), at.get("frame"))


def _heard() -> None:
    """Let the page run again; what is needed is in the component's value."""
