"""What every page opens with, and how it shows a figure."""

import plotly.graph_objects as go
import streamlit as st

from pages.common.app_shell import require_app_shell

_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


def page_title(question: str, caption: str) -> None:
    """Open a page: its question, and a grey line on what it shows."""
    require_app_shell()
    st.title(question, anchor=False)
    st.caption(caption)


def show_figure(
    figure: go.Figure, key: str, *, alt: str | None = None, on_select="ignore"
):
    """Draw a plotly figure without a flicker when it changes.

    With ``on_select="rerun"``, or a function to be called at a click, it returns what
    the visitor clicked.
    """
    with st.container(key=f"still-{key}"):  # see the style sheet
        return st.plotly_chart(
            figure, theme=None, key=key, config=_CONFIG, alt=alt, on_select=on_select
        )
