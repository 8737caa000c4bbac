"""The question that comes before something is deleted for good."""

from collections.abc import Callable

import streamlit as st

from pages.widgets.store_trouble import explained


@st.dialog("Delete permanently?")
def confirm_delete(words: str, label: str, delete: Callable[[], object]) -> None:
    """Say in Markdown what goes, and delete it where the visitor is sure."""
    st.markdown(words)
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Cancel", key="cancel"):
            st.rerun()
        if st.button(
            label, type="primary", key="delete-sure", on_click=explained(delete)
        ):
            st.rerun()
