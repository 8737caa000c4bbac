"""Compare: pick runs of one problem, draw them, show which is better and where."""

import streamlit as st

from pages.cached.predictions import score_differences
from pages.compare.comparison import (
    common_scale,
    fitted_note,
    score_table,
    show_difference,
    show_disagreement,
    show_other_trees,
    show_others,
    show_side,
)
from pages.compare.frontier import show_frontier
from pages.compare.optimality import show_optimality
from pages.compare.outcomes import outcomes_title, show_outcomes
from pages.compare.pair import names_of, pick_runs
from pages.compare.parts import show_parts
from pages.widgets.export import report_buttons
from pages.widgets.page import page_title
from pages.widgets.words import plain

page_title(
    "Is it better than greedy, and where?",
    "Two trees side by side, scored on the same test rows. Only runs of the same "
    "table, target and seed compare: others were tested on other rows.",
)
pair, others = pick_runs()
names = names_of(pair)
differences = score_differences(*pair)
show_frontier(pair, names)
show_difference(pair, names, differences)
show_optimality(pair, names)

n_rows = len(pair[0].split.y_test)
row = st.number_input(
    f"Follow a test row through both, 1 to {n_rows:,}",
    1,
    n_rows,
    value=None,
    step=1,
    key="compare-row",
    placeholder="none",
    width=300,
    help="Its decision path is highlighted in both trees.",
)
place = None if row is None else row - 1
scale = common_scale([*pair, *others])
for column, loaded, name, key in zip(
    st.columns(2, gap="large"), pair, names, ("first", "second")
):
    with column:
        show_side(loaded, name, key, place, scale)
show_other_trees(others, names, place, scale)

st.header("Scores and sizes", anchor=False)
st.table(score_table(pair, names, differences))
if others:
    show_others(pair, names, others)
st.caption(fitted_note(pair, names))
if set(pair[0].run.problem.columns) != set(pair[1].run.problem.columns):
    st.caption("The two runs use different features.")

st.header("Where and why they part", anchor=False)
show_parts(pair, names)

st.header(outcomes_title(pair[0]), anchor=False)
for column, loaded, name, key in zip(
    st.columns(2, gap="large"), pair, names, ("first", "second")
):
    with column:
        st.markdown(f"**{plain(name)}**")
        show_outcomes(loaded, key)

st.header("Where they differ", anchor=False)
show_disagreement(pair, names)

report_buttons([loaded.run for loaded in (*pair, *others)])
