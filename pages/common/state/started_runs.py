"""Runs that the visitor started: once a click, also where it was a double click."""

import time

import streamlit as st

from pages.common.cached.store import queue, store
from treelab.data.problem import Problem

DOUBLE_CLICK = 2.0  # seconds


def start_runs(problem: Problem, learners: dict[str, dict]) -> list[str]:
    """Start one run a learner, with these settings, and return the runs' ids.

    The same again within two seconds is a double click, and starts nothing.
    """
    wanted = (problem, str(learners))
    last, when, ids = st.session_state.get("started", (None, 0.0, []))
    if wanted == last and time.monotonic() - when < DOUBLE_CLICK:
        return ids
    ids = [store().create(key, given, problem) for key, given in learners.items()]
    st.session_state["started"] = (wanted, time.monotonic(), ids)
    for run_id in ids:
        queue().submit(run_id)
    return ids
