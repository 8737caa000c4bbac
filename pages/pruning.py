"""Pruning: pick a run, slide along its path of smaller trees, draw tree and score."""

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.tree_pictures import pruning_steps
from pages.pruning.path import show_dial, show_pruning
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run
from pages.widgets.tree_viewer import show_tree


def show_ensemble(loaded: LoadedRun) -> None:
    """Show how few of an ensemble's trees suffice; none of them is pruned."""
    show_dial(loaded)
    st.page_link(
        "pages/tree.py",
        label="See its trees of highest weight",
        icon=":material/account_tree:",
    )


page_title(
    "How small can it be?",
    "The trees of one run from large to small; nothing is trained while you slide.",
)
loaded = pick_loaded_run()
if loaded.is_ensemble:
    show_ensemble(loaded)
    st.stop()
steps = pruning_steps(loaded)
if len(steps.trees) < 2:
    st.info(
        "There is nothing to prune: this tree is a single leaf, or it was trained with "
        "one pruning strength.",
        icon=":material/info:",
    )
    show_tree(loaded, steps.trees[0], "pruned", "step 0")
else:
    show_pruning(loaded)
