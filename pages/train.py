"""Train: choose learners, start them, watch their curves and the tree change."""

import streamlit as st

from pages.cached.store import queue
from pages.state.problem import current_problem
from pages.state.run import (
    choose_run,
    current_run,
    current_runs,
    start_folds,
    start_runs,
)
from pages.train.training import show_runs
from pages.widgets.clusters import clusters_form, pick_aim, pick_labels
from pages.widgets.import_model import import_box
from pages.widgets.page import page_title
from pages.widgets.settings import (
    chosen_splits,
    learners_form,
    pick_learners,
)
from pages.widgets.words import plain

page_title("How do the trees learn?")
problem = current_problem()

with st.container(horizontal=True, vertical_alignment="bottom", key="train-choices"):
    of_clusters = pick_aim(problem)
    known = pick_labels(problem) if of_clusters else None
    chosen = [] if of_clusters else pick_learners()
    st.space("stretch")
    place_of_button, place_of_folds = st.empty(), st.empty()
if of_clusters:
    wanted, settings, complete = clusters_form(problem, known)
    button, icon = "Find clusters", ":material/bubble_chart:"
else:
    wanted, settings, complete = learners_form(problem, chosen)
    button, icon = "Train", ":material/play_arrow:"
    import_box(problem)
if place_of_button.button(
    button,
    type="primary",
    icon=icon,
    disabled=not complete or wanted is None,
    key="train",
    help=f"On {queue().device()}.",
):
    n_splits = 1 if of_clusters else chosen_splits()
    choose_run(start_runs(wanted, settings, n_splits)[-1])
    st.rerun()

if not of_clusters and place_of_folds.button(
    "5 folds",
    icon=":material/splitscreen:",
    disabled=not (complete and wanted is not None and problem.can_have_folds),
    key="train-folds",
    help="Cross-validation: trains each learner five times, each row being a test row "
    "once, in classes' proportions or by whole groups. Compare tests the difference "
    "over the folds; once more shuffles the rows anew."
    if problem.can_have_folds
    else "Rows are split at random or by group for it, see Data.",
):
    try:
        folds = [(key, given, wanted) for key, given in settings.items()]
        choose_run(start_folds(folds)[-1])
    except ValueError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.stop()
    st.rerun()

chosen_run = current_run()
runs = [run for run in current_runs() if not run.repeat_of or run == chosen_run]
if not runs:
    how = "Press Find clusters" if of_clusters else "Choose learners and press Train"
    st.info(
        f"No run on this table yet. {how}: the curves and the tree appear here.",
        icon=":material/info:",
    )
    st.stop()
show_runs(runs, problem, of_clusters=of_clusters)
