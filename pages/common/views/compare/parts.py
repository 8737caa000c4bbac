"""Compare's closer looks, one a tab; only the open one is computed."""

import streamlit as st

from pages.common.store_trouble import guarded
from pages.common.views.compare.agreement import show_agreement
from pages.common.views.compare.comparison import Names, Pair
from pages.common.views.compare.curves import show_curves
from pages.common.views.compare.greedy_failure import show_greedy_failure
from pages.common.views.compare.residuals import show_residuals
from pages.common.views.compare.seeds import show_seeds
from pages.common.views.compare.surfaces import show_surfaces
from pages.common.views.fairness.by_group import show_groups


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
