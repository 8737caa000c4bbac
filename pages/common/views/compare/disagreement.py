"""The test rows on which two runs differ."""

import pandas as pd
import streamlit as st

from pages.common.cached.predictions import predictions
from pages.common.views.compare.comparison import Names, Pair
from pages.common.words import plain, with_unit
from treelab.evaluation.comparison import Disagreement, disagreement
from treelab.trees.words import counted

MOST_ROWS = 200  # rows that are listed
ROW, TARGET, CORRECT, CLOSER = "test row", "target", "correct", "closer"
HEADS = {ROW, TARGET, CORRECT, CLOSER}  # names that no run may have in the table


def show_disagreement(pair: Pair, names: Names) -> None:
    """Show on how many test rows the runs differ, and list those rows."""
    X, y = pair[0].split.rows("test")
    task = pair[0].run.problem.task
    found = disagreement(task, y, *(predictions(loaded, "test") for loaded in pair))
    if found.rows.empty:
        st.markdown(f"Both predict the same on all {counted(len(y), 'test row')}.")
        return
    st.markdown(_summary(found, pair, names))
    rows = found.rows[:MOST_ROWS]
    last = CORRECT if found.mean_distance is None else CLOSER
    facts = pd.DataFrame(
        {
            ROW: rows["position"] + 1,
            TARGET: rows["truth"],
            names[0]: rows["first"],
            names[1]: rows["second"],
            last: [(*names, "neither")[which] for which in rows["better"]],
        }
    )
    if found.mean_distance is None:
        facts = facts.astype(dict.fromkeys((TARGET, *names), str))
    _show_rows(facts, X.iloc[rows["position"]], pair, names)


def _summary(found: Disagreement, pair: Pair, names: Names) -> str:
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


def _show_rows(facts: pd.DataFrame, X: pd.DataFrame, pair: Pair, names: Names) -> None:
    """List rows with their predictions, then their columns; open the chosen one."""
    X = X.rename(columns={name: f"{name} " for name in X if name in facts})
    chosen = st.dataframe(
        pd.concat([facts, X.reset_index(drop=True)], axis=1),
        hide_index=True,
        key="rows-that-differ",
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        column_config={ROW: st.column_config.NumberColumn(pinned=True)},
    ).selection.rows
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
            st.page_link(
                "pages/explain.py",
                label=f"Explain {plain(name)} on row {row:,}",
                icon=":material/help:",
                query_params={"run": loaded.run.id, "row": str(row)},
            )
