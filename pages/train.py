"""Train: choose learners, start them, watch their curves and the tree change."""

from functools import partial

import streamlit as st

from pages.cached.store import find_run
from pages.state import choices
from pages.train.training import LIVE_HEIGHT, show_runs
from pages.train.tune import ADDRESS, tune
from pages.widgets import settings as forms
from pages.widgets.page import page_title, require_app_shell, show_tabs
from pages.widgets.words import plain
from treelab.data.problem import Problem


def start(problem: Problem, settings: dict[str, dict], n_splits: int | str) -> None:
    """Start what was chosen, and show it."""
    try:
        if n_splits == forms.FOLDS:
            each = [(key, given, problem) for key, given in settings.items()]
            started = choices.start_folds(each)
        else:
            started = choices.start_runs(problem, settings, int(n_splits))
    except (ValueError, LookupError) as error:  # the table may be gone by now
        st.error(plain(error), icon=":material/error:")
        st.stop()
    choices.choose_run(started[-1])


def train(problem: Problem) -> None:
    """Show the form in one row and a drawer, and below them the runs."""
    form, below = st.container(), st.container()
    chosen, known = st.session_state.get("run"), choices.current_runs()
    runs = [run for run in known if not run.repeat_of or run.id == chosen]
    newest = runs[0].id if runs else ""
    is_new = newest != st.session_state.get("newest-shown", "")
    st.session_state["newest-shown"] = newest
    with below:
        # At once after the press: the form takes a moment.
        with st.skeleton(LIVE_HEIGHT) if is_new else st.container(), form:
            of_clusters = show_form(problem)
        if runs:
            show_runs(runs, problem, of_clusters=of_clusters)
            return
        how = "Press Find clusters" if of_clusters else "Choose learners, press Train"
        st.info(
            f"No run on this table yet. {how}: the curves and the tree appear here.",
            icon=":material/info:",
        )


def show_form(problem: Problem) -> bool:
    """Show the learners, their settings and the button; whether it is for clusters."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="choices"):
        of_clusters = forms.pick_aim()
        picked = forms.pick_labels(problem) if of_clusters else forms.pick_learners()
        st.space("stretch")
        place_of_button = st.empty()
    show = forms.clusters_form if of_clusters else forms.learners_form
    wanted, settings, complete = show(problem, picked)
    if place_of_button.button(
        "Find clusters" if of_clusters else "Train",
        type="primary",
        icon=f":material/{'bubble_chart' if of_clusters else 'play_arrow'}:",
        disabled=not complete or wanted is None,
        key="train",
    ):
        start(wanted, settings, 1 if of_clusters else forms.chosen_splits(problem))
    return of_clusters


require_app_shell()
if sweep := find_run(choices.new_in_address(ADDRESS)):  # shown with its problem
    choices.write_address(ADDRESS, sweep.id)
    st.session_state["chosen-sweep"] = sweep.id
    choices.choose_run(sweep.id)
page_title("Train and watch")
problem = choices.current_problem()
show_tabs({"Train": partial(train, problem), "Tune": partial(tune, problem)})
