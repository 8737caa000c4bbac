"""What Compare measures of runs, computed once."""

from pathlib import Path

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from treelab.evaluation.comparison.greedy_gap import GreedyGap, greedy_gap


def greedy_gap_of(loaded: LoadedRun) -> GreedyGap | None:
    """Return the split of a run's tree that greedy would not make, where one pays."""
    return _greedy_gap(*loaded.key, loaded)


@st.cache_resource(show_spinner="Growing greedy trees at every split…", max_entries=32)
def _greedy_gap(home: Path, run_id: str, epoch, _loaded) -> GreedyGap | None:
    """``greedy_gap_of``, by values that name it."""
    return greedy_gap(
        shown_tree(_loaded), _loaded.rows("fitted"), _loaded.split.rows("test")
    )
