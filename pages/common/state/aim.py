"""What trees are trained for: to predict a target, or to find clusters."""

import streamlit as st

from pages.common.state.problem import (
    choose_problem,
    choose_table,
    table_key,
    table_titles,
)
from treelab.learners.registry import CLUSTERS
from treelab.runs.store.run import Run

AIM = "aim"  # key of the choice; one for the session, on every page
PREDICT, CLUSTER = AIMS = ("predict", "clusters")


def finds_clusters() -> bool:
    """Whether clusters are to be found."""
    return st.session_state.get(AIM) == CLUSTER


def follow_run(run: Run) -> None:
    """Show a run's problem, or its table while it has no target yet."""
    st.session_state[AIM] = CLUSTER if run.learner == CLUSTERS.key else PREDICT
    if not run.problem.awaits_clusters:
        choose_problem(run.problem)
    elif (key := table_key(run.problem)) in table_titles():
        choose_table(key)
