"""One row to explain, whose values the visitor may edit."""

from dataclasses import dataclass, field
from math import floor, isfinite, log10

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.runs import LoadedRun
from pages.widgets.words import plain
from treelab.data.columns import column_kind
from treelab.trees.words import shortest

_FIELDS = 12  # fields that stand open; the other columns unfold
_FEW_NUMBERS = 3  # numbers of a column that stand beside each other
_ROOM = 16  # letters that do
_MISSING = "missing"


@dataclass(frozen=True)
class Row:
    """A row, and its target where it is known.

    Attributes
    ----------
    values : DataFrame
        Of one row, in the table's own columns.
    target : object
        Its class or value; None once it was edited.
    original : DataFrame
        The row as the table has it.
    predicted : object
        The run's prediction for the values.
    proba : float64 array of shape (n_classes,) or None
        Class probabilities; None for regression.
    changed : dict
        Column to (value before, value now), as text.
    """

    values: pd.DataFrame
    target: object
    original: pd.DataFrame
    predicted: object
    proba: np.ndarray | None
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)


def pick_row(loaded: LoadedRun, place: int, columns_first: tuple[str, ...]) -> Row:
    """Return a test row, with the values that the visitor changed in it.

    Parameters
    ----------
    loaded : LoadedRun
    place : int
        Of the row among the test rows, from 0.
    columns_first : tuple of str
        Columns whose fields come first, such as those on the decision path.
    """
    X, y = loaded.split.rows("test")
    original, target = X.iloc[[place]], y.iloc[place]
    with st.expander("Change values", icon=":material/edit:"):
        new = _edit(loaded, original, place, columns_first)
    changed = {
        column: (_as_text(original[column].iloc[0]), _as_text(value))
        for column, value in new.items()
        if not _same(original[column].iloc[0], value)
    }
    if not changed:
        return Row(original, target, original, *predict_row(loaded, original))
    values = original.copy()
    for column in changed:
        kind = column_kind(loaded.split.X_train[column])
        dtype = float if kind == "number" else object
        value = np.nan if new[column] is None else new[column]
        values[column] = pd.Series([value], index=values.index, dtype=dtype)
    return Row(values, None, original, *predict_row(loaded, values), changed)


def predict_row(loaded: LoadedRun, row: pd.DataFrame) -> tuple:
    """Return the run's prediction for one row, and its probabilities or None."""
    model = loaded.model
    if model.classes is None:
        return float(model.predict(row)[0]), None
    return model.predict(row)[0], model.predict_proba(row)[0]


def set_values(loaded: LoadedRun, place: int, values: dict) -> None:
    """Put other values into the fields of a row that is being edited."""
    prefix = f"edit-{loaded.run.id}-{place}-"
    version = st.session_state.setdefault(f"{prefix}version", 0)
    for column, value in values.items():
        is_number = column_kind(loaded.split.X_train[column]) == "number"
        written = None if pd.isna(value) else float(value) if is_number else str(value)
        st.session_state[f"{prefix}{version}-{column}"] = written
    st.session_state[f"{prefix}all"] = True  # folded features may be among them


def _edit(loaded: LoadedRun, original: pd.DataFrame, place: int, first) -> dict:
    """Show a field a column and return the values in them, None where missing."""
    prefix = f"edit-{loaded.run.id}-{place}-"
    version = st.session_state.setdefault(f"{prefix}version", 0)
    columns = [c for c in first if c in original.columns]
    columns += [c for c in original.columns if c not in columns]
    open_ones, folded = columns[:_FIELDS], columns[_FIELDS:]
    st.button(
        "Reset",
        icon=":material/undo:",
        key=f"{prefix}reset",
        on_click=st.session_state.__setitem__,
        args=(f"{prefix}version", version + 1),
    )
    new = _fields(loaded, original, open_ones, f"{prefix}{version}-")
    if folded and st.toggle(f"Show {len(folded):,} more features", key=f"{prefix}all"):
        new |= _fields(loaded, original, folded, f"{prefix}{version}-")
    return new


def _fields(loaded: LoadedRun, original: pd.DataFrame, columns, prefix: str) -> dict:
    """Show fields four to a line; return the values in them."""
    values = {}
    units = dict(loaded.run.problem.units)
    for start in range(0, len(columns), 4):
        for column, place in zip(columns[start : start + 4], st.columns(4)):
            now, seen = original[column].iloc[0], loaded.split.X_train[column]
            unit = f" ({plain(units[column])})" if units.get(column) else ""
            label, key = f"{plain(column)}{unit}", f"{prefix}{column}"
            with place:
                values[column] = _field(label, key, now, seen)
    return values


def _field(label: str, key: str, now, seen: pd.Series):
    """A field of the column's kind, and the value in it; None is missing."""
    is_number = column_kind(seen) == "number"
    known = {_option(value, is_number): value for value in seen.dropna().unique()}
    if not pd.isna(now):
        known.setdefault(_option(now, is_number), now)
    # The value comes from the session, not from the field: emptied, a field falls
    # back to a value of its own, and a number could never be taken away.
    start = None if pd.isna(now) else _option(now, is_number)
    chosen = st.session_state.setdefault(key, start)
    if chosen is not None:  # a number that no row has may have been put here
        known.setdefault(chosen, chosen)
    if len(known) <= (_FEW_NUMBERS if is_number else 2) and _are_short(known):
        chosen = st.segmented_control(
            label,
            sorted(known),
            format_func=_option_text,
            required=pd.notna(now) and not seen.isna().any(),
            key=key,
            help=f"Nothing chosen means {_MISSING}.",
        )
    elif is_number:
        return _number_field(label, key, seen.astype(float))
    else:
        chosen = st.selectbox(
            label,
            sorted(known),
            index=None,
            key=key,
            placeholder=_MISSING,
            help=f"Empty means {_MISSING}.",
        )
    return None if chosen is None else known[chosen]


def _option(value, is_number: bool) -> float | str:
    """A value as the fields know it."""
    return float(value) if is_number else str(value)


def _option_text(option: float | str) -> str:
    """A value as the fields show it: yes and no for true and false."""
    if isinstance(option, str):
        return {"True": "yes", "False": "no"}.get(option, option)
    return shortest(option)


def _are_short(options) -> bool:
    """Whether all options find room beside each other."""
    return sum(len(_option_text(option)) for option in options) <= _ROOM


def _number_field(label: str, key: str, seen: pd.Series) -> float | None:
    """A field for a number, whole where the column is; empty is missing."""
    low, high = seen.min(), seen.max()
    step = 1.0
    if isfinite(high - low) and high > low:
        step = 10.0 ** floor(log10((high - low) / 20))
    if (seen.dropna() % 1 == 0).all():
        step = max(step, 1.0)
    return st.number_input(
        label,
        value=None,
        step=step,
        format="%.6g",
        key=key,
        placeholder=_MISSING,
        help=f"Training rows: {shortest(low)} to {shortest(high)}; empty means "
        f"{_MISSING}.",
    )


def _same(before, now) -> bool:
    """Whether a field still holds what the table does."""
    if now is None or pd.isna(before):
        return now is None and bool(pd.isna(before))
    return str(before) == str(now) if isinstance(now, str) else before == now


def _as_text(value) -> str:
    """A cell's value in words."""
    if value is None or pd.isna(value):
        return _MISSING
    return (
        shortest(float(value)) if isinstance(value, float) else _option_text(str(value))
    )
