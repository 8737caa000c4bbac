"""Rashomon set: the trees that score like a run's own, to look at and choose from."""

import numpy as np
import streamlit as st

from pages.cached.rashomon import DEFAULT_TOLERANCE, trees_like
from pages.cached.runs import LoadedRun
from pages.edit.log import is_single_tree
from pages.rashomon.trees import (
    offer_more,
    pick_filters,
    show_card,
    show_columns,
    show_disputed,
    show_finding,
    show_gallery,
    show_map,
)
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run
from pages.widgets.store_trouble import guarded
from treelab.trees.rashomon import RashomonSet

MOST = 0.05


@st.fragment
@guarded
def show_set(loaded: LoadedRun, trees: RashomonSet) -> None:
    """Show the trees within a tolerance, and what they have in common."""
    tolerance = st.slider(
        "Tolerance",
        0.0,
        MOST,
        DEFAULT_TOLERANCE,
        0.005,
        format="%.3f",
        key="rashomon-tolerance",
        width=420,
        help="How far below this run's tree another one may score.",
    )
    near = trees.within(tolerance)
    show_finding(loaded, trees, near, tolerance)
    offer_more(loaded, trees)
    if len(near) < 2:
        return
    filtered = pick_filters(loaded, trees, near)
    if not len(filtered.places):
        st.info("No tree passes these filters.", icon=":material/filter_alt_off:")
        return
    if len(filtered.places) < len(near):
        st.markdown(f"{len(filtered.places)} of {len(near)} trees pass the filters.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("How alike they predict", anchor=False)
        clicked = show_map(loaded, trees, filtered.places)
    with right:
        st.subheader("Columns they test", anchor=False)
        show_columns(loaded, trees, filtered.places)
    if clicked is not None and clicked in filtered.facts:
        st.subheader("The tree that you clicked", anchor=False)
        beside, _ = st.columns([2, 1])
        with beside:
            show_card(
                loaded, trees, clicked, tolerance, filtered.facts[clicked], "clicked"
            )
    st.subheader("The trees", anchor=False)
    show_gallery(loaded, trees, filtered, tolerance)
    show_disputed(loaded, trees, np.asarray(near))


page_title(
    "Which other trees are as good?",
    "Different trees that score nearly the same, the Rashomon set of this problem: "
    "choose by what the score does not know.",
)
loaded = pick_loaded_run(
    growing=False,
    where=is_single_tree,
    unfit="This run is an ensemble; this page is about single trees.",
)
trees = trees_like(loaded)
if trees is None:
    st.info(
        "There are no other trees to compare with this one: it does not split, or its "
        "leaves are linear models.",
        icon=":material/info:",
    )
    st.stop()
show_set(loaded, trees)
