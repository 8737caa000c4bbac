"""The bar on top of every page: the table, the target and the run it speaks of."""

import streamlit as st

from pages.state import choices
from pages.widgets.words import explained, plain
from treelab.data.problem import Problem
from treelab.evaluation.metrics import TITLES
from treelab.figures.html import dot
from treelab.figures.style import learner_color
from treelab.runs.run_words import distinct, run_names, score
from treelab.runs.store.run import Run
from treelab.trees.words import counted, significant

_THEN = '<span class="quiet">›</span>'


def show_bar() -> None:
    """Show what is current, each of the three to be changed here for all pages."""
    lost = choices.follow_address()
    problem, run = choices.current_problem(), choices.current_run()
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="bar"
    ):
        _pick_table(problem)
        st.html(_THEN, width="content")
        _pick_target(problem)
        st.html(_THEN, width="content")
        _pick_run(problem, run)
        if run is not None and score(run) is not None:
            n_rows = counted(run.metrics["test"]["n_rows"], "test row")
            metric = TITLES[run.headline]
            st.caption(plain(f"{metric}, {n_rows}{run.problem.weighted_words}"))
    if lost:
        st.caption(
            "The run that the address names is not here: it was deleted, or is not "
            "shared with you."
        )


def _pick(label: str, key: str, options: list, chosen, **given) -> None:
    """Show a choice whose value is that of the session, not of the browser."""
    st.session_state[key] = chosen
    st.selectbox(label, options, key=key, label_visibility="collapsed", **given)


def _pick_table(problem: Problem) -> None:
    """Let the visitor turn to another table."""
    key, titles = choices.table_key(problem), choices.table_titles()

    def follow() -> None:
        """Turn to the table that was picked, unless another is current by now."""
        if key == choices.table_key(choices.current_problem()):
            choices.choose_table(st.session_state["bar-table"])

    titles = distinct(titles if key in titles else {key: problem.table_name} | titles)
    _pick(
        "Table",
        "bar-table",
        list(titles),
        key,
        format_func=titles.__getitem__,
        on_change=explained(follow),
        width=210,
    )


def _pick_target(problem: Problem) -> None:
    """Let the visitor predict another column."""
    key = f"bar-target-{problem.table_id}"

    def follow() -> None:
        """Predict the column that was picked, unless another is current by now."""
        target = st.session_state[key]
        if target is None or not choices.is_shown(problem):
            return
        st.session_state[choices.AIM] = choices.PREDICT
        if target != problem.target:
            choices.choose_problem(
                choices.with_target(choices.current_problem(), target)
            )

    _pick(
        "Target",
        key,
        choices.target_names(problem),
        None if choices.finds_clusters() else problem.target,
        format_func=lambda name: (
            problem.target_name if name == problem.target else name
        ),
        placeholder="clusters",
        on_change=follow,
        width=190,
    )


def _pick_run(problem: Problem, run: Run | None) -> None:
    """Show the run as a chip of its learner's colour, to be changed for another."""
    runs = choices.current_runs()
    labels = run_names(runs)
    for own in runs:  # while it has no score, its state
        value = score(own)
        value_words = own.state if value is None else significant(value)
        labels[own.id] = f"{labels[own.id]} · {value_words}"

    def follow() -> None:
        """Turn to the run that was picked, unless another target is current by now."""
        run_id = st.session_state["bar-run"]
        if run_id is not None and choices.is_shown(problem):
            choices.choose_run(run_id)

    color = "transparent" if run is None else learner_color(run.learner, run.settings)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="bar-run-chip"
    ):
        st.html(dot(color, ""), width="content")
        _pick(
            "Run",
            "bar-run",
            list(labels),
            run and run.id,
            format_func=labels.__getitem__,
            placeholder="no run yet",
            disabled=not runs,
            on_change=follow,
            width=250,
        )
