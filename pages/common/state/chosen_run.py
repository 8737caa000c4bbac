"""The run that the visitor chose: one choice for all pages, and in the address."""

from collections.abc import Container

import streamlit as st


def last_choice(key: str = "run") -> str | None:
    """Return the id of the run chosen last under a key, on whatever page."""
    return st.session_state.get(f"{key}-address")


def new_in_address(key: str = "run") -> str | None:
    """Return the run that the address names, unless the visitor chose it here."""
    named = st.query_params.get(key)
    return named if named and named != last_choice(key) else None


def read_address(key: str, known: Container[str]) -> None:
    """Follow the address where it names a known run that was not chosen here."""
    named = new_in_address(key)
    if named in known:
        st.session_state[key] = named


def choose_run(run_id: str) -> None:
    """Make a run the one that all pages show, from a page that shows several."""
    st.session_state["run"] = st.session_state["run-address"] = run_id


def write_address(key: str, run_id: str) -> None:
    """Put the choice into the address, so that a link or a reload brings it back."""
    st.session_state[f"{key}-address"] = run_id
    if st.query_params.get(key) != run_id:
        st.query_params[key] = run_id
