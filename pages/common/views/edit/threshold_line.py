"""A histogram whose threshold is dragged: one rerun when it is let go."""

import json
from collections.abc import Callable

import streamlit as st

from pages.common.theme import ASSETS

_STYLE = """
.threshold-rows { color: var(--tl-text); font-size: .82rem; padding-top: 24px; }
.threshold-rows [hidden] { display: none; }
.plot { position: relative; height: 150px; margin: 0 16px 20px 52px; }
.plot svg { display: block; overflow: visible; }
.plot svg line { stroke: var(--tl-grid); }
.plot svg text { fill: var(--tl-muted); font-size: 12px; }
.plot::before {
  content: "training rows"; position: absolute; left: -52px; top: 50%;
  color: var(--tl-muted); font-size: 12px; white-space: nowrap; line-height: 1;
  writing-mode: vertical-rl; rotate: 180deg; translate: 0 -50%;
}
.pale {
  position: absolute; inset: 0 0 0 auto; right: 0; pointer-events: none;
  background: var(--tl-background); opacity: .55;
}
.value {
  position: absolute; bottom: 100%; padding: 0 0 3px; white-space: nowrap;
  font-weight: 600; pointer-events: none;
}
.handle {
  position: absolute; top: 0; bottom: 0; width: 32px; margin-left: -16px;
  cursor: ew-resize; touch-action: pan-y; outline: none;
}
.handle::before {
  content: ""; position: absolute; inset: 0 auto 0 50%; translate: -50%;
  border-left: 2px dashed var(--tl-accent);
}
.grip {
  position: absolute; left: 50%; top: 50%; translate: -50% -50%;
  width: 12px; height: 26px; border-radius: 6px; box-sizing: border-box;
  background: var(--tl-accent); border: 2px solid var(--tl-background);
}
.handle:hover .grip, .handle:active .grip { scale: 1.15; }
.handle:focus-visible .grip { outline: 2px solid var(--tl-text); outline-offset: 1px; }
.fixed .handle { cursor: default; }
.fixed .grip { display: none; }
.title { text-align: center; margin: 0 16px 0 52px; font-size: .8rem; }
.words { color: var(--tl-muted); margin-top: .5rem; font-size: .875rem; }
"""

_mount = st.components.v2.component(
    "treelab_threshold_line",
    js=(ASSETS / "threshold-line.js").read_text("utf-8"),
    css=_STYLE,
)


def threshold_line(
    rows: dict,
    key: str,
    *,
    title: str,
    missing: str,
    fades: bool,
    fixed: bool,
    on_move: Callable[[float], None],
) -> None:
    """Draw a node's rows, and the threshold as a line that can be dragged.

    Parameters
    ----------
    rows : dict
        As ``threshold_rows`` returns it.
    key : str
        Names the component: under one key it stays as it is while data change.
    title : str
        Of the axis: the column, with its unit.
    missing : str
        What is said of rows without a value.
    fades : bool
        Whether bars that go right are pale.
    fixed : bool
        Whether the line cannot be moved.
    on_move : function of a float
        Takes the threshold that the line was let go at, before the page runs again.
    """
    n_moves = f"{key}-moves"

    def move() -> None:
        """Hand on where the line was let go."""
        # Also a refused move changes the data: the line goes back.
        st.session_state[n_moves] = st.session_state.get(n_moves, 0) + 1
        if (value := st.session_state[key].threshold) is not None:
            on_move(float(value))

    data = rows | {
        "title": title,
        "alt": f"Training rows of the node by {title}, with the threshold.",
        "missing": missing,
        "fades": fades,
        "fixed": fixed,
        "moves": st.session_state.get(n_moves, 0),
    }
    _mount(key=key, data=json.dumps(data).encode(), on_threshold_change=move)
