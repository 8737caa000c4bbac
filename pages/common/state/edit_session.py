"""The edits of each run's tree, until the browser's tab is closed."""

import streamlit as st

from treelab.editing.session import Session


def edit_session(run_id: str) -> Session:
    """Return the edits of a run's tree so far."""
    return st.session_state.get(f"edits-{run_id}", Session())


def set_edit_session(run_id: str, session: Session) -> None:
    """Remember the edits of a run's tree, on every page."""
    st.session_state[f"edits-{run_id}"] = session
