"""Sweep: search a learner's settings, watch the trials, train with the best."""

import streamlit as st

from pages.cached.store import find_run, queue, store
from pages.state.problem import current_problem, follow_run
from pages.state.run import new_in_address, write_address
from pages.sweep.trials import show_sweep, sweep_form
from pages.widgets.page import page_title
from pages.widgets.words import plain
from treelab.runs.jobs.sweep import create_sweep
from treelab.trees.words import counted

ADDRESS = "sweep"  # name of the chosen sweep in the address

page_title(
    "Which settings score best?",
    "A sweep tries settings of a learner, and trains a run with those that score best.",
)
if named := find_run(new_in_address(ADDRESS)):
    write_address(ADDRESS, named.id)
    follow_run(named)
    st.session_state["chosen-sweep"] = named.id
problem = current_problem()
st.markdown(f"Predicting **{plain(problem.target)}** of {plain(problem.table_name)}.")
form = sweep_form(problem)
if st.button(
    "Start the sweep",
    type="primary",
    icon=":material/play_arrow:",
    disabled=form.plan is None,
    key="sweep-start",
    help="Other runs go first. Idle workers try along; where several do, the same "
    "sweep again need not try the same settings, as each asks when it is free.",
):
    started = create_sweep(store(), form.learner, form.fixed, problem, form.plan)
    queue().submit(started)
    st.session_state["chosen-sweep"] = started
    st.rerun()

sweeps = [
    run
    for run in store().runs()
    if store().sweep(run.id) is not None
    and (run.problem.table_id, run.problem.target) == (problem.table_id, problem.target)
]
if not sweeps:
    st.info(
        "No sweep on this table yet. Choose a learner and press Start the sweep: its "
        "trials appear here.",
        icon=":material/info:",
    )
    st.stop()
ids = [run.id for run in sweeps]
if st.session_state.get("chosen-sweep") not in ids:
    st.session_state["chosen-sweep"] = ids[0]
titles = {run.id: run.title for run in sweeps}
st.divider()
chosen = st.selectbox(
    f"Sweep ({counted(len(ids), 'sweep')} of this table)",
    ids,
    format_func=titles.get,
    key="chosen-sweep",
)
write_address(ADDRESS, chosen)
show_sweep(next(run for run in sweeps if run.id == chosen))
