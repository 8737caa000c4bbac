"""The epochs that a run has reported, read from the store as they come."""

import threading
import time
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.common.cached.store import shared_store
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home

FRESH_SECONDS = 0.8  # for which what one watcher has read serves the others


class _Curve:
    """One run's events, as far as they were read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.events: pd.DataFrame | None = None
        self.read = 0.0  # on the monotonic clock


def run_events(run: Run) -> pd.DataFrame:
    """Return a row an epoch, reading from the store only what is new.

    It is shared by all who watch the run, so callers never change it.
    """
    # Read once more at the end: the curve may then be another, see RetainedCurve. A
    # resumed run's may be fewer.
    curve = _curve(default_home(), run.id, run.attempts, run.is_finished)
    with curve.lock:
        before, now = curve.events, time.monotonic()
        if before is None:
            curve.events = shared_store().events(run.id)
        elif not run.is_finished and now - curve.read > FRESH_SECONDS:
            last = -1 if before.empty else before["epoch"].max()
            new = shared_store().events(run.id, last)
            if len(new):
                curve.events = pd.concat([before, new], ignore_index=True)
        else:
            return curve.events
        curve.read = now
        return curve.events


def preparation_events(run: Run) -> pd.DataFrame:
    """Return the curve of a running run's cross-validation; no row where there is none.

    It is shared by all who watch the run, so callers never change it.
    """
    return _preparation(default_home(), run.id, run.attempts)


@st.cache_resource(show_spinner=False, ttl=FRESH_SECONDS, max_entries=64)
def _preparation(home: Path, run_id: str, attempts: int) -> pd.DataFrame:
    """Read the curve of a cross-validation."""
    return shared_store().preparation(run_id)


@st.cache_resource(show_spinner=False, max_entries=64)
def _curve(home: Path, run_id: str, attempts: int, is_finished: bool) -> _Curve:
    """What was read of a run's curve, one for all sessions."""
    return _Curve()
