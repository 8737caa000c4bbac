"""Explain: pick a row, see its prediction and what decided it; change its values."""

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.explain.new_rows import pick_new_rows, show_new_rows
from pages.explain.overall import show_overall
from pages.explain.what_if import show_what_if
from pages.explain.which_row import pick_row
from pages.explain.why import show_other_outputs, show_prediction, show_why
from pages.widgets.page import page_tabs, page_title
from pages.widgets.runs import pick_output, pick_whole_run


@st.fragment
def explain(loaded: LoadedRun) -> None:
    """Show one row of a run; another row runs this part of the page alone."""
    whole, loaded = loaded, pick_output(loaded)
    above = st.container(key="explained", gap="xsmall")
    *tabs, new_rows = page_tabs("Why", "What if", "Overall", "New rows")
    with new_rows:  # also behind the others: a file is there while its field is
        new = pick_new_rows(whole)
    with above:
        row = pick_row(loaded, new)
        show_prediction(loaded, row)
        show_other_outputs(whole, row)
    for tab, show in zip(tabs, (show_why, show_what_if, show_overall)):
        if tab.open:
            with tab:
                show(loaded, row)
    if new_rows.open and new is not None:
        with new_rows:
            show_new_rows(whole, new)


page_title("Why this prediction?", "What decided it, and what would change it.")
explain(pick_whole_run())
