"""A run's tree as it stands now: of its model, or of its newest snapshot."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.common.cached.loaded_run import load_run, rows_for
from pages.common.cached.predictions import top_estimators
from pages.common.cached.store import store
from pages.common.cached.tree_pictures import ViewerPayload, viewer_payload
from pages.common.cached.trees import shown_tree
from treelab.evaluation.ensembles import are_equal
from treelab.figures.style import label_colors
from treelab.figures.viewer.payload import tree_payload
from treelab.learners.registry import find_spec
from treelab.runs.jobs.model_facts import fitted_split, without_origin
from treelab.runs.store.run import Run
from treelab.runs.store.run_store import default_home
from treelab.trees.pruning_path import shown_tree as shown_tree_of
from treelab.trees.tree import Tree
from treelab.trees.words import counted


@dataclass(frozen=True)
class LiveTree:
    """A tree as it stands, where there is one yet, and words for it."""

    words: str
    payload: ViewerPayload | None = None


def tree_epoch(run: Run) -> float | None:
    """Return the epoch of a run's newest tree, None for its model's or no tree."""
    if run.has_model:
        return None
    try:
        return max(store().snapshots(run.id), default=None)
    except LookupError:  # deleted meanwhile
        return None


def live_tree(run: Run) -> LiveTree:
    """Return the picture of a run's tree: of its model, or of its newest snapshot."""
    if run.has_model:
        return _live_tree(default_home(), run.id, None, run)
    try:
        if epochs := store().snapshots(run.id):
            return _live_tree(default_home(), run.id, epochs[-1], run)
    except LookupError:  # thinned out, or the run deleted, meanwhile
        return LiveTree("its tree was deleted")
    return LiveTree("no tree saved" if run.is_finished else "no tree yet")


@st.cache_resource(show_spinner=False, max_entries=128)
def _live_tree(home: Path, run_id: str, epoch: float | None, _run: Run) -> LiveTree:
    """Write the tree of an epoch, or of the model where ``epoch`` is None."""
    tree, split, words = _model_tree(_run) if epoch is None else _snapshot(_run, epoch)
    colors = None
    if tree.classes is not None:
        colors = label_colors(split.y_train, tree.classes)
    shown = without_origin(tree, _run.provenance)  # beside the picture
    fitted = fitted_split(tree, split)
    payload = tree_payload(shown, *split.rows(fitted), split=fitted, colors=colors)
    return LiveTree(words, viewer_payload(payload))


def _model_tree(run: Run) -> tuple:
    """Return the tree of a run's model, its rows, and words for it."""
    loaded = load_run(run)
    if not loaded.is_ensemble:
        tree = shown_tree(loaded)
        return tree, loaded.split, counted(tree.n_leaves, "leaf", "leaves")
    index, weight = top_estimators(loaded)
    which = "all of equal weight" if are_equal(weight) else "the highest weight"
    words = f"tree {index[0]} of {loaded.model.n_estimators:,}, {which}"
    return shown_tree(loaded, int(index[0])), loaded.split, words


def _snapshot(run: Run, epoch: float) -> tuple:
    """Return a run's tree of an epoch, its rows, and words for it."""
    tree: Tree = shown_tree_of(store().snapshot(run.id, epoch))
    words = f"epoch {round(epoch, 1):g}" if epoch > 0 else "its start"
    spec = find_spec(run.learner)
    if spec is not None and not spec.single_tree:
        words += ", the tree of highest weight"
    return tree, rows_for(run, tree), words
