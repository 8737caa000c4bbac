"""What the pages read of the run store: its runs, tables and models."""

import time
from pathlib import Path

import pandas as pd
import streamlit as st

from treelab.data.problem import Problem
from treelab.data.split import DataSplit
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import RunStore, default_home
from treelab.runs.workers.queue import Queue

DOUBLE_CLICK = 2.0  # seconds


def store() -> RunStore:
    """Return the run store of this server's data folder, shared by all sessions."""
    return _store(default_home())


def queue() -> Queue:
    """Return the queue that hands runs to the workers, shared by all sessions."""
    return _queue(default_home())


def table(table_id: str) -> pd.DataFrame:
    """Return a stored table; it is shared, so callers never change it."""
    return _table(default_home(), table_id)


def split_of(problem: Problem) -> DataSplit:
    """Return a problem's train, validation and test rows; shared, never changed."""
    return _split(default_home(), problem)


def model_of(run: Run):
    """Return the model that a finished run saved; shared, never changed."""
    return _model(default_home(), run.id)


def find_run(run_id: str | None) -> Run | None:
    """Return a run by its id, or None where there is none of this id."""
    try:
        return store().run(run_id) if run_id else None
    except LookupError:
        return None


def finished_runs() -> list[Run]:
    """Return the runs that ended and kept a model, newest first."""
    return [run for run in store().runs() if run.is_finished and run.has_model]


def growing_runs() -> list[Run]:
    """Return the runs without a model of which a tree was kept, newest first."""
    return [
        run for run in store().runs() if not run.has_model and store().snapshots(run.id)
    ]


def start_runs(problem: Problem, learners: dict[str, dict]) -> list[str]:
    """Start one run a learner, with these settings, and return the runs' ids.

    The same again within two seconds is a double click, and starts nothing.
    """
    asked = (problem, str(learners))
    last, when, ids = st.session_state.get("started", (None, 0.0, []))
    if asked == last and time.monotonic() - when < DOUBLE_CLICK:
        return ids
    ids = [store().create(key, given, problem) for key, given in learners.items()]
    st.session_state["started"] = (asked, time.monotonic(), ids)
    for run_id in ids:
        queue().submit(run_id)
    return ids


@st.cache_resource(show_spinner=False, max_entries=4)
def _store(home: Path) -> RunStore:
    return RunStore(home)


@st.cache_resource(show_spinner=False, max_entries=4)
def _queue(home: Path) -> Queue:
    return Queue(_store(home))


@st.cache_resource(show_spinner=False, max_entries=8)
def _table(home: Path, table_id: str) -> pd.DataFrame:
    return _store(home).table(table_id)


@st.cache_resource(show_spinner=False, max_entries=16)
def _split(home: Path, problem: Problem) -> DataSplit:
    return problem.split(_table(home, problem.table_id))


@st.cache_resource(show_spinner=False, max_entries=16)
def _model(home: Path, run_id: str):
    return _store(home).model(run_id)
