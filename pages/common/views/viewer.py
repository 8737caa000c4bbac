"""The tree viewer on a page: a component that draws a payload and answers a node.

The script keeps zoom, folds, frame and selection while the page reruns; Python hears of
the node that is selected, and of the frame it was seen in.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from pages.common.theme import ASSETS
from treelab.figures.viewer.code import viewer_script, viewer_style
from treelab.figures.viewer.payload import to_json, view_settings
from treelab.figures.viewer.rows import RowPath

HEIGHT = 540  # pixels: what belongs to the picture stays in the window
_LETTERS = 105  # of the legend, or of a note, on one line
_MOST_NOTES = 84  # pixels; more notes are scrolled

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


@dataclass(frozen=True)
class Packed:
    """A payload, written once, so that it need not be written at each rerun.

    Attributes
    ----------
    text : str
        As JSON.
    has_frames : bool
        Whether a scrubber stands below the picture.
    legend : int
        Letters of the legend, with its gaps.
    notes : tuple of int
        Letters of each sentence below the first tree.
    """

    text: str
    has_frames: bool
    legend: int
    notes: tuple[int, ...]


def packed(payload: dict) -> Packed:
    """Write a payload, and measure what stands below its picture."""
    names = [entry["label"] for entry in payload["classes"]]
    names = names or [payload["target"]["name"], "a scale and its two ends"]
    return Packed(
        to_json(payload),
        bool(payload["frames"]["kind"]),
        sum(len(name) + 6 for name in names),
        tuple(len(note) for note in payload["trees"][0]["notes"]),
    )


def tree_viewer(
    payload: Packed,
    key: str,
    *,
    paths: Iterable[RowPath] = (),
    flow: dict | None = None,
    select: str | None = None,
    height: int = HEIGHT,
    **options,
) -> Seen:
    """Draw a payload and return where the visitor looks.

    Parameters
    ----------
    payload : Packed
    key : str
        Names the component: what has one key keeps its place while data change.
    paths : iterable of RowPath
        At most two rows that are followed.
    flow : dict or None
        As in ``view_settings``.
    select : str or None
        Key of a node that is selected when the component is first drawn.
    height : int, default=540
        Pixels of the picture.
    **options
        As in ``view_settings``: direction, depth, live, controls, compact; and
        ``report_frames``, whether Python hears of each frame where the scrubber rests.
    """
    first = f"{key}-first"
    if key not in st.session_state:  # not drawn since the visitor came to this page
        st.session_state[first] = select
    wanted = st.session_state[first]
    options = {"controls": True} | options
    total = whole_height(payload, height, **options)
    changing = view_settings(
        paths=paths,
        flow=flow,
        select=None if wanted is None else {"key": wanted, "version": 0},
        total=total,
        **options,
    )
    # Both are JSON objects: joined without writing the larger one anew.
    data = f"{payload.text[:-1]},{to_json(changing)[1:]}".encode()
    result = _mount(
        key=key,
        height=total,
        data=data,
        default={"at": {"key": wanted, "frame": None}},
        on_at_change=_heard,
    )
    at = result.at or {}
    return Seen(at.get("key"), at.get("frame"))


def whole_height(
    payload: Packed,
    height: int,
    *,
    controls: bool = True,
    compact: bool = False,
    **_,
) -> int:
    """Return how many pixels a viewer gets, so that nothing moves once it is drawn.

    The legend and the notes take what they need of them, and the picture the rest:
    in a window of usual width about ``height``.

    Parameters
    ----------
    payload : Packed
    height : int
        Pixels of the picture.
    controls, compact : bool
        As the viewer's script takes them.
    """
    if compact:
        return height + 7 + 20 * math.ceil(payload.legend / _LETTERS)
    aside = 60  # letters: what yes and no mean, and the shade
    total = height + 11 + 21 * math.ceil((payload.legend + aside) / _LETTERS)
    total += 41 if controls else 0
    total += 44 if payload.has_frames else 0
    notes = sum(4 + 18 * math.ceil(n / _LETTERS) for n in payload.notes)
    return total + min(notes, _MOST_NOTES)


def _heard() -> None:
    """Let the page run again; what is needed is in the component's value."""
