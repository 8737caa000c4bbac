"""The trees of a run, made once: as they route any row, and as they are drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.data.split import SPLITS
from treelab.runs.jobs.model_facts import ON_TOP
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.pruning.path import PruningPath
from treelab.trees.pruning.simplify import prune_empty
from treelab.trees.text.rules import to_rules
from treelab.trees.tree import Tree


def full_tree(
    loaded: LoadedRun, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the tree as it routes any row, branches without training rows included.

    Parameters
    ----------
    loaded : LoadedRun
    estimator : int or None
        Which tree of an ensemble.
    strength : int or None
        Which tree of a pruning path; None: the chosen one.
    """
    if isinstance(loaded.model, WeightedTrees):
        return _estimator(*loaded.key, estimator, loaded)
    if isinstance(loaded.model, PruningPath):
        i = loaded.model.chosen if strength is None else strength
        return loaded.model.trees[i]
    return loaded.model


def exported_tree(loaded: LoadedRun, estimator: int | None = None) -> Tree:
    """Return ``full_tree``, with a note where a predictor on top predicts."""
    tree = full_tree(loaded, estimator)
    return replace(tree, notes=(*tree.notes, ON_TOP)) if loaded.has_predictor else tree


def drawn_tree(
    loaded: LoadedRun, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return the tree that a picture shows: no branch that no training row takes."""
    return _drawn(*loaded.key, estimator, strength, False, loaded)


def routed_tree(
    loaded: LoadedRun,
    estimator: int | None = None,
    strength: int | None = None,
    row: pd.DataFrame | None = None,
) -> Tree:
    """Return the tree in which every row of the table goes as in the model.

    A branch without training rows stays where another row of the table, or the ``row``
    that is given, takes it. Counts are those of the training rows.
    """
    if row is None:
        return _drawn(*loaded.key, estimator, strength, True, loaded)
    full = full_tree(loaded, estimator, strength)
    passed = _passed(*loaded.key, estimator, strength, loaded)
    if (passed[full.path(row)] > 0).all():
        return _drawn(*loaded.key, estimator, strength, True, loaded)
    return _without_empty(loaded, full, passed + full.node_counts(row))


def rules(loaded: LoadedRun, estimator: int | None = None) -> pd.DataFrame:
    """Return the drawn tree as rules, one a leaf."""
    return _rules(*loaded.key, estimator, loaded)


@st.cache_data(show_spinner=False, max_entries=32)
def _rules(home: Path, run_id: str, epoch, estimator, _loaded) -> pd.DataFrame:
    """``rules``, by values that name the tree."""
    return to_rules(drawn_tree(_loaded, estimator))


@st.cache_resource(show_spinner=False, max_entries=256)
def _drawn(home: Path, run_id, epoch, estimator, strength, all_rows, _loaded) -> Tree:
    """The tree without the branches that no training row, or no row at all, takes."""
    full = full_tree(_loaded, estimator, strength)
    if all_rows:
        passed = _passed(home, run_id, epoch, estimator, strength, _loaded)
    else:
        passed = full.n_rows
        if passed[0] == 0:
            passed = full.node_counts(_loaded.split.X_train)
    return _without_empty(_loaded, full, passed)


@st.cache_resource(show_spinner=False, max_entries=256)
def _passed(home: Path, run_id, epoch, estimator, strength, _loaded) -> np.ndarray:
    """Rows of the whole table that pass each node, (n_nodes,)."""
    full = full_tree(_loaded, estimator, strength)
    return sum(full.node_counts(_loaded.split.rows(split)[0]) for split in SPLITS)


def _without_empty(loaded: LoadedRun, full: Tree, passed: np.ndarray) -> Tree:
    """Drop the branches that none of the rows that ``passed`` counts takes."""
    if (passed > 0).all() and full.n_rows[0] > 0:
        return full
    pruned = prune_empty(replace(full, n_rows=passed))
    return pruned.with_rows(loaded.split.X_train, loaded.split.y_train)


@st.cache_resource(show_spinner="Routing the rows…", max_entries=64)
def _estimator(home: Path, run_id: str, epoch, estimator: int, _loaded) -> Tree:
    """One tree of an ensemble, with its training rows."""
    # Without row counts no branch is dropped, so the tree routes as the ensemble does.
    bare = replace(_loaded.model, n_rows=None).estimator(estimator)
    return bare.with_rows(_loaded.split.X_train, _loaded.split.y_train)
