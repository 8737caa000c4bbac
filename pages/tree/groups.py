"""Rates by group of one or two runs, on the test rows or on those at a node."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import predictions
from pages.cached.rashomon import group_rows
from pages.cached.runs import LoadedRun, ranked_classes
from pages.cached.store import table
from pages.widgets.words import capital, percents, plain, split_words
from treelab.evaluation.fairness import RATES, rate_at_nodes, rate_gaps, rates_by_group
from treelab.trees.text import prediction_text, split_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted

_MEANINGS = "; ".join(f"{name}: {meaning}" for name, meaning in RATES.items())
Asked = tuple[object, pd.Series]  # class of the rates, and each row's group


@st.fragment
def show_groups(pair: tuple[LoadedRun, LoadedRun], names: tuple[str, str]) -> None:
    """Show the rates of each group, by each of two runs with the same test rows."""
    asked = ask_group(pair[0], "compare")
    if asked is None:
        return
    for own, name in zip(pair, names):
        st.markdown(f"**{plain(name)}**")
        _show_rates(own, asked, f"compare-{own.run.id}")
    _explain(pair[0])


def show_groups_of_tree(loaded: LoadedRun, tree: Tree, node: int | None) -> None:
    """Show the rates of each group by a run; where its tree predicts, also at nodes."""
    asked = ask_group(loaded, "tree")
    if asked is None:
        return
    _show_rates(loaded, asked, "tree")
    _explain(loaded)
    if loaded.is_ensemble or loaded.model.has_predictor:
        return
    if node:
        at = tree.decision_path(loaded.split.X_test)[:, node]
        n_rows = counted(int(at.sum()), "test row")
        st.markdown(f"**At the selected node, {n_rows}**")
        if at.any():
            _show_rates(loaded, asked, "node", at, n_tables=tree.n_nodes)
    rate = st.selectbox("At every node", list(RATES), key="group-rate", width=260)
    _show_nodes(loaded, tree, asked, rate)


def ask_group(loaded: LoadedRun, key: str, split: str = "test") -> Asked | None:
    """Let the visitor choose a group column and a class; None before a choice."""
    problem = loaded.run.problem
    columns = [name for name in table(problem.table_id) if name != problem.target]
    left, right = st.columns(2)
    column = left.selectbox(
        "Group column",
        columns,
        index=None,
        key=f"group-column-{key}",
        placeholder="Choose a column",
        help="Any column of the table, also one that was left out of training. Numbers "
        "are cut at their quartiles; of many groups the smallest are taken together.",
    )
    if column is None:
        st.caption("How often each group is predicted as a class, and how often right.")
        return None
    label = right.selectbox(
        "Class", ranked_classes(loaded)[::-1], format_func=str, key=f"group-class-{key}"
    )
    return label, group_rows(loaded, column, split)


def _explain(loaded: LoadedRun) -> None:
    """Say which rows these are, and what the rates mean."""
    st.caption(
        f"{capital(split_words(loaded, 'test'))}. {capital(_MEANINGS)}. A dash: the "
        "group has no such row. A difference is the highest rate minus the lowest; in "
        "brackets its 95% interval, wide enough for the two groups furthest apart: "
        "among several, chance alone makes a difference."
    )


def _show_nodes(loaded: LoadedRun, tree: Tree, asked: Asked, rate: str) -> None:
    """List one rate of each group at every node."""
    (X, y, weight), (label, group) = loaded.split.rows("test"), asked
    predicted = np.asarray(predictions(loaded, "test")) == label
    is_class = (y == label).to_numpy()
    found = rate_at_nodes(tree, X, is_class, predicted, group, rate, weight)
    words = []
    for node in found.index:
        if tree.is_leaf[node]:
            own = prediction_text(tree, node, most=3, length=30)
        else:
            own = f"{split_text(tree, node, most=3)}?"
        words.append("– " * int(tree.level[node]) + own)
    found.insert(0, "node", words)
    _show_table(found, found.columns[2:], "rates-at-nodes")
    st.caption(
        f"The {rate} of each group among the test rows at each node, from the root "
        "down; dashes show the level. From and to: 95% intervals of the differences, "
        "wide enough for all groups and nodes together, as chance alone makes large "
        "differences somewhere among many."
    )


def _show_rates(
    loaded: LoadedRun,
    asked: Asked,
    key: str,
    rows: np.ndarray | slice = slice(None),
    *,
    n_tables: int = 1,
) -> None:
    """Show the rates of each group, and how far they are apart; see ``rate_gaps``."""
    label, group = asked[0], asked[1][rows]
    _, truth, weight = loaded.split.rows("test").take(rows)
    is_class = (truth == label).to_numpy()
    predicted = np.asarray(predictions(loaded, "test"))[rows] == label
    rates = rates_by_group(is_class, predicted, group, weight)
    whole = rates_by_group(is_class, predicted, ["all"] * len(truth), weight)
    shown = pd.concat([rates, whole]).rename_axis("group").reset_index()
    _show_table(shown, RATES, f"rates-{key}")
    if len(rates) < 2:
        st.markdown("All these rows are of one group.")
        return
    gaps = rate_gaps(is_class, predicted, group, weight, n_tables=n_tables)
    known = {name: gap for name, gap in gaps.items() if not np.isnan(gap.difference)}
    words = "; ".join(f"{name} {gap.words}" for name, gap in known.items())
    of_all = f", wide enough for all {n_tables:,} nodes" if n_tables > 1 else ""
    st.markdown(f"Differences{of_all}: {words}.")


def _show_table(table: pd.DataFrame, rates: Iterable[str], key: str) -> None:
    """Show rates as percentages."""
    columns = percents(**{name: name for name in rates})
    columns["n_rows"] = st.column_config.NumberColumn("rows", format="localized")
    shown = {"hide_index": True, "placeholder": "–", "column_config": columns}
    st.dataframe(table, key=key, **shown)
