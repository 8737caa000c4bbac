"""The log of a session: a sentence an edit, those that were undone in grey."""

from dataclasses import replace

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.store import store
from pages.common.views.edit.doing import Editing, start_over
from pages.common.views.edit.trees import bench
from pages.common.words import plain
from treelab.editing.log import EditLog, Training
from treelab.editing.session import Session
from treelab.runs.store.run import Run
from treelab.trees.words import counted


def is_single_tree(run: Run) -> bool:
    """Whether a run has one tree that predicts what people know."""
    return "estimators" not in run.summary and not run.problem.origin


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


def show_origin(loaded: LoadedRun) -> None:
    """Link to the Edit page, and list the edits that a run's tree came from."""
    address = {"run": loaded.run.id}
    st.page_link(
        "pages/edit.py",
        label="Edit this tree",
        icon=":material/edit:",
        query_params=address,
    )
    written = store().edits(loaded.run.id)
    if written is None:
        return
    log = EditLog.from_json(written)
    lines = [edit.sentence() for edit in log.edits]
    if log.training is not None:
        lines.append(log.training.sentence())
    with st.expander(f"Edited by hand: {counted(len(log.edits), 'edit')}"):
        numbered = enumerate(lines, start=1)
        st.markdown("\n".join(f"{n}. {plain(line)}" for n, line in numbered))
        st.caption("A node's name is the way to it from the root: L is yes, R is no.")
