"""The way into the app shell, for a visitor who opened an inner page past it.

Until ``app.py`` has run once in a fresh server, Streamlit takes the folder ``pages``
for an app of its older kind, and a link to an inner page runs that page alone: no
navigation, no style. The page then sends the visitor through ``app.py`` and back.
"""

import streamlit as st


def require_app_shell() -> None:
    """Go through ``app.py`` first where this session has not."""
    if "in_app_shell" in st.session_state:
        return
    name = str(st.context.url).rstrip("/").rpartition("/")[2]
    wanted = (f"pages/{name}.py", st.query_params.to_dict())
    st.session_state["wanted_page"] = wanted
    st.switch_page("app.py")


def enter_app_shell() -> None:
    """Note that ``app.py`` has run, and go on to the page that was wanted."""
    st.session_state["in_app_shell"] = True
    if wanted := st.session_state.pop("wanted_page", None):
        page, params = wanted
        st.switch_page(page, query_params=params)


def open_first_page() -> None:
    """Go on to the first page, which has an empty address, with what was asked for."""
    st.switch_page("pages/data.py", query_params=st.query_params.to_dict())
