"""The look that every page shares: ground, figures, dots and headings."""

import html

import plotly.graph_objects as go
import streamlit as st

from treelab.figures.colors import Mode
from treelab.figures.template import template

_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}


def mode() -> Mode:
    """Return the ground the visitor sees, light until the browser has told."""
    return "dark" if st.context.theme.type == "dark" else "light"


def page_title(question: str, shows: str) -> None:
    """Open a page: its question, and a grey line that says what it shows."""
    st.title(question, anchor=False)
    st.caption(shows)


def show_figure(figure: go.Figure, key: str, *, alt: str | None = None) -> None:
    """Draw a plotly figure on the visitor's ground, under a key that keeps it still."""
    figure.update_layout(template=template(mode()))
    st.plotly_chart(figure, theme=None, key=key, config=_CONFIG, alt=alt)


def dot(color: str, label: str) -> str:
    """Return HTML of a coloured dot and its word; the word is escaped."""
    return (
        f'<span class="dot" style="background:{html.escape(color, quote=True)}"></span>'
        f"<span>{html.escape(label)}</span>"
    )
