"""The one door from the pages to the run store, its tables and its models."""

import os
from pathlib import Path

import pandas as pd
import streamlit as st

from treelab.data.problem import Split
from treelab.runs.queue import Queue
from treelab.runs.store import Run, RunStore

TERMINAL = frozenset({"done", "stopped", "failed", "interrupted"})


def store() -> RunStore:
    """Return the run store of this server's data folder, shared by all sessions."""
    return _store(_home())


def queue() -> Queue:
    """Return the queue that hands runs to the workers, shared by all sessions."""
    return _queue(_home())


def table(table_id: str) -> pd.DataFrame:
    """Return a stored table; it is shared, so callers never change it."""
    return _table(_home(), table_id)


def split(run: Run) -> Split:
    """Return a run's train, validation and test rows; shared, never changed."""
    return _split(_home(), run.id)


def model(run: Run):
    """Return the model that a finished run kept; shared, never changed."""
    return _model(_home(), run.id)


def finished_runs() -> list[Run]:
    """Return the runs that ended with a model, newest first."""
    return [run for run in store().runs() if run.state in ("done", "stopped")]


def _home() -> str:
    """Return the data folder that the store uses, as text for a cache key."""
    return str(Path(os.environ.get("TREELAB_HOME") or Path.home() / ".treelab"))


@st.cache_resource(show_spinner=False, max_entries=4)
def _store(home: str) -> RunStore:
    return RunStore(home)


@st.cache_resource(show_spinner=False, max_entries=4)
def _queue(home: str) -> Queue:
    return Queue(_store(home))


@st.cache_resource(show_spinner=False, max_entries=8)
def _table(home: str, table_id: str) -> pd.DataFrame:
    return _store(home).table(table_id)


@st.cache_resource(show_spinner=False, max_entries=16)
def _split(home: str, run_id: str) -> Split:
    problem = _store(home).run(run_id).problem
    return problem.split(_table(home, problem.table_id))


@st.cache_resource(show_spinner=False, max_entries=16)
def _model(home: str, run_id: str):
    return _store(home).model(run_id)
