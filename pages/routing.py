"""Routing: pick a run and rows, draw which nodes the rows of each class pass."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun
from pages.common.cached.routing import RoutedRows, routed_split
from pages.common.page import page_title
from pages.common.views.routing.difference import show_difference
from pages.common.views.routing.heat_trees import (
    FIRST_SHOWN,
    show_heat_trees,
    show_table,
)
from pages.common.views.routing.similarity import (
    alike,
    least_alike_words,
    most_alike_words,
    show_similarity,
)
from pages.common.widgets.estimator_picker import pick_estimator
from pages.common.widgets.run_picker import pick_loaded_run
from pages.common.words import plain, split_words
from treelab.data.split import SPLITS
from treelab.figures.routing.drawing import levels_to_draw

EACH, ALIKE, TWO = "Each class", "How alike", "Difference of two"
TABLE = "As a table"


def pick_rows(loaded: LoadedRun, estimator: int | None) -> RoutedRows:
    """Let the visitor choose the rows, and send them through the tree."""
    split = st.segmented_control(
        "Rows",
        SPLITS[::-1],
        default="test",
        required=True,
        format_func=lambda name: split_words(loaded, name),
        wrap=True,
        key="routing-rows",
        persist_state="session",
    )
    return routed_split(loaded, split, estimator)


def show_each(loaded: LoadedRun, routed: RoutedRows, kind: str) -> None:
    """Draw a small tree for each class that the visitor chose."""
    shown = st.pills(
        kind,
        list(routed.names),
        selection_mode="multi",
        default=list(routed.names)[:FIRST_SHOWN],
        format_func=plain,
        wrap=True,
        key=f"routing-kinds-{loaded.run.id}",
    )
    if not shown:
        st.info("Choose at least one above to see its routing.")
        return
    show_heat_trees(routed, shown, pick_levels(loaded, routed))


def pick_levels(loaded: LoadedRun, routed: RoutedRows) -> int:
    """Let the visitor choose how deep a large tree is drawn."""
    tree = routed.tree
    levels = levels_to_draw(tree)
    if levels == tree.depth:
        return levels
    return st.slider(
        f"Levels drawn, of {tree.depth}",
        1,
        tree.depth,
        levels,
        key=f"routing-levels-{loaded.run.id}-{tree.n_nodes}",
        width=320,
        help="A circle on the last level has splits below it; the table has all.",
    )


@st.fragment
def show_views(loaded: LoadedRun, routed: RoutedRows) -> None:
    """Show the finding, and below it the view that the visitor chose."""
    is_number = loaded.model.classes is None
    kind = f"Bands of {plain(loaded.model.target)}" if is_number else "Classes"
    found = alike(routed)
    if found is not None:
        st.header(plain(most_alike_words(found)), anchor=False)
        st.markdown(plain(least_alike_words(routed, found)))
    views = [EACH, ALIKE, TWO, TABLE] if found is not None else [EACH, TABLE]
    names = {EACH: "Each band" if is_number else EACH}
    view = st.segmented_control(
        "View",
        views,
        default=EACH,
        required=True,
        format_func=lambda view: names.get(view, view),
        wrap=True,
        key=f"routing-view-{loaded.run.id}",
    )
    if view == EACH:
        show_each(loaded, routed, kind)
    elif view == ALIKE and found is not None:
        show_similarity(routed, found)
    elif view == TWO and found is not None:
        levels = pick_levels(loaded, routed)
        show_difference(routed, found, levels, loaded.run.id)
    else:
        name = st.selectbox("Rows of", routed.names, key="routing-table-kind")
        show_table(routed, name)


page_title(
    "Where does each class go?",
    "Each node is as bright as the fraction of a class's rows that pass it: all of "
    "them at the root, and all of them again in its leaves together.",
)
loaded = pick_loaded_run()
show_views(loaded, pick_rows(loaded, pick_estimator(loaded)))
