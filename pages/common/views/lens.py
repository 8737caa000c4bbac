"""A lens on weighted sums: the tree without its small terms, and what that costs."""

from pathlib import Path

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.trees import shown_tree
from pages.common.views.tree_viewer import show_tree
from pages.common.words import split_words
from treelab.evaluation.metrics import TITLES, headline, scores
from treelab.trees.pruning import terms_per_split, without_small_terms
from treelab.trees.tree import Tree
from treelab.trees.words import counted, significant

FRACTIONS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)


def has_sums(loaded: LoadedRun) -> bool:
    """Whether the run is a tree of which some split names several features."""
    return not loaded.is_ensemble and terms_per_split(shown_tree(loaded)) > 1


@st.fragment
def show_lens(loaded: LoadedRun) -> None:
    """Let the visitor drop small terms, and draw the tree that is left."""
    fraction = st.select_slider(
        "Drop terms below this fraction of their sum",
        FRACTIONS,
        value=0.05,
        format_func=lambda own: f"{own:.0%}",
        key=f"lens-{loaded.run.id}",
        help="A term counts by its weight times its column's standard deviation. The "
        "run stays as it is: this is a look at which terms matter.",
    )
    tree = shown_tree(loaded)
    lens = _lens_tree(*loaded.key, fraction, loaded)
    st.markdown(_words(loaded, tree, lens))
    show_tree(loaded, lens, "lens", f"lens {fraction}")


@st.cache_resource(show_spinner=False, max_entries=64)
def _lens_tree(home: Path, run_id: str, epoch, fraction: float, _loaded) -> Tree:
    """The tree without small terms, with the rows that the run was fitted to."""
    tree = without_small_terms(shown_tree(_loaded), fraction)
    return tree.with_rows(*_loaded.rows("fitted"))


def _words(loaded: LoadedRun, tree: Tree, lens: Tree) -> str:
    """Write how many terms are left, which predictions change, and the score."""
    X, y = loaded.split.rows("test")
    before, after = tree.predict(X), lens.predict(X)
    if tree.classes is None:
        changed = int((~np.isclose(before, after)).sum())
    else:
        changed = int((before != after).sum())
    words = (
        f"Splits name {significant(terms_per_split(lens), 2)} features on average "
        f"instead of {significant(terms_per_split(tree), 2)}; the leaves' prediction "
        f"changes on {changed:,} of {counted(len(X), 'test row')}"
    )
    if not loaded.has_labels:
        return f"{words}."
    task = loaded.run.problem.task
    metric = headline(task)
    was, now = (significant(scores(task, y, p)[metric]) for p in (before, after))
    rows = split_words(loaded, "test")
    return f"{words}; {TITLES[metric]} {now} instead of {was} ({rows})."
