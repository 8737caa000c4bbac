"""Clusters instead of predictions: which of the two, known labels, and the settings."""

import streamlit as st

from pages.cached.store import table
from pages.state.problem import AIM, AIMS, CLUSTER, PREDICT, base_table
from pages.widgets.settings import settings_form
from pages.widgets.words import plain
from treelab.data.problem import Problem
from treelab.learners.registry import CLUSTERS
from treelab.runs.jobs.clusters import clusters_problem


def pick_aim() -> bool:
    """Let the visitor choose what trees are trained for; True for clusters."""
    if st.session_state.get(AIM) not in AIMS:
        st.session_state[AIM] = PREDICT
    words = {PREDICT: "Predict", CLUSTER: "Find clusters"}
    chosen = st.segmented_control(
        "Goal",
        AIMS,
        format_func=words.__getitem__,
        required=True,
        key=AIM,
        persist_state="session",
        help="Clusters need no target: similar rows end in the same leaf of one tree.",
    )
    return chosen == CLUSTER


def pick_labels(problem: Problem) -> str | None:
    """Let the visitor name the column of known labels; None for none."""
    base = base_table(problem)
    names = [str(name) for name in table(base).columns]
    first = 0
    if problem.task != "regression" and problem.target in names:
        first = names.index(problem.target) + 1
    place = st.selectbox(
        "Known labels",
        range(len(names) + 1),
        index=first,
        format_func=["none", *names].__getitem__,
        key=f"known-{base}",
        help="A column to compare the clusters with. It is not used for training; it "
        "measures how pure the clusters are.",
        width=230,
    )
    return names[place - 1] if place else None


def clusters_form(
    problem: Problem, known: str | None
) -> tuple[Problem | None, dict[str, dict], bool]:
    """Show the settings of a search for clusters, compared with known labels or none.

    Returns what a run is to be about, its settings, and whether all can be read; no
    problem where the table allows no clusters.
    """
    base = base_table(problem)
    columns = {*problem.columns, problem.target} - {known}
    wanted = None
    try:
        wanted = clusters_problem(
            table(base),
            table_id=base,
            table_name=problem.table_name,
            known=known,
            columns=columns,
            kinds=[pair for pair in problem.kinds if pair[0] in columns],
            seed=problem.seed,
            units=problem.units,
        )
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
    with st.expander("Learner settings", icon=":material/tune:", key="settings"):
        settings, complete = settings_form(
            [CLUSTERS], "multiclass", wanted.columns if wanted else ()
        )
    return wanted, settings, complete
