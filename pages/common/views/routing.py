"""Where the rows of each class go: a heat tree each, and the same as a table."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, ranked_classes
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import LONGEST_RULE, SPLIT_NAMES, plain, short_rule
from treelab.evaluation.routing import (
    BANDS,
    busiest_leaf,
    routing_table,
    target_bands,
)
from treelab.figures.routing import heat_tree_figure
from treelab.trees.text.numerals import counted, significant
from treelab.trees.tree import Tree


def row_groups(loaded: LoadedRun, split: str) -> dict[str, np.ndarray]:
    """Name the groups of rows that can be shown, each with a mask (n_rows,).

    These are the classes, or of a number target its low, middle and high values.
    """
    y = loaded.split.rows(split)[1].to_numpy()
    if loaded.model.classes is not None:
        return {str(label): y == label for label in ranked_classes(loaded)}
    band, (low, high) = target_bands(loaded.split.y_train, y)
    unit = f" {loaded.model.target_unit}".rstrip()
    ranges = (
        f"up to {significant(low)}{unit}",
        f"{significant(low)} to {significant(high)}{unit}",
        f"above {significant(high)}{unit}",
    )
    return {f"{name} ({text})": band == name for name, text in zip(BANDS, ranges)}


def show_heat_tree(
    tree: Tree,
    rows: pd.DataFrame,
    group: str,
    split: str,
    *,
    levels: int,
    key: str,
) -> None:
    """Draw where the rows of one group go, and name the leaf where most of them end.

    Parameters
    ----------
    tree : Tree
    rows : DataFrame of shape (n_rows, n_columns)
        The group's rows.
    group : str
        The group's name.
    split : {"train", "valid", "test"}
    levels : int
        Deepest level that is drawn.
    key : str
        Names the chart.
    """
    if len(rows) == 0:
        st.markdown(f"**{plain(group)}** has no {SPLIT_NAMES[split]} row.")
        return
    table = routing_table(tree, rows)
    leaf = busiest_leaf(tree, table)
    n_rows = f"{counted(len(rows), f'{SPLIT_NAMES[split]} row')}"
    fraction = f"{table.fraction[leaf]:.0%}"
    st.markdown(
        f"**{plain(group)}: {fraction} end in one leaf**, which predicts "
        f"“{plain(table.prediction[leaf])}”"
    )
    show_figure(
        heat_tree_figure(
            tree,
            table,
            rows_name=f"{group} rows, {SPLIT_NAMES[split]}",
            max_depth=levels,
            mode=mode(),
        ),
        key=key,
        alt=f"Of {n_rows} of {group}, {fraction} end in one leaf: "
        f"{_leaf_rule(tree, leaf)}.",
    )
    st.caption(
        f"{n_rows} of {plain(group)}. Circles: splits, squares: leaves; yes goes left. "
        f"That leaf: {plain(_leaf_rule(tree, leaf))}."
    )


def show_table(tree: Tree, rows: pd.DataFrame) -> None:
    """List the nodes with the rows that pass them."""
    table = routing_table(tree, rows)
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
