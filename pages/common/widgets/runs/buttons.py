"""Buttons that pause a run, or take up one that did not end by itself."""

import streamlit as st

from pages.common.cached.store import store
from pages.common.state.started_runs import resume_run
from pages.common.store_trouble import explained
from treelab.runs.store.run import Run

RESUME_WORDS = {
    "paused": ("Resume", "Goes on where it was."),
    "interrupted": (
        "Resume",
        "Goes on from the last checkpoint, about half a minute before it was cut off.",
    ),
    "failed": ("Retry", "Tries again, from the last checkpoint where there is one."),
}
WIDTH = 100  # pixels of a button with a word


def pause_button(run: Run, key: str, *, has_word: bool = True) -> None:
    """Show the button that pauses a run; with an icon alone where room is short."""
    st.button(
        "Pause" if has_word else "",
        icon=":material/pause:",
        key=f"{key}-{run.id}",
        on_click=explained(store().request_pause),
        args=(run.id,),
        type="tertiary",
        disabled=run.stop_requested or not store().may_change(run),
        help="Saves where the training is; Resume goes on from there.",
        width=WIDTH if has_word else "content",
    )


def resume_button(run: Run, key: str, *, has_word: bool = True) -> None:
    """Show the button that takes up a paused, interrupted or failed run."""
    word, help_words = RESUME_WORDS[run.state]
    st.button(
        word if has_word else "",
        icon=":material/replay:" if word == "Retry" else ":material/play_arrow:",
        key=f"{key}-{run.id}",
        on_click=explained(resume_run),
        args=(run,),
        type="tertiary",
        disabled=not store().may_change(run),
        help=help_words,
        width=WIDTH if has_word else "content",
    )
