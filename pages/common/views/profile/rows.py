"""A table's rows: how many, what is missing, what is repeated."""

import streamlit as st

from pages.common.cached.store import table
from pages.common.cached.tables import column_facts, gaps_of, rows_of
from pages.common.html import facts_table
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import plain
from treelab.data.problem import Problem
from treelab.figures.explanations import importance_figure
from treelab.trees.words import counted, percent

MOST_COLUMNS = 20
CLEARLY_APART = 0.05  # a fraction missing differs so much between classes: worth saying


def show_rows(problem: Problem) -> None:
    """Show the counts of rows and columns, all of them counted."""
    facts, meanings = rows_of(problem), column_facts(problem.table_id)["meaning"]
    counts = meanings.value_counts()
    st.subheader("Rows and columns", anchor=False)
    st.html(
        facts_table(
            {
                "Rows": f"{facts.n_rows:,}",
                "Columns": f"{len(meanings):,}",
                "Missing cells": percent(facts.missing_share),
                "Rows without a gap": f"{facts.n_complete:,}",
                "Repeated rows": f"{facts.n_repeated:,}",
                "Contradicting rows": f"{facts.n_contradicting:,}",
            }
        )
    )
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
    st.caption(f"The columns hold: {kinds}.")
    st.caption(
        "A repeated row is like an earlier one in every column; one may train and the "
        "other test. Contradicting rows are alike in all features and differ in the "
        "target, so no model predicts all of them."
    )
    if problem.task != "regression":
        shares = table(problem.table_id)[problem.target].value_counts(normalize=True)
        most = plain(str(shares.index[0]))
        st.caption(
            f"{counted(len(shares), 'class', 'classes')}: {most} is the most frequent "
            f"with {percent(shares.iloc[0])} of the rows, the rarest has "
            f"{percent(shares.iloc[-1])}."
        )


def show_missing(problem: Problem) -> None:
    """Draw how much is missing in each column, and say where it tells of the target."""
    st.subheader("Missing values", anchor=False)
    gaps = gaps_of(problem)
    if gaps.empty:
        st.markdown("No value is missing.")
        return
    first = gaps.iloc[0]
    words = (
        f"{counted(len(gaps), 'column')} with missing values; most are missing in "
        f"{plain(first['column'])}, {percent(first['missing'])} of its rows."
    )
    apart = gaps.assign(apart=gaps["highest"] - gaps["lowest"])
    apart = apart[apart["apart"] >= CLEARLY_APART].sort_values("apart")
    if len(apart):
        row = apart.iloc[-1]
        words += (
            f" Whether {plain(row['column'])} is missing tells of the target: it is in "
            f"{percent(row['highest'])} of the rows of {plain(row['highest_in'])} and "
            f"in {percent(row['lowest'])} of those of {plain(row['lowest_in'])}."
        )
    st.markdown(words)
    show_figure(
        importance_figure(
            gaps["column"],
            gaps["missing"],
            title="fraction of rows without a value",
            most=MOST_COLUMNS,
            mode=mode(),
        ),
        key="profile-missing",
        alt=words,
    )
    if (more := len(gaps) - MOST_COLUMNS) > 0:
        st.caption(f"All rows; {counted(more, 'more column')} with fewer gaps.")
    else:
        st.caption("All rows.")
