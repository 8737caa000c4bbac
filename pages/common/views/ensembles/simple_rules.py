"""The rows that one tree of an ensemble decides, and its rules for them."""

import pandas as pd
import streamlit as st

from pages.common.cached.deciders import decided_rows
from pages.common.cached.loaded_run import LoadedRun
from pages.common.words import plain, with_unit
from treelab.evaluation.ensembles import DecidedRows
from treelab.trees.words import counted, percent

SHARES = (0.3, 0.5, 0.7, 0.9)
MOST_RULES = 200
TREE, ROWS, RULE, PREDICTION, WEIGHT = (
    "tree",
    "test rows",
    "rule",
    "prediction",
    "mean weight",
)


@st.fragment
def show_simple_rules(loaded: LoadedRun) -> None:
    """List the rules that decide test rows by themselves."""
    st.subheader("Rows that one tree decides", anchor=False)
    share = st.segmented_control(
        "Its weight is above",
        SHARES,
        default=0.5,
        required=True,
        format_func=lambda own: f"{own:.0%}",
        key=f"share-{loaded.run.id}",
        help="Where a single tree has most of the weight, its rule is the whole "
        "explanation of the prediction.",
    )
    found = decided_rows(loaded, share)
    n_test = len(loaded.split.y_test)
    n_rows = sum(len(decided.rows) for decided in found)
    if not found:
        st.markdown(
            f"No tree has more than {share:.0%} of the weight on any of "
            f"{counted(n_test, 'test row')}."
        )
        return
    trees = len({decided.estimator for decided in found})
    st.markdown(
        f"One tree has more than {share:.0%} of the weight on {n_rows:,} of "
        f"{counted(n_test, 'test row')}: {counted(len(found), 'rule')} of "
        f"{counted(trees, 'tree')}."
    )
    chosen = st.dataframe(
        pd.DataFrame([_facts(loaded, decided) for decided in found[:MOST_RULES]]),
        hide_index=True,
        key="simple-rules",
        on_select="rerun",
        selection_mode="single-row",
        column_config={RULE: st.column_config.TextColumn(width="large")},
    ).selection.rows
    if not chosen or chosen[0] >= len(found):
        st.caption("Tick a rule to read it whole and to open a row that it decides.")
        return
    decided = found[chosen[0]]
    st.markdown(f"Tree {decided.estimator}: {plain(decided.rule)}.")
    row = int(decided.rows[0]) + 1
    st.page_link(
        "pages/explain.py",
        label=f"Explain row {row:,}",
        icon=":material/help:",
        query_params={"run": loaded.run.id, "row": str(row)},
    )


def _facts(loaded: LoadedRun, decided: DecidedRows) -> dict:
    """Return a line of the table."""
    facts = {TREE: str(decided.estimator), ROWS: len(decided.rows)}
    if decided.n_right is not None:
        facts["correct"] = percent(decided.n_right / len(decided.rows))
        facts[PREDICTION] = str(decided.prediction)
    else:
        facts["mean error"] = with_unit(loaded, decided.mean_absolute_error)
        facts[PREDICTION] = with_unit(loaded, float(decided.prediction))
    return facts | {WEIGHT: percent(decided.weight), RULE: decided.rule}
