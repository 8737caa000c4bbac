"""Routing: pick a run and rows, draw which nodes the rows of each class pass."""

import streamlit as st

from pages.cached.routing import RoutedRows, routed_split, routing_shift_of
from pages.cached.runs import LoadedRun
from pages.routing.rows import (
    FIRST_SHOWN,
    alike,
    least_alike_words,
    most_alike_words,
    pick_file,
    shift_words,
    show_difference,
    show_heat_trees,
    show_purity,
    show_shift,
    show_similarity,
    show_table,
)
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run
from pages.widgets.tree_choices import pick_estimator
from pages.widgets.words import fitted_words, plain, split_words
from treelab.data.split import SPLITS
from treelab.figures.routing import levels_to_draw

EACH, ALIKE, TWO = "Each class", "How alike", "Difference of two"
AGAINST, PURITY = "Against fitted rows", "Purity of leaves"
FILE = "a file"


def pick_rows(loaded: LoadedRun, estimator: int | None) -> RoutedRows | None:
    """Let the visitor choose the rows, and send them through the tree."""
    split = st.segmented_control(
        "Rows",
        [*SPLITS[::-1], FILE],
        default="test",
        required=True,
        format_func=lambda name: name if name == FILE else split_words(loaded, name),
        wrap=True,
        key="routing-rows",
        persist_state="session",
    )
    if split == FILE:
        return pick_file(loaded, estimator)
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
        key=f"routing-kinds-{loaded.run.id}{'' if routed.is_stored else '-file'}",
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
def show_views(loaded: LoadedRun, estimator: int | None, routed: RoutedRows) -> None:
    """Show the findings, and below them the view that the visitor chose."""
    is_number = loaded.model.classes is None
    kind = f"Bands of {plain(loaded.model.target)}" if is_number else "Classes"
    found = alike(routed)
    shift = routing_shift_of(loaded, estimator, routed)
    if found is not None:
        st.header(plain(most_alike_words(found)), anchor=False)
        st.markdown(plain(least_alike_words(routed, found)))
    if shift is not None:
        st.markdown(plain(shift_words(routed, shift, fitted_words(loaded))))
    names = {EACH: "Each band" if is_number else EACH}
    view = st.segmented_control(
        "View",
        [
            EACH,
            *([ALIKE, TWO] if found is not None else []),
            *([AGAINST] if shift is not None else []),
            *([PURITY] if not is_number and loaded.has_labels else []),
        ],
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
    elif view == AGAINST and shift is not None:
        levels = pick_levels(loaded, routed)
        show_shift(loaded, estimator, routed, shift, levels)
    elif view == PURITY:
        show_purity(loaded, routed)
    with st.expander("As a table"):
        name = st.selectbox("Rows of", routed.names, key="routing-table-kind")
        show_table(routed, name)


page_title(
    "Where does each class go?",
    "Which nodes the rows of each class pass, how alike their routes are, and whether "
    "other rows go as those did that the tree was fitted to.",
)
loaded = pick_loaded_run()
estimator = pick_estimator(loaded)
routed = pick_rows(loaded, estimator)
if routed is not None:
    show_views(loaded, estimator, routed)
