"""Routing: pick a run and classes, draw which share of each passes every node."""

import numpy as np
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.cached.trees import routed_tree
from pages.common.theme import mode, page_title, show_figure
from pages.common.views.parts import part_words, pick_estimator, pick_view
from pages.common.words import plain
from treelab.data.split import SPLITS
from treelab.evaluation.routing import (
    BANDS,
    busiest_leaf,
    routing_table,
    target_bands,
)
from treelab.figures.routing import heat_tree_figure, levels_to_draw
from treelab.trees.text.numerals import counted, significant
from treelab.trees.text.rules import rule_text
from treelab.trees.tree import Tree

LONGEST_RULE = 300  # letters that a caption may hold
COLOR_BY = {
    "level_fraction": "Rows at the same level",
    "fraction": "All rows of the class",
}


def kinds_of_rows(loaded: LoadedRun, part: str) -> dict[str, np.ndarray]:
    """Name the kinds of rows that can be followed, each with a mask (n_rows,)."""
    y = loaded.split.rows(part)[1].to_numpy()
    if loaded.model.classes is not None:
        return {str(label): y == label for label in ranked_classes(loaded)}
    band, (low, high) = target_bands(loaded.split.y_train, y)
    unit = f" {loaded.model.target_unit}".rstrip()
    words = (
        f"up to {significant(low)}{unit}",
        f"{significant(low)} to {significant(high)}{unit}",
        f"above {significant(high)}{unit}",
    )
    return {f"{name} ({said})": band == name for name, said in zip(BANDS, words)}


def rule_words(tree: Tree, leaf: int) -> str:
    """Say a leaf's rule; where splits weigh many columns, where to find it."""
    rule = rule_text(tree, leaf)
    if len(rule) <= LONGEST_RULE:
        return rule
    return f"node {leaf} of the table below"


page_title(
    "Where does each class go?",
    "Each node is as bright as the share of the rows that pass it; every level adds "
    "up to 100%.",
)
loaded = pick_view()
estimator = pick_estimator(loaded)
tree = routed_tree(loaded, estimator)
is_number = loaded.model.classes is None

with st.container(horizontal=True, key="routing-controls"):
    part = st.segmented_control(
        "Rows",
        SPLITS[::-1],
        default="test",
        required=True,
        format_func=lambda name: part_words(loaded, name),
        key="routing-rows",
        persist_state="session",
    )
    color_by = st.segmented_control(
        "Brightness is the share of",
        list(COLOR_BY),
        default="level_fraction",
        required=True,
        format_func=COLOR_BY.__getitem__,
        key="routing-color",
        persist_state="session",
        help="At the same level: each level adds up to 100% (the class routing "
        "distribution). Of all: what ended in a leaf further up is missing below.",
    )
kinds = kinds_of_rows(loaded, part)
shown = st.pills(
    f"Bands of {plain(loaded.model.target)}" if is_number else "Classes",
    list(kinds),
    selection_mode="multi",
    default=[next(iter(kinds)), list(kinds)[-1]] if is_number else list(kinds)[:2],
    format_func=plain,
    key=f"routing-kinds-{loaded.run.id}",
)
if not shown:
    st.info("Choose at least one above, and its way through the tree appears here.")
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
        help="A circle on the last level goes on asking below; the table has all.",
    )
X = loaded.split.rows(part)[0]
columns = st.columns(min(len(shown), 2), gap="large")
for place, kind in enumerate(shown):
    table = routing_table(tree, X[kinds[kind]])
    n_rows = int(table["rows"].iloc[0])
    name = f"{kind} rows, {part_words(loaded, part).split(',')[0]}"
    leaf = busiest_leaf(tree, table)
    with columns[place % 2].container(key=f"routing-{place}", border=True):
        if n_rows == 0:
            st.markdown(f"**{plain(kind)}** has no row in this part.")
            continue
        share = table.fraction[leaf]
        st.markdown(
            f"**{plain(kind)}: {share:.0%} end in one leaf**, which says "
            f"“{plain(table.prediction[leaf])}”"
        )
        show_figure(
            heat_tree_figure(
                tree,
                table,
                rows_name=name,
                color_by=color_by,
                max_depth=levels,
                mode=mode(),
            ),
            key=f"heat-{place}",
            alt=f"Of {counted(n_rows, 'row')} of {kind}, {share:.0%} end in one leaf: "
            f"{rule_words(tree, leaf)}.",
        )
        st.caption(
            f"{counted(n_rows, 'row')} of {plain(kind)}, "
            f"{part_words(loaded, part).split(',')[0]} rows. Circles ask, yes goes "
            f"left; squares answer. That leaf: {plain(rule_words(tree, leaf))}."
        )

with st.expander("The same as a table"):
    kind = st.selectbox("Rows of", shown, key="routing-table-kind")
    table = routing_table(tree, X[kinds[kind]])
    st.dataframe(
        table.assign(node=table.index)[
            [
                "node",
                "level",
                "condition",
                "prediction",
                "rows",
                "fraction",
                "level_fraction",
            ]
        ],
        hide_index=True,
        key="routing-table",
        column_config={
            "fraction": st.column_config.NumberColumn(
                "fraction of all", format="percent"
            ),
            "level_fraction": st.column_config.NumberColumn(
                "fraction of its level", format="percent"
            ),
        },
    )
