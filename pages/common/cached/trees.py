"""The trees of a run, made once: counted, drawn and routed alike on all pages."""

from pathlib import Path

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from treelab.trees.constraints import Constraints, Finding, findings
from treelab.trees.pruning_path import shown_tree as shown_tree_of
from treelab.trees.text import to_rules
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

_TERMS = 3  # of a sum that a rule writes


def shown_tree(
    loaded: LoadedRun, estimator: int | None = None, strength: int | None = None
) -> Tree:
    """Return a tree of a run with the rows that it was fitted to.

    Parameters
    ----------
    loaded : LoadedRun
    estimator : int or None
        Which tree of an ensemble.
    strength : int or None
        Which tree of a pruning path; None: the chosen one.
    """
    return _shown(*loaded.key, estimator, strength, loaded)


def rules(loaded: LoadedRun, estimator: int | None = None) -> pd.DataFrame:
    """Return the tree as rules, one a leaf; sums name their largest terms."""
    return _rules(*loaded.key, estimator, loaded)


@st.cache_data(show_spinner=False, max_entries=32)
def _rules(home: Path, run_id: str, epoch, estimator, _loaded) -> pd.DataFrame:
    """``rules``, by values that name the tree."""
    tree = shown_tree(_loaded, estimator)
    return to_rules(tree, most=_TERMS if (tree.feature == OBLIQUE).any() else None)


@st.cache_resource(show_spinner="Routing the rows…", max_entries=256)
def _shown(home: Path, run_id: str, epoch, estimator, strength, _loaded) -> Tree:
    """``shown_tree``, by values that name it."""
    tree = shown_tree_of(_loaded.model, estimator=estimator, strength=strength)
    if _loaded.is_ensemble or tree.n_rows[0] == 0:  # labels are not counted in it
        tree = tree.with_rows(*_loaded.rows("fitted"))
    return tree


def kept_constraints(
    loaded: LoadedRun, tree: Tree, asked: Constraints
) -> list[Finding]:
    """Return what was asked of a tree and where it breaks it; see ``findings``."""
    drawn = (tree.n_nodes, hash(tree.threshold.tobytes()), hash(tree.value.tobytes()))
    return _kept_constraints(*loaded.key, drawn, tree, asked)


@st.cache_data(show_spinner=False, max_entries=48)
def _kept_constraints(
    home: Path, run_id: str, epoch, drawn, _tree, _asked
) -> list[Finding]:
    """``kept_constraints``, by values that name them."""
    return findings(_tree, _asked)
