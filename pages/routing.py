"""Routing: pick a run and classes, draw the fraction of each that passes every node."""

import streamlit as st

from pages.common.cached.trees import shown_tree
from pages.common.page import page_title
from pages.common.views.routing import row_groups, show_heat_tree, show_table
from pages.common.widgets.estimator_picker import pick_estimator
from pages.common.widgets.run_picker import pick_loaded_run
from pages.common.words import plain, split_words
from treelab.data.split import SPLITS
from treelab.figures.routing import levels_to_draw

page_title(
    "Where does each class go?",
    "Each node is as bright as the fraction of a class's rows that pass it: all of "
    "them at the root, and all of them again in its leaves together.",
)
loaded = pick_loaded_run()
estimator = pick_estimator(loaded)
tree = shown_tree(loaded, estimator)
is_number = loaded.model.classes is None

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
groups = row_groups(loaded, split)
shown = st.pills(
    f"Bands of {plain(loaded.model.target)}" if is_number else "Classes",
    list(groups),
    selection_mode="multi",
    default=[next(iter(groups)), list(groups)[-1]] if is_number else list(groups)[:2],
    format_func=plain,
    wrap=True,
    key=f"routing-kinds-{loaded.run.id}",
)
if not shown:
    st.info("Choose at least one above to see its routing.")
    st.stop()

levels = levels_to_draw(tree)
if levels < tree.depth:
    levels = st.slider(
        f"Levels drawn, of {tree.depth}",
        1,
        tree.depth,
        levels,
        key=f"routing-levels-{loaded.run.id}-{tree.n_nodes}",
        width=320,
        help="A circle on the last level has splits below it; the table has all.",
    )
X = loaded.split.rows(split)[0]
columns = st.columns(min(len(shown), 2), gap="large")
for place, group in enumerate(shown):
    with columns[place % 2].container(key=f"routing-{place}", border=True):
        show_heat_tree(
            tree,
            X[groups[group]],
            group,
            split,
            levels=levels,
            key=f"heat-{place}",
        )

with st.expander("As a table"):
    group = st.selectbox("Rows of", shown, key="routing-table-kind")
    show_table(tree, X[groups[group]])
