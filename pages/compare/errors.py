"""What both runs get wrong on the test rows: where they differ, class by class."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.comparison import comparable_runs
from pages.cached.predictions import predictions
from pages.cached.runs import load_readable
from pages.compare.outcomes import outcomes_title, show_outcomes
from pages.compare.pair import Names, Pair, names_of
from pages.compare.residuals import show_residuals
from pages.widgets.page import mode, page_link, show_figure
from pages.widgets.words import plain, split_words, with_unit
from treelab.evaluation.comparison import (
    Disagreement,
    agreement,
    disagreement,
    most_and_least_alike,
)
from treelab.figures.comparison import agreement_figure
from treelab.trees.words import counted, percent, significant


def show_errors(pair: Pair, names: Names) -> None:
    """Show the rows on which the runs differ, and how each errs."""
    st.header("Where they differ", anchor=False)
    predicted = (predictions(loaded, "test") for loaded in pair)
    _, truth, weight = pair[0].split.rows("test")
    found = disagreement(pair[0].run.problem.task, truth, *predicted, weight)
    rows_that_differ(found, pair, names, has_links=True)
    st.header(outcomes_title(pair[0]), anchor=False)
    for column, loaded, name, key in zip(
        st.columns(2, gap="large"), pair, names, ("first", "second")
    ):
        with column:
            st.markdown(f"**{plain(name)}**")
            show_outcomes(loaded, key)
    if pair[0].model.classes is None:
        st.header("Residuals", anchor=False)
        show_residuals(pair, names)
    st.header("How alike all runs predict", anchor=False)
    _show_agreement(pair)


# The test rows on which two runs differ.


MOST_ROWS = 200  # rows that are listed
ROW, TARGET, CORRECT, CLOSER = "test row", "target", "correct", "closer"
HEADS = {ROW, TARGET, CORRECT, CLOSER}  # names that no run may have in the table


def rows_that_differ(
    found: Disagreement, pair: Pair, names: Names, *, has_links: bool = False
) -> None:
    """Say on how many test rows two runs differ, and list those rows.

    With links a row can be ticked, to be followed in the trees or explained.
    """
    if found.rows.empty:
        st.markdown(
            f"Both predict the same on all {counted(found.n_rows, 'test row')}."
        )
        return
    of_classes = found.mean_distance is None
    st.markdown(_difference_words(found, pair, names))
    first, second = (f"{name} (run)" if name in HEADS else name for name in names)
    rows = found.rows[:MOST_ROWS]
    better = [(first, second, "neither")[which] for which in rows["better"]]
    facts = pd.DataFrame(
        {
            ROW: rows["position"] + 1,
            TARGET: rows["truth"],
            first: rows["first"],
            second: rows["second"],
            CORRECT if of_classes else CLOSER: better,
        }
    )
    if of_classes:
        facts = facts.astype(dict.fromkeys((TARGET, first, second), str))
    X = pair[0].split.X_test.iloc[rows["position"]].reset_index(drop=True)
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    table = st.dataframe(
        pd.concat([facts.reset_index(drop=True), X], axis=1),
        hide_index=True,
        key="rows-that-differ",
        placeholder="–",
        on_select="rerun" if has_links else "ignore",
        selection_mode="single-row",
        column_config={ROW: st.column_config.NumberColumn(pinned=True)},
    )
    if (n_rows := len(found.rows)) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS} of {n_rows:,}.")
    if has_links:
        _show_links(facts, table.selection.rows, pair, names)


def _difference_words(found: Disagreement, pair: Pair, names: Names) -> str:
    """Write how often the runs differ, and which of them is better there."""
    first, second = map(plain, names)
    n_rows = counted(found.n_rows, "test row")
    if found.mean_distance is None:
        return (
            f"They differ on {len(found.rows):,} of {n_rows}: {first} is correct on "
            f"{found.first_better:,}, {second} on {found.second_better:,}, neither on "
            f"{found.neither:,}."
        )
    distance = plain(with_unit(pair[0], found.mean_distance))
    return (
        f"{second} is closer to the target on {found.second_better:,} of {n_rows}, "
        f"{first} on {found.first_better:,}. The predictions differ by {distance} on "
        "average; the largest differences come first."
    )


def _show_links(
    facts: pd.DataFrame, chosen: list[int], pair: Pair, names: Names
) -> None:
    """Offer to follow the ticked row in the trees above, or to explain it."""
    if not chosen or chosen[0] >= len(facts):
        st.caption("Tick a row to open it on Explain.")
        return
    row = int(facts[ROW].iloc[chosen[0]])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Show its paths above",
            icon=":material/route:",
            on_click=st.session_state.__setitem__,
            args=("compare-row", row),
        )
        for loaded, name in zip(pair, names):
            label = f"Explain {plain(name)} on row {row:,}"
            page_link("explain", label, run=loaded.run.id, row=str(row))


# How alike all runs with the same test rows predict.


MOST_RUNS = 14
FEW_RUNS = 6  # whose matrix takes half of the page


def _show_agreement(pair: Pair) -> None:
    """Draw the agreement of the pair and of the newest runs beside it."""
    ids = {loaded.run.id for loaded in pair}
    found = comparable_runs(pair[0].run, MOST_RUNS)
    others = load_readable([run for run in found if run.id not in ids])
    runs = [*pair, *others][:MOST_RUNS]
    task, titles = pair[0].run.problem.task, list(names_of(runs))
    weight = pair[0].split.rows("test").weight
    matrix = agreement(task, [predictions(loaded, "test") for loaded in runs], weight)
    of_numbers = task == "regression"
    if np.isnan(matrix[np.triu_indices(len(runs), 1)]).all():
        st.markdown("Predictions of these runs do not vary: they cannot correlate.")
        return
    st.markdown(plain(_agreement_words(matrix, titles, of_numbers)))
    with st.columns([1, 1])[0] if len(runs) <= FEW_RUNS else st.container():
        show_figure(
            agreement_figure(matrix, titles, as_percent=not of_numbers, mode=mode()),
            key="agreement",
            alt="Agreement of every two runs on the test rows.",
        )
    what = "Percentage of rows that every two runs predict alike"
    if of_numbers:
        what = "Correlation of the predictions of every two runs"
    st.caption(
        f"{what}; {split_words(pair[0], 'test')}. All finished runs with these test "
        f"rows, of equal ones the newest, {MOST_RUNS} at most."
    )


def _agreement_words(matrix: np.ndarray, titles: list[str], of_numbers: bool) -> str:
    """Say which two runs agree most, and which least."""

    def named(pair: tuple[int, int]) -> tuple[str, str]:
        own = float(matrix[pair])
        value = f"a correlation of {significant(own)}" if of_numbers else percent(own)
        return " and ".join(titles[i] for i in pair), value

    most, least = most_and_least_alike(matrix)
    first, value = named(most)
    if most == least:
        return f"{first} agree: {value}."
    other, least_value = named(least)
    return f"{first} are most alike ({value}), {other} least ({least_value})."
