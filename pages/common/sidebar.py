"""The foot of the sidebar: where trees train, and what is training now."""

import streamlit as st


def foot() -> None:
    """Show the device and the running jobs at the foot of the sidebar."""
    st.sidebar.caption("CPU")
