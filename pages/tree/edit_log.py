"""The edits so far: done, undone, listed, and their trees."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from pages.cached.runs import LoadedRun, shared
from pages.cached.store import store
from pages.state.run import edit_session, set_edit_session
from pages.widgets.words import plain
from treelab.editing.apply import apply_edit
from treelab.editing.candidates import Candidate
from treelab.editing.edited import Edited
from treelab.editing.edits import Edit
from treelab.editing.log import EditLog, Training
from treelab.editing.regrow import class_weights, refit, refit_all
from treelab.editing.replay import Bench
from treelab.editing.session import Session
from treelab.evaluation.splits import headline_scores
from treelab.runs.jobs.edited import bench_of
from treelab.trees.constraints import with_order
from treelab.trees.tree import Tree
from treelab.trees.words import counted


@dataclass(frozen=True, eq=False)
class EditedTree:
    """A tree after some edits."""

    edited: Edited
    tree: Tree  # its leaves fitted to the rows that the first tree was fitted to
    valid: float  # validation score with all leaves fitted to training rows alone


@shared(8, "Reading the rows…")
def bench(loaded: LoadedRun) -> Bench:
    """Return the run's tree and the rows by which it is edited."""
    return bench_of(loaded.model, loaded.split, loaded.run.constraints)


@shared(256)
def after(loaded: LoadedRun, edits: tuple[Edit, ...]) -> EditedTree:
    """Return the run's tree after some edits; a ValueError says why it cannot be.

    Each edit is applied to those before it.
    """
    table = bench(loaded)
    edited = Edited.of(table.tree, table.constraints)
    if edits:
        edited = apply_edit(after(loaded, edits[:-1]).edited, edits[-1], table.train)
    weights = class_weights(table.tree)
    refitted = refit_all(edited.tree, table.train, weights)
    task, rows = loaded.run.problem.task, loaded.split.rows("valid")
    score = headline_scores([with_order(refitted, table.constraints)], task, *rows)[0]
    return EditedTree(edited, refit(edited, table.fitted), score)


@shared(128)
def candidates_at(
    loaded: LoadedRun, edits: tuple[Edit, ...], path: str
) -> list[Candidate]:
    """Return the best split of each column that is allowed at a node."""
    return after(loaded, edits).edited.candidates(path, bench(loaded).train)


@dataclass(frozen=True)
class Editing:
    """What the parts of the page read."""

    loaded: LoadedRun
    session: Session
    now: EditedTree
    before: EditedTree  # the run's own
    path: str  # of the selected node

    def key(self, name: str) -> str:
        """Return a key of a control that belongs to the run."""
        return f"edit-{name}-{self.loaded.run.id}"


def do(loaded: LoadedRun, edit: Edit) -> None:
    """Do one edit, or remember why it cannot be done."""
    session = edit_session(loaded.run.id).do(edit)
    try:
        after(loaded, session.current)
    except ValueError as error:
        st.session_state["edit-refused"] = str(error)
        return
    set_edit_session(loaded.run.id, session)


def change_session(loaded: LoadedRun, change: Callable[[Session], Session]) -> None:
    """Undo, redo or end what was done, as the session does it."""
    set_edit_session(loaded.run.id, change(edit_session(loaded.run.id)))


def start_over(loaded: LoadedRun) -> None:
    """Forget all edits, not that test scores were seen."""
    seen = edit_session(loaded.run.id).seen_test
    set_edit_session(loaded.run.id, Session(seen_test=None if seen is None else 0))


def show_refusal() -> None:
    """Say why the last edit was not done, once."""
    if (reason := st.session_state.pop("edit-refused", None)) is not None:
        st.warning(reason, icon=":material/block:")


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


def show_edits(loaded: LoadedRun) -> None:
    """List the edits that a run's tree came from, if any."""
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
