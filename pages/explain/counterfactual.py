"""What would have to change in a row for another prediction."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.cached.predictions import known_values
from pages.cached.runs import LoadedRun, ranked_classes, run_tree
from pages.widgets.row import Row, set_values
from pages.widgets.words import plain, with_unit
from treelab.data.columns import column_kind
from treelab.evaluation.counterfactuals import (
    Changes,
    Counterfactual,
    Wanted,
    searched_counterfactuals,
    tree_counterfactuals,
)
from treelab.trees.words import counted, shortest, significant

MOST = 3  # rows that are shown
ANY = "any other"


@st.fragment
def show_counterfactuals(loaded: LoadedRun, row: Row, place: int) -> None:
    """Show the nearest rows that the run predicts otherwise."""
    st.subheader("What would change it", anchor=False)
    key = f"{loaded.run.id}-{place}"
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        wanted = _pick_wanted(loaded, row, key)
    with right, st.popover("Limits", icon=":material/lock:", width="stretch"):
        limits = _pick_limits(loaded, key)
    is_exact = _is_exact(loaded)
    if not is_exact and not st.toggle(
        "Search",
        key=f"search-{key}",
        help="Predicts a few thousand rows; nearer ones than those found may exist.",
    ):
        return
    changes = Changes(row.values, known_values(loaded), **limits)
    if is_exact:
        found = tree_counterfactuals(run_tree(loaded), changes, wanted, MOST)
    else:
        columns = dict.fromkeys(feature.column for feature in loaded.model.features)
        found = searched_counterfactuals(loaded.model, changes, wanted, columns, MOST)
    if not found:
        st.markdown("No allowed change leads there.")
        return
    for number, own in enumerate(found):
        _show(loaded, own, place, f"{key}-{number}")
    how = "The nearest rows, over all leaves of the tree" if is_exact else "Near rows"
    st.caption(
        f"{how}: a number's distance is measured in robust standard deviations of its "
        "column among training rows, another category or a missing value counts 1. "
        "What would change the prediction need not change what it predicts."
    )


def _is_exact(loaded: LoadedRun) -> bool:
    """Whether the run is one tree whose leaves are boxes of one prediction."""
    if loaded.is_ensemble or loaded.has_predictor:
        return False
    return run_tree(loaded).leaf_weights is None


def _pick_wanted(loaded: LoadedRun, row: Row, key: str) -> Wanted:
    """Let the visitor say which prediction is asked for."""
    predicted = row.predicted
    if loaded.model.classes is not None:
        others = [label for label in ranked_classes(loaded) if label != predicted]
        if len(others) == 1:
            st.markdown(f"For the prediction “{plain(others[0])}”:")
            return Wanted(tuple(others))
        chosen = st.selectbox(
            "Prediction asked for", [ANY, *map(str, others)], key=f"wanted-{key}"
        )
        if chosen == ANY:
            return Wanted(tuple(others))
        return Wanted(tuple(label for label in others if str(label) == chosen))
    seen = loaded.split.y_train.to_numpy(float)
    low, high = np.quantile(seen, [0.25, 0.75])
    is_low = bool(predicted < (low + high) / 2)
    side, number = st.columns(2)
    at_least = side.segmented_control(
        "Prediction asked for",
        [True, False],
        format_func={True: "at least", False: "at most"}.__getitem__,
        default=is_low,
        required=True,
        key=f"side-{key}",
    )
    bound = number.number_input(
        loaded.run.problem.target,
        value=float(f"{high if is_low else low:.3g}"),
        key=f"bound-{key}",
        help=f"Training rows: {with_unit(loaded, float(seen.min()))} to "
        f"{with_unit(loaded, float(seen.max()))}.",
    )
    return Wanted(low=bound) if at_least else Wanted(high=bound)


def _pick_limits(loaded: LoadedRun, key: str) -> dict[str, Sequence[str]]:
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


def _show(loaded: LoadedRun, own: Counterfactual, place: int, key: str) -> None:
    """Write one counterfactual, and let the visitor take its values."""
    predicted = f"“{own.prediction}”"
    if loaded.model.classes is None:
        predicted = with_unit(loaded, float(own.prediction))
    changed = "; ".join(
        f"**{plain(column)}** from {plain(_text(before))} to {plain(_text(now))}"
        for column, (before, now) in own.changes.items()
    )
    words, button = st.columns([5, 1], vertical_alignment="center")
    words.markdown(
        f"{plain(predicted)}, with {counted(len(own.changes), 'change')} (distance "
        f"{significant(own.distance)}): {changed}."
    )
    is_tried = button.button(
        "Try it",
        icon=":material/edit:",
        key=f"try-{key}",
        help="Puts these values into the row above.",
        on_click=set_values,
        args=(loaded, place, {c: now for c, (_, now) in own.changes.items()}),
    )
    if is_tried:  # the fields stand outside of this fragment
        st.rerun()


def _text(value) -> str:
    """A cell's value in words."""
    if pd.isna(value):
        return "missing"
    return shortest(value) if isinstance(value, float) else str(value)
