"""Pruning: pick a run, slide along its path of smaller trees, draw tree and score."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.pruning_steps import pruning_steps
from pages.common.page import page_title
from pages.common.views.pruning import show_pruning, show_sizes
from pages.common.views.tree_viewer import show_tree
from pages.common.widgets.run_picker import pick_loaded_run


def show_ensemble_note(loaded: LoadedRun) -> None:
    """Explain why an ensemble is not pruned here, and what to do instead."""
    st.info(
        f"This run has no slider: its {loaded.model.n_estimators:,} trees predict "
        "together, so pruning one changes every prediction.",
        icon=":material/info:",
    )
    st.markdown(
        "For a smaller model, train GRANDE with fewer estimators or less depth. For a "
        "single tree, choose a run of CART, GradTree, GET or the argmin tree above."
    )
    st.page_link("pages/train.py", label="Train again", icon=":material/show_chart:")
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
    show_ensemble_note(loaded)
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
show_sizes(loaded)
