"""Train: choose learners, start them, watch their curves and the tree change."""

import streamlit as st

from pages.cached.store import find_run
from pages.state.problem import current_problem, finds_clusters, follow_run
from pages.state.run import new_in_address, start_folds, start_runs, write_address
from pages.train.training import LIVE_HEIGHT, show_runs
from pages.train.tune import ADDRESS, tune
from pages.widgets.clusters import clusters_form, pick_aim, pick_labels
from pages.widgets.page import page_tabs, page_title, require_app_shell
from pages.widgets.run_cards import cluster_runs_of, runs_of
from pages.widgets.settings import FOLDS, chosen_splits, learners_form, pick_learners
from pages.widgets.words import plain
from treelab.data.problem import Problem


def follow_address() -> None:
    """Show the run or the sweep that the address names, and its problem."""
    for name, key in (("run", "run"), (ADDRESS, "chosen-sweep")):
        if named := new_in_address(name):
            write_address(name, named)
            if run := find_run(named):
                follow_run(run)
                st.session_state[key] = run.id


def start(problem: Problem, settings: dict[str, dict], n_splits: int | str) -> None:
    """Start what was chosen, and show it."""
    try:
        if n_splits == FOLDS:
            each = [(key, given, problem) for key, given in settings.items()]
            started = start_folds(each)
        else:
            started = start_runs(problem, settings, int(n_splits))
    except ValueError as error:
        st.error(plain(str(error)), icon=":material/error:")
        st.stop()
    st.session_state["run"] = started[-1]
    st.rerun()


def train(problem: Problem) -> None:
    """Show the form in one row and a drawer, and below them the runs."""
    form, below = st.container(), st.container()
    of_clusters = finds_clusters()
    runs = (
        cluster_runs_of(problem)
        if of_clusters
        else runs_of(problem, st.session_state.get("run"))
    )
    newest = runs[0].id if runs else ""
    is_new = newest != st.session_state.get("newest-shown", "")
    st.session_state["newest-shown"] = newest
    with below:
        # At once after the press: the form takes a moment.
        with st.skeleton(LIVE_HEIGHT) if is_new else st.container(), form:
            show_form(problem)
        if runs:
            show_runs(runs, problem, of_clusters=of_clusters)
            return
        how = "Press Find clusters" if of_clusters else "Choose learners, press Train"
        st.info(
            f"No run on this table yet. {how}: the curves and the tree appear here.",
            icon=":material/info:",
        )


def show_form(problem: Problem) -> None:
    """Show the learners, their settings and the button that starts them."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
        of_clusters = pick_aim()
        known = pick_labels(problem) if of_clusters else None
        chosen = [] if of_clusters else pick_learners()
        st.space("stretch")
        place_of_button = st.empty()
    if of_clusters:
        wanted, settings, complete = clusters_form(problem, known)
        button, icon = "Find clusters", ":material/bubble_chart:"
    else:
        wanted, settings, complete = learners_form(problem, chosen)
        button, icon = "Train", ":material/play_arrow:"
    if place_of_button.button(
        button,
        type="primary",
        icon=icon,
        disabled=not complete or wanted is None,
        key="train",
    ):
        start(wanted, settings, 1 if of_clusters else chosen_splits(problem))


require_app_shell()
follow_address()
problem = current_problem()
goal = f"Predicting {plain(problem.target)} of {plain(problem.table_name)}."
if finds_clusters():
    goal = f"Finding clusters of rows in {plain(problem.table_name)}."
page_title("Train and watch", goal)
train_tab, tune_tab = page_tabs("Train", "Tune")
if train_tab.open:
    with train_tab:
        train(problem)
if tune_tab.open:
    with tune_tab:
        tune(problem)
