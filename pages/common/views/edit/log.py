"""The log of a session: a sentence an edit, those that were undone in grey."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.views.edit.doing import Editing, start_over
from pages.common.views.edit.trees import bench
from pages.common.words import plain
from treelab.editing.log import EditLog, Training
from treelab.editing.session import Session


def log_of(
    loaded: LoadedRun, session: Session, training: Training | None = None
) -> EditLog:
    """Return the edits that are in force as a log, with what is to be trained."""
    seen = session.position if session.seen_test is None else session.seen_test
    return replace(
        bench(loaded).start(),
        edits=session.current,
        training=training,
        seen_test=seen,
        run=loaded.run.id,
    )


def show_log(editing: Editing) -> None:
    """List the edits, and offer them as a file."""
    session, loaded = editing.session, editing.loaded
    st.subheader("Edits", anchor=False)
    if not session.edits:
        st.caption(
            "None yet. Click a node in the tree, then change its split, lock it, prune "
            "it, or forbid a column."
        )
        return
    lines = []
    for number, edit in enumerate(session.edits, start=1):
        words = plain(edit.sentence())
        if number > session.position:
            words = f":gray[{words} Undone.]"
        lines.append(f"{number}. {words}")
    st.markdown("\n".join(lines))
    st.caption("A node's name is the way to it from the root: L is yes, R is no.")
    with st.container(horizontal=True, key=editing.key("log")):
        st.download_button(
            "Download as JSON",
            lambda: log_of(loaded, session).to_json(),
            f"{loaded.run.id}-edits.json",
            "application/json",
            key=editing.key("log-file"),
            on_click="ignore",
            icon=":material/download:",
            help="python -m treelab edit RUN --log FILE replays it.",
        )
        st.button(
            "Start over",
            icon=":material/restart_alt:",
            key=editing.key("start-over"),
            on_click=start_over,
            args=(loaded,),
        )
