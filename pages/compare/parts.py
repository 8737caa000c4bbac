"""Compare's closer looks, one a tab; only the open one is computed."""

import streamlit as st

from pages.compare.comparison import show_agreement
from pages.compare.costs import show_curves
from pages.compare.greedy_failure import show_greedy_failure
from pages.compare.pair import Names, Pair
from pages.compare.repeats import show_seeds
from pages.compare.residuals import show_residuals
from pages.compare.surfaces import show_surfaces
from pages.tree.groups import show_groups
from pages.widgets.store_trouble import guarded


@st.fragment
@guarded
def show_parts(pair: Pair, names: Names) -> None:
    """Let the visitor open one closer look at a pair of runs."""
    parts = {
        "Why greedy failed here": show_greedy_failure,
        "Decision surfaces": show_surfaces,
    }
    if pair[0].model.classes is None:
        parts["Residuals"] = show_residuals
    else:
        parts["Curves and costs"] = show_curves
        parts["By group"] = show_groups
    parts["Agreement of all runs"] = show_agreement
    parts["Several seeds"] = show_seeds
    tabs = st.tabs(list(parts), key="compare-parts", on_change="rerun")
    for tab, show in zip(tabs, parts.values()):
        if tab.open:
            with tab:
                show(pair, names)
