"""Other values of a row: what they change, and which would change the prediction."""

from collections.abc import Sequence
from datetime import date
from math import ceil, floor, isfinite, isnan, log10

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import known_values, predictions
from pages.cached.runs import LoadedRun, ranked_classes, run_tree
from pages.explain.which_row import Row, predicted_row
from pages.explain.why import prediction_words, show_path, show_prediction
from pages.widgets.page import pick_moment, pick_one, pick_time
from pages.widgets.words import plain, with_unit
from treelab.data.columns import column_kind
from treelab.evaluation import counterfactuals
from treelab.figures.tree import columns_by_path
from treelab.trees.dates import coarsest_unit, decimal_years, from_decimal_years
from treelab.trees.text import predicts_times
from treelab.trees.tree import OBLIQUE
from treelab.trees.words import apart, clock_text, short_time, shortest

MOST = 3  # counterfactuals that are shown
ANY = "any other"


def show_what_if(loaded: LoadedRun, row: Row) -> None:
    """Let the visitor change a row's values; what that changes stands beside them."""
    left, right = st.columns(2, gap="large")
    with left:
        changed = _edited(loaded, row)
    with right:
        if changed is None:
            st.markdown("**Change a value**, or try what changes the prediction:")
        else:
            before = f"Before: {prediction_words(loaded, row)}"
            show_prediction(loaded, changed, before)
        _show_counterfactuals(loaded, row)
    rows = [row] if changed is None else [row, changed]
    estimator = _heaviest_tree(loaded, rows[-1])
    show_path(loaded, run_tree(loaded, estimator), rows, estimator, key="what-if")


def _heaviest_tree(loaded: LoadedRun, row: Row) -> int | None:
    """Return an ensemble's heaviest tree on a row; None for a single tree."""
    if not loaded.is_ensemble:
        return None
    return int(loaded.model.top_estimators(row.values)[0][0, 0])


_FIELDS = 10  # fields that stand open; the other columns unfold
_FEW_NUMBERS = 3  # numbers of a column that stand beside each other
_ROOM = 16  # letters that do
_YES_NO = {"True": "yes", "False": "no"}
_EMPTY = {"placeholder": "missing", "persist_state": "session"}  # of a field
FIELD_WIDTH = 230  # pixels, as a time needs


def _edited(loaded: LoadedRun, row: Row) -> Row | None:
    """Show the fields; return the row with what is in them, None where unchanged."""
    prefix = f"edit-{loaded.run.id}-{row.key}-"
    version = st.session_state.setdefault(f"{prefix}version", 0)
    tree = run_tree(loaded, _heaviest_tree(loaded, row))
    known = row.values.columns  # of new rows those that the model reads
    order = [*columns_by_path(tree, row.values), *loaded.split.X_test.columns]
    columns = [column for column in dict.fromkeys(order) if column in known]
    open_ones, folded = columns[:_FIELDS], columns[_FIELDS:]
    st.session_state[f"{prefix}open"] = set(open_ones)
    new = _fields(loaded, row.values, open_ones, f"{prefix}{version}-")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Reset",
            icon=":material/undo:",
            key=f"{prefix}reset",
            on_click=st.session_state.__setitem__,
            args=(f"{prefix}version", version + 1),
        )
        more = folded and st.toggle(
            f"Show {len(folded):,} more features", key=f"{prefix}all"
        )
    if more:
        new |= _fields(loaded, row.values, folded, f"{prefix}{version}-")
    values, changed = row.values.copy(), []
    for column, now in new.items():
        before = row.values[column].iloc[0]
        if pd.isna(before):
            same = now is None
        else:
            same = str(before) == now if isinstance(now, str) else before == now
        if not same:
            kind = object if _kind(loaded, column) == "category" else float
            value = np.nan if now is None else now
            values[column] = pd.Series([value], index=values.index, dtype=kind)
            changed.append(column)
    return predicted_row(loaded, values) if changed else None


def _set_values(loaded: LoadedRun, row: Row, values: dict) -> None:
    """Put other values into the fields of a row."""
    prefix = f"edit-{loaded.run.id}-{row.key}-"
    version = st.session_state.setdefault(f"{prefix}version", 0) + 1
    st.session_state[f"{prefix}version"] = version
    for column, value in values.items():
        kind = _kind(loaded, column)
        option = str if kind == "category" else float
        key = f"{prefix}{version}-{column}{'-put' if kind in ('date', 'time') else ''}"
        st.session_state[key] = None if pd.isna(value) else option(value)
    if not st.session_state[f"{prefix}open"].issuperset(values):
        st.session_state[f"{prefix}all"] = True  # folded features are among them


def _kind(loaded: LoadedRun, column: str) -> str:
    """Return what a column holds: "date", "time", "number" or "category"."""
    features = [own for own in loaded.model.features if own.column == column]
    if any(own.is_date for own in features):
        return "date"
    if any(own.is_clock for own in features):
        return "time"
    return column_kind(loaded.split.X_train[column])


def _fields(loaded: LoadedRun, original: pd.DataFrame, columns, prefix: str) -> dict:
    """Show fields, as many to a line as fit; return their values, None if missing."""
    values, units = {}, loaded.units
    with st.container(horizontal=True, gap="small"):
        for column in columns:
            now, seen = original[column].iloc[0], loaded.split.X_train[column]
            kind = _kind(loaded, column)
            has_unit = units.get(column) and kind != "time"
            unit = f" ({plain(units[column])})" if has_unit else ""
            with st.container(width=FIELD_WIDTH):
                field = {"date": _date_field, "time": _time_field}.get(kind, _field)
                label, key = f"{plain(column)}{unit}", f"{prefix}{column}"
                values[column] = field(label, key, now, seen)
    return values


def _field(label: str, key: str, now, seen: pd.Series):
    """A field of the column's kind, and the value in it."""
    is_number = column_kind(seen) == "number"
    option = float if is_number else str  # a value as the field knows it
    known = {option(value): value for value in seen.dropna().unique()}
    start = None if pd.isna(now) else option(now)
    # The value comes from the session, not from the field: emptied, a field falls
    # back to a value of its own, and a number could never be taken away.
    chosen = st.session_state.setdefault(key, start)
    for each in (start, chosen):  # also a number that no row has may have been put here
        if each is not None:
            known.setdefault(each, now if each == start else each)
    names = dict(zip(known, apart([*known]))) if is_number else _YES_NO
    words = {own: names.get(own, own) for own in sorted(known)}
    few = _FEW_NUMBERS if is_number else 2
    if len(known) <= few and sum(map(len, words.values())) <= _ROOM:
        given = {"default": None, "required": pd.notna(now) and not seen.isna().any()}
        given |= {"persist_state": "session", "help": "Nothing chosen means missing."}
        chosen = pick_one(label, words, key, **given)
    elif is_number:
        return _number_field(label, key, seen.astype(float))
    else:
        given = {"index": None, "help": "Empty means missing."} | _EMPTY
        chosen = st.selectbox(label, list(words), key=key, **given)
    return None if chosen is None else known[chosen]


def _date_field(label: str, key: str, now, seen: pd.Series) -> float | None:
    """A field for a date or a time, which a table has as a year with decimals."""
    put = st.session_state.get(f"{key}-put", now)
    unit = "D" if coarsest_unit(seen.dropna()) == "D" else "m"

    def shown(years) -> date | None:
        """What the field shows of a value, which may have seconds."""
        moment = from_decimal_years(np.array([years], dtype=float))[0]
        return None if np.isnat(moment) else moment.astype(f"datetime64[{unit}]").item()

    st.session_state.setdefault(key, shown(put))
    first, last = shown(seen.min()), shown(seen.max())
    words = f"Training rows: {first} to {last}; empty means missing."
    chosen = pick_moment(label, key, unit, persist_state="session", help=words)
    if chosen is None:
        return None
    for own in (now, put):
        if chosen == shown(own):  # to the second
            return float(own)
    return float(decimal_years(pd.Series([np.datetime64(chosen, "s")])).iloc[0])


def _time_field(label: str, key: str, now, seen: pd.Series) -> float | None:
    """A field for a time of day or a duration, which a table has as hours."""
    put = st.session_state.get(f"{key}-put", now)
    put = None if pd.isna(put) else float(put)
    st.session_state.setdefault(key, None if put is None else clock_text(put))
    first, last = clock_text(seen.min()), clock_text(seen.max())
    words = f"Training rows: {first} to {last}; empty means missing."
    known = [float(own) for own in (put, now) if pd.notna(own)]
    hours = pick_time(label, key, seen.max(), known, help=words, **_EMPTY)
    if hours is None or not isnan(hours):
        return hours
    return None if pd.isna(now) else float(now)


def _number_field(label: str, key: str, seen: pd.Series) -> float | None:
    """A field for a number, whole where the column is; empty is missing."""
    low, high = seen.min(), seen.max()
    words = f"Training rows: {shortest(low)} to {shortest(high)}; empty means missing."
    step = 1.0
    if isfinite(high - low) and high > low:
        step = 10.0 ** floor(log10((high - low) / 20))
    if (seen.dropna() % 1 == 0).all():
        step = max(step, 1.0)
    return st.number_input(
        label, value=None, step=step, format="%.6g", key=key, help=words, **_EMPTY
    )


def _show_counterfactuals(loaded: LoadedRun, row: Row) -> None:
    """List the nearest rows that the run predicts otherwise, each to be tried."""
    key = f"{loaded.run.id}{loaded.output}-{row.key}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        wanted = _pick_wanted(loaded, row, key)
        with st.popover("Limits", icon=":material/lock:"):
            limits = _pick_limits(loaded)
    if wanted.accepts([row.predicted])[0]:
        st.markdown("The prediction is there already.")
        return
    tree = None if loaded.is_ensemble else run_tree(loaded)
    on_top = loaded.model.has_predictor
    is_exact = tree is not None and not on_top and tree.leaf_weights is None
    if not is_exact and not st.toggle(
        "Search",
        key=f"search-{key}",
        help="Predicts a few thousand rows; nearer ones than those found may exist.",
    ):
        return
    changes = counterfactuals.Changes(row.values, known_values(loaded), **limits)
    if is_exact:
        found = counterfactuals.tree_counterfactuals(tree, changes, wanted, MOST)
    else:
        columns = dict.fromkeys(feature.column for feature in loaded.model.features)
        given = loaded.model, changes, wanted, columns, MOST
        found = counterfactuals.searched_counterfactuals(*given)
    has_sums = is_exact and (tree.feature == OBLIQUE).any()
    if not found:
        which = "change of numbers alone" if has_sums else "allowed change"
        words = f"No {which} leads there."
        st.markdown(words if is_exact else "No change was found that leads there.")
        return
    for number, own in enumerate(found):
        words, button = st.columns([4, 1], vertical_alignment="center", wrap=False)
        bounds = tree if is_exact and not has_sums else None
        words.markdown(own.sentence(loaded.model, bounds, plain))
        button.button(
            "Try it",
            key=f"try-{key}-{number}",
            help="Puts these values into the fields.",
            on_click=_set_values,
            args=(loaded, row, {c: now for c, (_, now) in own.changes.items()}),
        )
    how = "The nearest rows over all leaves" if is_exact else "Near rows"
    if has_sums:
        how += "; of paths with weighted sums the numbers alone change"
    st.caption(
        f"{how}; distance in robust standard deviations of training rows, 1 for "
        "another category. Changing the prediction does not change the real outcome."
    )


def _pick_wanted(loaded: LoadedRun, row: Row, key: str) -> counterfactuals.Wanted:
    """Let the visitor say which prediction is asked for."""
    if loaded.model.classes is not None:
        others = [label for label in ranked_classes(loaded) if label != row.predicted]
        if len(others) == 1:
            st.markdown(f"What would change it to “{plain(others[0])}”:")
            return counterfactuals.Wanted(tuple(others))
        names = [ANY, *map(str, others)]
        chosen = st.selectbox("What would change it to", names, key=f"wanted-{key}")
        return counterfactuals.Wanted(
            tuple(own for own in others if chosen in (ANY, str(own)))
        )
    seen = loaded.split.y_train.to_numpy(float)
    others, own = predictions(loaded, "test"), row.predicted
    higher, lower = others[others > own], others[others < own]
    is_low = len(higher) >= len(lower)
    middle = float(np.median(side)) if len(side := higher if is_low else lower) else own
    digit = 10.0 ** (floor(log10(abs(middle) or 1)) - 2)
    bound = (floor if is_low else ceil)(middle / digit) * digit
    sides = {True: "at least", False: "at most"}
    label = "What would change it to"
    at_least = pick_one(label, sides, f"side-{key}", default=is_low)
    bound, key = float(f"{bound:.3g}"), f"bound-{key}"
    ends = (with_unit(loaded, float(end)) for end in (seen.min(), seen.max()))
    given = {"width": 160, "help": f"Training rows: {' to '.join(ends)}."}
    if predicts_times(loaded.model):
        st.session_state.setdefault(key, short_time(bound))
        hours = pick_time(loaded.model.target, key, bound, **given)
        bound = bound if hours is None or isnan(hours) else hours
    else:
        given |= {"value": bound, "format": "%.6g", "key": key}
        bound = st.number_input(loaded.model.target, **given)
    return (
        counterfactuals.Wanted(low=bound)
        if at_least
        else counterfactuals.Wanted(high=bound)
    )


def _pick_limits(loaded: LoadedRun) -> dict[str, Sequence[str]]:
    """Let the visitor say what may not change."""
    X = loaded.split.X_train
    numbers = [column for column in X if column_kind(X[column]) == "number"]
    asked = {
        "locked": ("Features that stay as they are", list(X.columns)),
        "rising": ("Features that may only rise", numbers),
        "falling": ("Features that may only fall", numbers),
    }
    return {
        name: st.multiselect(label, options, key=f"{name}-{loaded.run.id}")
        for name, (label, options) in asked.items()
    }
