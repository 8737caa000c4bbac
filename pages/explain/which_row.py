"""Which test row is explained: by number, by an order, by a condition on a column."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import (
    ERRORS,
    MISCLASSIFIED,
    TYPICAL,
    UNSURE,
    predictions,
    ranked_rows,
)
from pages.cached.runs import LoadedRun, ranked_classes
from pages.state.run import new_in_address, write_address
from pages.widgets.words import plain
from treelab.data.columns import column_kind
from treelab.evaluation.explanations import rows_where
from treelab.trees.words import counted, shortest

_ALL = "all"
_PREDICTION = "prediction"
_MOST_CLASSES = 12  # of which typical rows are offered
_HELP = (
    "Least sure: the two largest probabilities differ least (numbers: the leaf's "
    "values spread most). Largest error: the log loss, or the absolute error. Typical: "
    "predicted correctly and nearest to the middle of its class."
)


def pick_place(loaded: LoadedRun) -> int:
    """Let the visitor choose a test row.

    Returns
    -------
    int
        Its place among the test rows, from 0.
    """
    n_rows = len(loaded.split.y_test)
    named = new_in_address("row")
    # Not bound to the address by Streamlit, which breaks on 1e999.
    if named and named.isdecimal():
        st.session_state["row"] = int(named)
    if not 1 <= st.session_state.get("row", 1) <= n_rows:
        st.session_state["row"] = 1
    orders = _orders(loaded)
    with st.container(horizontal=True, vertical_alignment="bottom", key="row-controls"):
        place = st.number_input(
            f"Test row, 1 to {n_rows:,}",
            1,
            n_rows,
            step=1,
            key="row",
            width=180,
            persist_state="session",
        )
        if place > 1 or "row" in st.query_params:
            write_address("row", str(place))
        st.selectbox(
            "Go through",
            list(orders),
            format_func=orders.__getitem__,
            key=_key(loaded, "order"),
            width=230,
            help=_HELP,
            on_change=_go,
            args=(loaded, 0),
        )
        with st.popover("Filter", icon=":material/filter_alt:"):
            _pick_filter(loaded)
        places = _places(loaded)
        for label, step in (("Previous", -1), ("Next", 1)):
            st.button(
                label,
                key=f"row-{label.lower()}",
                disabled=not len(places),
                on_click=_go,
                args=(loaded, step),
            )
    st.caption(_where_words(loaded, place - 1, places))
    return place - 1


def _orders(loaded: LoadedRun) -> dict[str, str]:
    """The orders in which rows can be gone through, and their names."""
    if loaded.model.classes is None:
        names = {UNSURE: "Least sure", ERRORS: "Largest error", TYPICAL: "Typical"}
        return {_ALL: "All test rows"} | names
    found = {
        _ALL: "All test rows",
        MISCLASSIFIED: "Misclassified",
        UNSURE: "Least sure",
        ERRORS: "Largest error",
    }
    for k, label in enumerate(ranked_classes(loaded)[:_MOST_CLASSES]):
        found[f"{TYPICAL}-{k}"] = f"Typical of “{label}”"
    return found


def _places(loaded: LoadedRun) -> np.ndarray:
    """Places of the test rows that pass the filter, in the order chosen."""
    order = st.session_state.get(_key(loaded, "order"), _ALL)
    kind, _, number = order.partition("-")
    if kind == _ALL:
        places = np.arange(len(loaded.split.y_test))
    else:
        label = ranked_classes(loaded)[int(number)] if number else None
        places = ranked_rows(loaded, kind, label)
    return places[_passing(loaded)[places]]


def _go(loaded: LoadedRun, step: int) -> None:
    """Turn to the first row of the order, or on by a step.

    An interrupted page's widgets are reported as changed once more, when another run
    may be shown: its row stays.
    """
    if st.session_state.get("run") != loaded.run.id:
        return
    places = _places(loaded)
    if not len(places):
        return
    found = np.flatnonzero(places == st.session_state.get("row", 1) - 1)
    at = (found[0] + step) % len(places) if step and len(found) else 0
    st.session_state["row"] = int(places[at]) + 1


def _key(loaded: LoadedRun, name: str) -> str:
    """Key of a control of this run."""
    return f"rows-{name}-{loaded.run.id}"


def _column(loaded: LoadedRun, name: str) -> pd.Series:
    """What rows can be filtered by: the target, the prediction or a column."""
    X, y = loaded.split.rows("test")
    if name in X.columns:
        return X[name]
    if name == loaded.run.problem.target:
        return y
    return pd.Series(predictions(loaded, "test"), index=y.index)


def _pick_filter(loaded: LoadedRun) -> None:
    """Let the visitor choose a condition on one column."""
    names = [loaded.run.problem.target, _PREDICTION, *loaded.split.X_test.columns]
    column = st.selectbox(
        "Rows by",
        list(dict.fromkeys(names)),
        index=None,
        placeholder="no condition",
        key=_key(loaded, "column"),
    )
    if column is None:
        return
    values = _column(loaded, column)
    then = {"on_change": _go, "args": (loaded, 0)}
    if _is_number(values):
        for side, seen in (("at least", values.min()), ("at most", values.max())):
            st.number_input(
                side.capitalize(),
                value=None,
                placeholder=shortest(float(seen)),
                format="%.6g",
                key=_key(loaded, f"{side}-{column}"),
                **then,
            )
        return
    options = sorted(str(value) for value in values.dropna().unique())
    key = _key(loaded, f"among-{column}")
    st.multiselect("Is one of", options, key=key, **then)


def _passing(loaded: LoadedRun) -> np.ndarray:
    """Which test rows pass the filter, bool (n_rows,)."""
    n_rows = len(loaded.split.y_test)
    column, state = st.session_state.get(_key(loaded, "column")), st.session_state
    if column is None:
        return np.ones(n_rows, dtype=bool)
    return rows_where(
        _column(loaded, column),
        state.get(_key(loaded, f"at least-{column}")),
        state.get(_key(loaded, f"at most-{column}")),
        state.get(_key(loaded, f"among-{column}")) or None,
    )


def _is_number(values: pd.Series) -> bool:
    """Whether rows are filtered by bounds."""
    return column_kind(values) == "number"


def _where_words(loaded: LoadedRun, place: int, places: np.ndarray) -> str:
    """Write which row of the table this is, and where it stands in the order."""
    row = int(loaded.split.X_test.index[place]) + 1
    words = f"Row {row:,} of the table {plain(loaded.run.problem.table_name)}"
    order = st.session_state.get(_key(loaded, "order"), _ALL)
    column = st.session_state.get(_key(loaded, "column"))
    if order == _ALL and column is None:
        return words
    chosen = plain(_orders(loaded)[order])
    if column is not None:
        chosen += f", by {plain(column)}"
    if not len(places):
        return f"{words} · {chosen}: no such test row"
    at = np.flatnonzero(places == place)
    number = f"{at[0] + 1:,}" if len(at) else "none"
    return f"{words} · {chosen}: {number} of {counted(len(places), 'row')}"
