"""Which row is explained: of the test rows, the table, or new rows."""

from dataclasses import dataclass
from datetime import date
from functools import partial
from math import isnan, nan

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached import predictions as cached
from pages.cached.runs import WHOLE, LoadedRun, ranked_classes
from pages.state.choices import new_in_address, whole_number, write_address
from pages.widgets.page import pick_moment, pick_one, pick_time
from pages.widgets.words import plain
from treelab.data.columns import column_kind
from treelab.data.split import SPLIT_NAMES, SPLITS
from treelab.evaluation.explanations import rows_where
from treelab.trees.date_parts import looks_like_dates
from treelab.trees.dates import decimal_years, read_hours
from treelab.trees.text import predicts_times
from treelab.trees.tree import plain_label
from treelab.trees.words import counted, short_time, shortest

_TEST, _NEW = "test", "new"
_SOURCES = {_TEST: "Test rows", WHOLE: "All rows", _NEW: "New rows"}
_ALL = "all"
_HALF = 0.5 / 3_600_000  # hours: half a millisecond, as times are written to one
_MOST_CLASSES = 12  # of which typical rows are offered
_HELP = (
    "Least sure: the two largest probabilities differ least (numbers: the leaf's "
    "values spread most). Largest error: the log loss, or the absolute error. Typical: "
    "predicted correctly and nearest to the middle of its class."
)


@dataclass(frozen=True)
class Row:
    """A row, and its target where it is known."""

    values: pd.DataFrame  # of one row, in the table's own columns
    target: object  # its class or value; None of new rows, and of changed ones
    predicted: object  # the run's prediction for the values
    proba: np.ndarray | None  # of the classes, (n_classes,); None for regression
    key: str  # what it is known by among the rows of its run
    output: int = 0  # what is explained: the predicted class's place, or the only value


def predicted_row(
    loaded: LoadedRun, values: pd.DataFrame, target=None, key: str = ""
) -> Row:
    """Return a row with what the run predicts for it."""
    predicted = loaded.model.predict(values)[0]
    if loaded.model.classes is None:
        return Row(values, target, float(predicted), None, key)
    proba = loaded.model.predict_proba(values)[0]
    # Not always the likeliest class: errors may differ in cost.
    output = loaded.model.classes.index(plain_label(predicted))
    return Row(values, target, predicted, proba, key, output)


def pick_row(loaded: LoadedRun, new: cached.GivenTable | None) -> Row:
    """Let the visitor choose a row; new ones are offered where there are any."""
    named = new_in_address("row")
    # Not bound to the address by Streamlit, which breaks on 1e999.
    if (place := whole_number(named or "")) is not None:
        st.session_state["row"] = place
    with st.container(horizontal=True, vertical_alignment="bottom", key="row-controls"):
        offered = _SOURCES if new else {k: _SOURCES[k] for k in _SOURCES if k != _NEW}
        if st.session_state.get("rows-from") not in offered:
            st.session_state["rows-from"] = _TEST
        given = {"default": None, "persist_state": "session"}
        source = pick_one("Rows", offered, "rows-from", **given)
        if source == _NEW and new is not None:
            X, y, key = cached.ready_table(loaded, new).X, None, new.key
        else:
            (X, y, _), key = loaded.rows(source), source
        if not 1 <= st.session_state.get("row", 1) <= len(X):
            st.session_state["row"] = 1
        given = {"step": 1, "width": 150, "persist_state": "session"}
        place = st.number_input(f"Row, 1 to {len(X):,}", 1, len(X), key="row", **given)
        if place > 1 or "row" in st.query_params:
            write_address("row", str(place))
        places = np.arange(len(X))
        if source != _NEW:
            orders = _orders(loaded)
            go, own = partial(_go, loaded, 0), _key(loaded, "order")
            given = {"format_func": orders.__getitem__, "width": 210, "help": _HELP}
            st.selectbox("Go through", list(orders), key=own, on_change=go, **given)
            with st.popover("Filter", icon=":material/filter_alt:"):
                _pick_filter(loaded, source)
            places = _places(loaded, source)
        for label, step in (("Previous", -1), ("Next", 1)):
            st.button(
                label,
                key=f"row-{label.lower()}",
                disabled=not len(places),
                on_click=partial(_go, loaded, step, len(X)),
            )
    words, at = f"Row {place:,} of the {len(X):,} new ones", place - 1
    st.caption(words if y is None else _where_words(loaded, source, at, places))
    target = None if y is None else y.iloc[at]
    return predicted_row(loaded, X.iloc[[at]], target, f"{key}-{at}")


def open_new_row(place: int) -> None:
    """Turn to a new row, counted from 0, and to what explains it."""
    st.session_state["rows-from"], st.session_state["row"] = _NEW, place + 1
    st.session_state["tab"] = "Why"


def _orders(loaded: LoadedRun) -> dict[str, str]:
    """The orders in which rows can be gone through, and their names."""
    worst = {cached.UNSURE: "Least sure", cached.ERRORS: "Largest error"}
    if loaded.model.classes is None:
        return {_ALL: "In order"} | worst | {cached.TYPICAL: "Typical"}
    wrong = {_ALL: "In order", cached.MISCLASSIFIED: "Misclassified"}
    labels = enumerate(ranked_classes(loaded)[:_MOST_CLASSES])
    typical = {f"{cached.TYPICAL}-{k}": f"Typical of “{own}”" for k, own in labels}
    return wrong | worst | typical


def _places(loaded: LoadedRun, source: str) -> np.ndarray:
    """Places of the rows that pass the filter, in the order chosen."""
    order = st.session_state.get(_key(loaded, "order"), _ALL)
    kind, _, number = order.partition("-")
    if kind == _ALL:
        places = np.arange(len(loaded.rows(source).y))
    else:
        label = ranked_classes(loaded)[int(number)] if number else None
        places = cached.ranked_rows(loaded, kind, label, source)
    column = st.session_state.get(_key(loaded, "column"))
    if column is None:
        return places
    low, high, among = (
        st.session_state.get(_key(loaded, f"{name}-{column}"))
        for name in ("at least", "at most", "among")
    )
    values = _column(loaded, source, column)
    ends = _number(low, -_HALF), _number(high, _HALF, is_last=True)
    return places[rows_where(values, *ends, among or None)[places]]


def _go(loaded: LoadedRun, step: int, n_rows: int = 0) -> None:
    """Turn to the first row of the order, or on by a step.

    An interrupted page's widgets are reported as changed once more, when another run
    may be shown: its row stays.
    """
    if st.session_state.get("run") != loaded.run.id:
        return
    source = st.session_state.get("rows-from", _TEST)
    places = np.arange(n_rows) if source == _NEW else _places(loaded, source)
    if not len(places):
        return
    found = np.flatnonzero(places == st.session_state.get("row", 1) - 1)
    at = (found[0] + step) % len(places) if step and len(found) else 0
    st.session_state["row"] = int(places[at]) + 1


def _key(loaded: LoadedRun, name: str) -> str:
    """Key of a control of this run, and of one of its outputs."""
    return f"rows-{name}-{loaded.run.id}{loaded.output}"


def _column(loaded: LoadedRun, source: str, name: str) -> pd.Series:
    """What rows can be filtered by: the target, the prediction or a column."""
    X, y, _ = loaded.rows(source)
    if name in X.columns:
        return X[name]
    if name == loaded.model.target:
        return y
    return pd.Series(cached.predictions(loaded, source), index=y.index)


def _prediction(loaded: LoadedRun) -> str:
    """Return what the prediction is called among what rows can be filtered by."""
    name = "prediction"
    while name in (loaded.model.target, *loaded.split.X_test.columns):
        name = f"model's {name}"
    return name


def _pick_filter(loaded: LoadedRun, source: str) -> None:
    """Let the visitor choose a condition on one column."""
    names = [loaded.model.target, _prediction(loaded), *loaded.split.X_test.columns]
    column = st.selectbox(
        "Rows by",
        list(dict.fromkeys(names)),
        index=None,
        placeholder="no condition",
        key=_key(loaded, "column"),
    )
    if column is None:
        return
    values = _column(loaded, source, column)
    then = {"on_change": _go, "args": (loaded, 0)}
    if column_kind(values) == "number":
        dates, times = looks_like_dates(values), _holds_times(loaded, column)
        for side, seen in (("at least", values.min()), ("at most", values.max())):
            field = {"key": _key(loaded, f"{side}-{column}"), **then}
            if dates:
                pick_moment("From" if side == "at least" else "To", **field)
                continue
            if times:
                field["placeholder"] = short_time(seen)
                pick_time(side.capitalize(), example=seen, **field)
                continue
            seen = shortest(float(seen))
            field |= {"placeholder": seen, "format": "%.6g"}
            st.number_input(side.capitalize(), value=None, **field)
        return
    options = sorted(str(value) for value in values.dropna().unique())
    key = _key(loaded, f"among-{column}")
    st.multiselect("Is one of", options, key=key, **then)


def _holds_times(loaded: LoadedRun, name: str) -> bool:
    """Whether numbers that rows can be filtered by were written as times."""
    for own in loaded.model.features:
        if own.column == name:
            return own.is_clock
    is_column = name in loaded.split.X_test.columns
    return not is_column and predicts_times(loaded.model)


def _number(bound, room: float, *, is_last: bool = False) -> float | None:
    """Return a bound as its column counts: a day as years, its end where it is last.

    A time is in hours, with some room for what was rounded.
    """
    if isinstance(bound, str):
        hours = read_hours(bound) if bound else nan
        return None if isnan(hours) else hours + room
    if not isinstance(bound, date):
        return bound
    moment = np.datetime64(bound, "us")
    moment += np.timedelta64(24 * 60 * 60 * 1_000_000 - 1, "us") * is_last
    return decimal_years(pd.Series([moment])).item()


def _where_words(loaded: LoadedRun, source: str, place: int, places: np.ndarray) -> str:
    """Write which row of the table this is, and where it stands in the order."""
    row = loaded.rows(source).X.index[place]
    words = f"Row {int(row) + 1:,} of the table {plain(loaded.run.problem.table_name)}"
    if source == WHOLE:
        split = next(s for s in SPLITS if row in loaded.split.rows(s).X.index)
        words += f", a {SPLIT_NAMES[split]} row"
    order = st.session_state.get(_key(loaded, "order"), _ALL)
    column = st.session_state.get(_key(loaded, "column"))
    if order == _ALL and column is None:
        return words
    chosen = plain(_orders(loaded)[order])
    if column is not None:
        chosen += f", by {plain(column)}"
    if not len(places):
        return f"{words} · {chosen}: no such row"
    at = np.flatnonzero(places == place)
    number = f"{at[0] + 1:,}" if len(at) else "none"
    return f"{words} · {chosen}: {number} of {counted(len(places), 'row')}"
