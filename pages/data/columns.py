"""The tab Columns: what a table's columns and rows hold, before anything is trained."""

import pandas as pd
import streamlit as st

from pages.cached import store as cached
from pages.cached.store import table
from pages.widgets.page import mode, show_bars, show_figure
from pages.widgets.words import named_with_unit, plain
from treelab.data.leaks import MANY_COLUMNS
from treelab.data.problem import Problem
from treelab.evaluation.profile import Alone, alone_score, missing_words
from treelab.figures.html import facts_table
from treelab.figures.profile import associations_figure, distribution_figure
from treelab.trees.words import counted, percent, significant

MOST_COLUMNS = 15


def show_columns(problem: Problem) -> None:
    """Show how each column relates to the target, and what is missing or repeated."""
    left, right = st.columns(2, gap="large")
    with left:
        show_alone(problem)
    with right:
        show_associations(problem)
    show_distribution(problem)
    left, right = st.columns(2, gap="large")
    with left:
        show_rows(problem)
    with right:
        show_odd(problem)
        show_missing(problem)


def _alone(problem: Problem) -> Alone | None:
    """Return what each column predicts alone; None before it is asked for."""
    n = len(problem.columns)
    if n > MANY_COLUMNS and not st.session_state.get(f"alone-{problem.table_id}"):
        return None
    return cached.alone_of(problem)


def _ranked(problem: Problem) -> list[str]:
    """Return the columns to predict from, those that predict most first."""
    found = _alone(problem)
    return found.names if found and found.names else list(problem.columns)


def _sample_words(n_rows: int, problem: Problem) -> str:
    """Name the rows that were looked at."""
    n_all = len(table(problem.table_id))
    rows = counted(n_all, "row")
    return f"a sample of {n_rows:,} of {rows}" if n_rows < n_all else rows


def show_alone(problem: Problem) -> None:
    """Draw what each column predicts alone."""
    st.subheader("How each column relates to the target", anchor=False)
    n = len(problem.columns)
    if n > MANY_COLUMNS:
        st.toggle(
            "Measure",
            key=f"alone-{problem.table_id}",
            help=f"Fits a small tree to each of the {n:,} columns.",
        )
    found = _alone(problem)
    if found is None:
        return
    if not found.names:
        st.markdown("The rows with a target are too few to say.")
        return
    words, title = found.sentences(problem, plain), f"{alone_score(problem)} alone"
    bars = found.names, found.power
    show_bars("profile-alone", words, *bars, title=title, most=MOST_COLUMNS)
    st.caption(
        f"A tree of at most 32 leaves on each column, fitted to one half of "
        f"{_sample_words(found.n_rows, problem)}, scored on the other. 0 is the "
        "baseline, 1 exact."
        + (f" The first {MOST_COLUMNS} of {n:,} columns." if n > MOST_COLUMNS else "")
    )


@st.fragment
def show_distribution(problem: Problem) -> None:
    """Draw how the values of a chosen column lie, and the target among them."""
    st.subheader("One column", anchor=False)
    name = st.selectbox(
        "Column",
        _ranked(problem),
        key=f"profile-column-{problem.table_id}-{problem.target}",
        width=320,
    )
    facts = cached.column_facts(problem.table_id).set_index("column")
    if name in facts.index:
        meaning = facts.loc[name]
        st.caption(f"{meaning['meaning'].capitalize()}. {plain(meaning['reason'])}")
    found, units = cached.distribution_of(problem, name), dict(problem.units)
    words = found.sentence(name, problem.target, plain)
    st.markdown(words)
    show_figure(
        distribution_figure(
            found,
            named_with_unit(name, units.get(name, "")),
            named_with_unit(problem.target, units.get(problem.target, "")),
            cached.target_colors(problem),
            mode(),
        ),
        key="profile-distribution",
        alt=words,
    )
    what = "the target's mean below"
    if found.target_mean is None:
        what = "a colour a class"
    st.caption(f"All rows with a target, {what}; the outermost bins hold the tails.")


def show_associations(problem: Problem) -> None:
    """Draw how strongly the columns are associated."""
    st.subheader("Associations between columns", anchor=False)
    names = tuple(_ranked(problem)[:MOST_COLUMNS])
    if len(names) < 2:
        st.markdown("There is one column only.")
        return
    found = cached.associations_of(problem, names)
    words = found.sentences(plain)
    if not words:
        st.markdown("No two columns share enough rows to say.")
        return
    st.markdown(words)
    show_figure(
        associations_figure(found, mode()), key="profile-associations", alt=words
    )
    some = ""
    if len(problem.columns) > len(names):
        some = f"The {len(names)} columns that predict most alone. "
    st.caption(
        f"{some}{_sample_words(found.n_rows, problem).capitalize()}. Spearman's rank "
        "correlation without its sign, correlation ratio or Cramér's V, by type of "
        "column; 0 to 1, corrected for chance."
    )


def show_odd(problem: Problem) -> None:
    """List the columns to check, each with what was seen."""
    facts = cached.column_facts(problem.table_id)
    odd = facts[facts["meaning"].isin(["id", "constant", "empty", "text"])]
    rows = [(r.column, r.meaning, r.reason) for r in odd.itertuples()]
    found = _alone(problem)
    power = dict(zip(found.names, found.power)) if found else {}
    for name in found.leaks if found else []:
        reason = (
            f"Alone it predicts the target nearly exactly ({significant(power[name])} "
            "of 1). Leave it out if it is known only afterwards."
        )
        rows.insert(0, (name, "gives the target away", reason))
    st.subheader("Columns to check", anchor=False)
    if not rows:
        st.markdown("None: no id, no constant, none that gives the target away.")
        return
    st.dataframe(
        pd.DataFrame(rows, columns=["Column", "What", "Why"]),
        hide_index=True,
        height=min(35 * (len(rows) + 1) + 3, 300),
    )


MOST_ROW_COLUMNS = 15
_KINDS = {"number": "decimal", "whole number": "integer"}  # of what a column holds


def show_rows(problem: Problem) -> None:
    """Show the counts of rows and columns, all of them counted."""
    facts, meanings = (
        cached.rows_of(problem),
        cached.column_facts(problem.table_id)["meaning"],
    )
    counts = meanings.value_counts()
    st.subheader("Rows and columns", anchor=False)
    shown = {
        "Rows": f"{facts.n_rows:,}",
        "Columns": f"{len(meanings):,}",
        "Missing cells": percent(facts.missing_share),
        "Rows without a gap": f"{facts.n_complete:,}",
        "Repeated rows": f"{facts.n_repeated:,}",
        "Contradicting rows": f"{facts.n_contradicting:,}",
    }
    st.html(facts_table(shown))
    kinds = ", ".join(
        f"{n:,} {_KINDS.get(str(kind), kind)}" for kind, n in counts.items()
    )
    st.caption(
        f"Columns by type: {kinds}. A repeated row equals an earlier one in every "
        "column. Contradicting rows have equal features and different targets: no "
        "model predicts all of them."
    )


def show_missing(problem: Problem) -> None:
    """Draw how much is missing in each column, and where that depends on the target."""
    st.subheader("Missing values", anchor=False)
    gaps = cached.gaps_of(problem)
    if gaps.empty:
        st.markdown("No value is missing.")
        return
    show_bars(
        "profile-missing",
        plain(missing_words(gaps)),
        *(gaps["column"], gaps["missing"]),
        title="fraction of rows without a value",
        most=MOST_ROW_COLUMNS,
    )
    if (more := len(gaps) - MOST_ROW_COLUMNS) > 0:
        st.caption(f"{counted(more, 'more column')} with fewer gaps.")
