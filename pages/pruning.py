"""Pruning: pick a run, slide along its path of smaller trees, draw tree and score."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.page import page_title
from pages.common.views.ensembles.dial import show_dial
from pages.common.views.pruning.path import show_pruning
from pages.common.views.tree_viewer import show_tree
from pages.common.widgets.run_picker import pick_loaded_run


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
