"""Profile: what is missing, repeated, odd or telling in a table."""

import streamlit as st

from pages.cached.tables import findings
from pages.profile.columns import (
    show_alone,
    show_associations,
    show_distribution,
    show_missing,
    show_odd,
    show_rows,
)
from pages.state.problem import current_problem
from pages.widgets.page import page_title
from pages.widgets.words import plain

page_title(
    "What is in the table?",
    "Missing and repeated values, what each column tells of the target, and columns "
    "to mind, before anything is trained.",
)
problem = current_problem()
st.markdown(f"Predicting **{plain(problem.target)}** of {plain(problem.table_name)}.")
errors = [found for found in findings(problem) if found.level == "error"]
if errors:
    for error in errors:
        st.error(plain(error.sentence), icon=":material/error:")
    st.page_link(
        "pages/data.py", label="Choose another target", icon=":material/table:"
    )
    st.stop()

left, right = st.columns([2, 1], gap="large")
with left:
    show_alone(problem)
    show_odd(problem)
with right:
    show_rows(problem)
show_distribution(problem)
left, right = st.columns([3, 2], gap="large")
with left:
    show_associations(problem)
with right:
    show_missing(problem)
