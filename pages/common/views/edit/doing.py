"""Edits as the visitor makes them: done or refused, undone, redone."""

from dataclasses import dataclass

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.state.edit_session import edit_session, set_edit_session
from pages.common.views.edit.trees import EditedTree, after
from treelab.editing.edits import Edit
from treelab.editing.session import Session


@dataclass(frozen=True)
class Editing:
    """What the parts of the page read.

    Attributes
    ----------
    loaded : LoadedRun
    session : Session
    now, before : EditedTree
        The tree as it is edited, and the run's own.
    path : str
        The selected node.
    """

    loaded: LoadedRun
    session: Session
    now: EditedTree
    before: EditedTree
    path: str

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


def undo(loaded: LoadedRun) -> None:
    """Take the last edit back."""
    set_edit_session(loaded.run.id, edit_session(loaded.run.id).undo())


def redo(loaded: LoadedRun) -> None:
    """Do again what was undone last."""
    set_edit_session(loaded.run.id, edit_session(loaded.run.id).redo())


def start_over(loaded: LoadedRun) -> None:
    """Forget all edits, not that test scores were seen."""
    seen = edit_session(loaded.run.id).seen_test
    set_edit_session(loaded.run.id, Session(seen_test=None if seen is None else 0))


def end(loaded: LoadedRun) -> None:
    """End the session: test scores are shown from here on."""
    set_edit_session(loaded.run.id, edit_session(loaded.run.id).end())


def show_refusal() -> None:
    """Say why the last edit was not done, once."""
    if (reason := st.session_state.pop("edit-refused", None)) is not None:
        st.warning(reason, icon=":material/block:")
