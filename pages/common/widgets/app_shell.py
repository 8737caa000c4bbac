"""The way back into the frame, for a visitor who came in past it.

Until ``app.py`` has run once in a fresh server, Streamlit takes the folder ``pages``
for an app of its older kind, and a link to an inner page runs that page alone: no
navigation, no style. The page then sends the visitor through ``app.py`` and back.
"""

import streamlit as st


def require_frame() -> None:
    """Go through ``app.py`` first where this session has not."""
    if "framed" in st.session_state:
        return
    name = str(st.context.url).rstrip("/").rpartition("/")[2]
    st.session_state["wanted"] = (f"pages/{name}.py", st.query_params.to_dict())
    st.switch_page("app.py")


def enter_frame() -> None:
    """Say that ``app.py`` has run, and go on to the page that was wanted."""
    st.session_state["framed"] = True
    if wanted := st.session_state.pop("wanted", None):
        page, params = wanted
        st.switch_page(page, query_params=params)
