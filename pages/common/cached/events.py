"""The epochs that a run has reported, read from the store as they come."""

import pandas as pd
import streamlit as st

from pages.common.cached.store import store
from treelab.runs.store.run import Run


def run_events(run: Run) -> pd.DataFrame:
    """Return a row an epoch, reading from the store only what is new."""
    # Read once more at the end: the curve may then be another, see RetainedCurve.
    known: dict[tuple[str, int, bool], pd.DataFrame]
    known = st.session_state.setdefault("events", {})
    key = run.id, run.attempts, run.is_finished  # a resumed run's may be fewer
    before = known.get(key)
    if run.is_finished and before is not None:
        return before
    last = -1 if before is None else before["epoch"].max()
    new = store().events(run.id, last)
    if before is None:
        events = new
    elif len(new):
        events = pd.concat([before, new], ignore_index=True)
    else:
        return before
    if len(events):
        known[key] = events
    return events
