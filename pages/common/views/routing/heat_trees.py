"""Where the rows of each class go: a small tree a class, and the same as a table."""

import streamlit as st

from pages.common.cached.routing import RoutedRows
from pages.common.html import scale
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import LONGEST_RULE, plain, short_rule
from treelab.evaluation.routing import busiest_leaf
from treelab.figures.routing import SMALL_WIDTH, WIDTH, heat_tree_figure
from treelab.figures.style import VIRIDIS
from treelab.trees.tree import Tree
from treelab.trees.words import counted

FIRST_SHOWN = 12  # classes that are shown until others are asked for
_IN_TWOS = 4  # trees; more of them stand in three columns


def show_heat_trees(routed: RoutedRows, shown: list[str], levels: int) -> None:
    """Draw one small tree a class, each with the finding as its title.

    Parameters
    ----------
    routed : RoutedRows
    shown : list of str
        Names of the classes.
    levels : int
        Deepest level that is drawn.
    """
    st.html(scale(VIRIDIS, "no row", "all rows of the class"))
    across, width = (2, WIDTH) if len(shown) <= _IN_TWOS else (3, SMALL_WIDTH)
    for first in range(0, len(shown), across):
        columns = st.columns(across, gap="medium")
        for column, name in zip(columns, shown[first : first + across]):
            with column, st.container(border=True, height="stretch"):
                _show_heat_tree(routed, name, levels, width)
    st.caption(
        "Each node is as bright as the fraction of the class's rows that pass it: all "
        "of them at the root, and all of them again in the leaves together. Circles: "
        "splits, squares: leaves; yes goes left."
    )


def _show_heat_tree(routed: RoutedRows, name: str, levels: int, width: int) -> None:
    """Draw where the rows of one class go, under the leaf where most of them end."""
    place = routed.names.index(name)
    n_rows = int(routed.rows[place, 0])
    if n_rows == 0:
        st.markdown(f"**{plain(name)}** has no {routed.rows_name}.")
        return
    table = routed.table(name)
    leaf = busiest_leaf(routed.tree, table)
    counts = counted(n_rows, routed.rows_name)
    fraction = f"{table.fraction[leaf]:.0%}"
    st.markdown(
        f"**{plain(name)}: {fraction} end in one leaf**, which predicts "
        f"“{plain(table.prediction[leaf])}”; {counts}",
        help=plain(_leaf_rule(routed.tree, leaf)),
    )
    show_figure(
        _heat_tree(routed.key, name, levels, width, mode(), routed),
        key=f"{'wide-' * (width == WIDTH)}heat-{place}",
        alt=f"Of {counts} of {name}, {fraction} end in one leaf: "
        f"{_leaf_rule(routed.tree, leaf)}.",
    )


@st.cache_resource(show_spinner=False, max_entries=96)
def _heat_tree(key: tuple, name: str, levels: int, width: int, mode, _routed):
    """Draw a class's rows in the tree, once."""
    return heat_tree_figure(
        _routed.tree,
        _routed.table(name),
        rows_name=f"{_routed.rows_name}s of {name}",
        max_depth=levels,
        with_scale=False,
        width=width,
        mode=mode,
    )


def show_table(routed: RoutedRows, name: str) -> None:
    """List the nodes with the rows of one class that pass them."""
    table = routed.table(name)
    columns = ["node", "level", "condition", "prediction", "rows"]
    st.dataframe(
        table.assign(node=table.index)[[*columns, "fraction", "level_fraction"]],
        hide_index=True,
        key="routing-table",
        column_config={
            "fraction": st.column_config.NumberColumn("of all", format="percent"),
            "level_fraction": st.column_config.NumberColumn(
                "of its level", format="percent"
            ),
        },
    )


def _leaf_rule(tree: Tree, leaf: int) -> str:
    """Write a leaf's rule; of a very long one, where to find it."""
    rule = short_rule(tree, leaf)
    return rule if len(rule) <= LONGEST_RULE else f"node {leaf} of the table below"
