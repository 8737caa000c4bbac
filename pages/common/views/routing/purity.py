"""The leaves as clusters: how pure they are, and what they tell of the class."""

import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.cached.routing import RoutedRows
from pages.common.html import color_legend
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import plain
from treelab.evaluation.metrics import dendrogram_purity
from treelab.evaluation.routing import LeafPurity, leaf_purity
from treelab.figures.routing import MOST_LEAVES, purity_figure
from treelab.trees.text import prediction_label
from treelab.trees.words import counted, percent


def show_purity(loaded: LoadedRun, routed: RoutedRows) -> None:
    """Draw the rows of each class in each leaf, and list the leaves."""
    found, dendrogram = _measured(routed.key, routed)
    words = _words(routed, found)
    st.markdown(f"**{plain(words)}**")
    colors = {str(label): color for label, color in run_colors(loaded).items()}
    st.html(color_legend({name: colors[name] for name in found.rows if name in colors}))
    show_figure(
        purity_figure(found, colors, mode=mode()), key="routing-purity", alt=words
    )
    shown = min(MOST_LEAVES, len(found.leaves))
    in_tree = f" Dendrogram purity: {dendrogram:.2f}." if dendrogram >= 0 else ""
    which = f"The {shown} leaves of most rows" if shown < len(found.leaves) else "Bars"
    st.caption(
        f"{which}: leaves that {routed.rows_name}s reach, left to right in the tree; "
        "behind each its purity, the fraction of its most frequent class. Mutual "
        f"information adjusted for chance: {found.adjusted:.2f} (0: leaves drawn at "
        f"random, 1: leaves and classes are the same).{in_tree}"
    )
    tree = routed.tree
    st.dataframe(
        found.leaves.assign(
            node=found.leaves.index,
            prediction=[prediction_label(tree, node) for node in found.leaves.index],
        ).join(found.rows.add_prefix("rows of "))[
            [
                *("node", "rows", "label", "purity", "prediction"),
                *(f"rows of {name}" for name in found.rows),
            ]
        ],
        hide_index=True,
        key="routing-purity-table",
        column_config={
            "label": "most frequent class",
            "purity": st.column_config.NumberColumn("purity", format="percent"),
        },
    )


@st.cache_resource(show_spinner="Measuring the leaves…", max_entries=16)
def _measured(key: tuple, _routed: RoutedRows) -> tuple[LeafPurity, float]:
    """Return the leaves' purity, and that of the whole tree as a dendrogram."""
    found = leaf_purity(_routed.tree, _routed.names, _routed.rows)
    grouped = _routed.group >= 0
    purity = dendrogram_purity(
        _routed.tree.parent, _routed.leaf[grouped], _routed.group[grouped]
    )
    return found, purity


def _words(routed: RoutedRows, found: LeafPurity) -> str:
    """Write how pure the leaves are, and how much of the class they tell."""
    known = found.information / found.entropy if found.entropy else 1.0
    return (
        f"{percent(found.purity)} of the {routed.rows_name}s are of their leaf's most "
        f"frequent class ({percent(found.one_leaf)} if all were in one). The "
        f"{counted(len(found.leaves), 'leaf', 'leaves')} hold {found.information:.2f} "
        f"of {found.entropy:.2f} bits about the class, {percent(known)}."
    )
