"""How few trees of a run's ensemble decide, computed once."""

from pathlib import Path

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.evaluation.ensembles import (
    DecidedRows,
    counts_to_try,
    rows_decided_by_one,
    scores_of_heaviest,
)

HELD_OUT = ("valid", "test")


def heaviest_scores(loaded: LoadedRun) -> tuple[tuple[int, ...], dict[str, np.ndarray]]:
    """Return how many trees are tried, and their scores on each held-out data split.

    Returns
    -------
    counts : tuple of int
        Ascending; the last one is all that may decide.
    scores : dict of str to ndarray of shape (n_counts,)
        By data split, those with rows alone.
    """
    return _heaviest_scores(*loaded.key, loaded)


def decided_rows(loaded: LoadedRun, share: float) -> list[DecidedRows]:
    """Return the test rows that one tree decides with more than a share."""
    return _decided_rows(*loaded.key, share, loaded)


@st.cache_data(show_spinner="Letting fewer trees decide…", max_entries=16)
def _heaviest_scores(home: Path, run_id: str, epoch, _loaded):
    """``heaviest_scores``, by values that name them."""
    counts = counts_to_try(_loaded.model)
    rows = {split: _loaded.split.rows(split) for split in HELD_OUT}
    scores = {
        split: scores_of_heaviest(_loaded.model, X, y, counts)
        for split, (X, y) in rows.items()
        if len(y)
    }
    return counts, scores


@st.cache_resource(show_spinner="Looking for simple rules…", max_entries=32)
def _decided_rows(home: Path, run_id: str, epoch, share, _loaded) -> list[DecidedRows]:
    """``decided_rows``, by values that name them."""
    return rows_decided_by_one(_loaded.model, *_loaded.split.rows("test"), share=share)
