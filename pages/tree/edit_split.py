"""Editing a split: its column, its threshold."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.cached.runs import run_colors
from pages.state.run import edit_session
from pages.tree.edit_log import Editing, bench, candidates_at, do
from pages.widgets.page import ASSETS, mode, show_figure
from pages.widgets.words import named_with_unit, plain
from treelab.editing.candidates import Candidate
from treelab.editing.edits import SetSplit, SetThreshold
from treelab.editing.paths import node_of
from treelab.evaluation.splits import split_terms
from treelab.figures.editing import (
    Groups,
    category_figure,
    one_group,
    threshold_rows,
    threshold_stops,
)
from treelab.trees.feature import Feature
from treelab.trees.text import left_categories
from treelab.trees.tree import OBLIQUE, Tree
from treelab.trees.words import counted, parse, significant

_mount = st.components.v2.component(
    "treelab_threshold_line",
    js=(ASSETS / "threshold-line.js").read_text("utf-8"),
    css=(ASSETS / "threshold-line.css").read_text("utf-8"),
)


def threshold_line(
    rows: dict,
    key: str,
    *,
    title: str,
    missing: str,
    fades: bool,
    fixed: bool,
    on_move: Callable[[float], None],
) -> None:
    """Draw a node's rows, and the threshold as a line that can be dragged.

    Under one key the component stays as it is while data change. ``missing`` is said
    of rows without a value, bars that go right may be pale, a fixed line cannot be
    moved; ``on_move`` takes where it was let go, before the page runs again.
    """
    n_moves = f"{key}-moves"

    def move() -> None:
        """Hand on where the line was let go."""
        # Also a refused move changes the data: the line goes back.
        st.session_state[n_moves] = st.session_state.get(n_moves, 0) + 1
        if (value := st.session_state[key].threshold) is not None:
            on_move(float(value))

    data = rows | {
        "title": title,
        "alt": f"Training rows of the node by {title}, with the threshold.",
        "missing": missing,
        "fades": fades,
        "fixed": fixed,
        "moves": st.session_state.get(n_moves, 0),
    }
    _mount(key=key, data=json.dumps(data).encode(), on_threshold_change=move)


SUM = "its weighted sum"  # what an oblique split tests


@dataclass(frozen=True)
class _Choice:
    """What the visitor looks at: a column of the node, and the split it has of it."""

    column: str
    is_current: bool
    candidate: Candidate | None  # the best split of the column
    tree: Tree
    node: int
    feature: Feature | None  # None of a weighted sum
    at: np.ndarray  # training rows at the node
    is_held: bool  # whether it is the split of a locked node

    @property
    def missing_left(self) -> bool:
        """Whether rows without a value go left."""
        if self.is_current or self.candidate is None:
            return bool(self.tree.missing_left[self.node])
        return self.candidate.missing_left


def show_split(editing: Editing) -> str | None:
    """Let the visitor choose a column and its cut; return the column, None of a sum."""
    choice = _pick_column(editing)
    if choice is None:
        st.caption("No column divides the training rows of this node any further.")
        return None
    feature = choice.feature
    if feature is not None and feature.kind == "category":
        _show_categories(editing, choice, feature)
    else:
        _show_threshold(editing, choice)
    return None if feature is None else choice.column


def _pick_column(editing: Editing) -> _Choice | None:
    """Let the visitor choose among the columns, the most useful first."""
    edited, path = editing.now.edited, editing.path
    tree, node = edited.tree, node_of(edited.tree, path)
    found = candidates_at(editing.loaded, editing.session.current, path)
    of = {candidate.column: candidate for candidate in found}
    now = None
    if tree.feature[node] == OBLIQUE:
        now = SUM
    elif not tree.is_leaf[node]:
        now = tree.features[tree.feature[node]].column
    names = [*of] if now is None or now in of else [now, *of]
    if not names:
        return None
    key = f"{editing.key('by')}-{path}"
    if st.session_state.get(key) not in names:
        st.session_state[key] = now if now in names else names[0]

    def label(name: str) -> str:
        """Name a column with what its best split gains, the node's own or not."""
        up_to = "up to " * (name == now)
        gain = f" · gain {up_to}{significant(of[name].gain)}" if name in of else ""
        return f"{name}{gain}{' · now' * (name == now)}"

    column = st.selectbox(
        "Split by",
        names,
        format_func=label,
        key=key,
        help="The best split of each column among the training rows of this node, by "
        "how much impurity (Gini, or variance) it removes.",
    )
    features = {feature.column: feature for feature in edited.features}
    at, is_now = bench(editing.loaded).train.at(tree, node), column == now
    own = tree, node, features.get(column), at, is_now and path in edited.locked
    return _Choice(column, is_now, of.get(column), *own)


def _show_threshold(editing: Editing, choice: _Choice) -> None:
    """Draw the rows along a number column or a sum, with a threshold to be dragged."""
    tree, node, feature = choice.tree, choice.node, choice.feature
    if feature is None:
        X = editing.loaded.split.X_train
        x, title = np.asarray(split_terms(tree, node, X).sums), "weighted sum"
        fitted = None
    else:
        rows = bench(editing.loaded)
        x = rows.train.numbers(feature)[choice.at]
        fitted = rows.fitted.numbers(feature)[rows.fitted.at(tree, node)]
        title = named_with_unit(feature.column, feature.unit)
    if choice.is_current:
        wanted = float(tree.threshold[node])
    else:
        wanted = None if choice.candidate is None else choice.candidate.threshold
    threshold = wanted
    if len(threshold_stops(x, fitted, wanted)) > 1:
        threshold = _enter(editing, choice, x, fitted, wanted)
    stops = threshold_stops(x, fitted, threshold)
    side, missing = choice.missing_left, ""
    if n_missing := int(np.isnan(x).sum()):
        missing = f" {n_missing:,} without a value go {'left' if side else 'right'}."

    def move(stop: float) -> None:
        """Take the stop at which the line was let go."""
        if stop in stops and choice.is_current:
            do(editing.loaded, SetThreshold(editing.path, stop))
        elif stop in stops:
            st.session_state[_threshold_key(editing, choice)] = stop

    threshold_line(
        threshold_rows(x, _groups(editing, choice.at), stops, threshold),
        editing.key("line"),
        title=title,
        missing=missing,
        fades=editing.now.tree.classes is None,
        fixed=len(stops) < 2 or choice.is_held,
        on_move=move,
    )
    if not choice.is_current and threshold is not None:
        _offer(editing, SetSplit(editing.path, choice.column, threshold, None, side))


def _enter(
    editing: Editing,
    choice: _Choice,
    x: np.ndarray,
    fitted: np.ndarray | None,
    wanted: float | None,
) -> float | None:
    """Let the visitor write the threshold; the split's own follows at once."""
    key = _threshold_key(editing, choice)
    if choice.is_current or st.session_state.get(key) is None:
        text = ""
        if wanted is not None and fitted is not None:
            # As the line and the tree write it, which sends each row the same way.
            text = threshold_stops(x, fitted, wanted).get(wanted, "")
        key = _shown(editing, choice, parse(text) if text else wanted)
    now = st.session_state[key]
    written = threshold_stops(x, fitted, now).get(now, "")
    decimals = len(written.partition(".")[2])
    return st.number_input(
        "Threshold",
        value=None,
        # About a hundredth of what the column spans.
        step=10.0 ** round(np.log10(float(np.ptp(x[np.isfinite(x)])) / 100)),
        format="%.6g" if "e" in written else f"%.{decimals}f",
        key=key,
        disabled=choice.is_held,
        on_change=_move if choice.is_current else None,
        args=(editing, key, now),
        help="Or drag the line.",
    )


def _shown(editing: Editing, choice: _Choice, threshold: float | None) -> str:
    """Put a threshold into its field; return the field's key.

    Where the threshold was changed by other means than its field, as by the line or
    by *Undo*, it gets a new field: the browser may report the old one's value late.
    """
    name = f"{editing.key('at')}-{editing.path}-{choice.column}"
    number, drawn = st.session_state.get(name, (0, None))
    held = st.session_state.get(f"{name}-{number}")
    if held is not None and held == drawn != threshold:
        number += 1
    st.session_state[name] = number, threshold
    st.session_state[f"{name}-{number}"] = threshold
    return f"{name}-{number}"


def _move(editing: Editing, key: str, drawn: float | None) -> None:
    """Move the split's threshold to the one that was written.

    An interrupted page's field is reported as changed once more, though nobody wrote
    in it, or its edit is done, or undone, already.
    """
    now, then = edit_session(editing.loaded.run.id), editing.session
    is_late = (now.edits, now.position) != (then.edits, then.position)
    threshold = st.session_state[key]
    if threshold not in (None, drawn) and not is_late:
        do(editing.loaded, SetThreshold(editing.path, threshold))


def _threshold_key(editing: Editing, choice: _Choice) -> str:
    """Return the key of the threshold's field of one column at one node, as it is."""
    name = f"{editing.key('at')}-{editing.path}-{choice.column}"
    return f"{name}-{st.session_state.get(name, (0, None))[0]}"


def _show_categories(editing: Editing, choice: _Choice, feature: Feature) -> None:
    """Draw the rows by category, and let the visitor say which go left."""
    codes = bench(editing.loaded).train.codes(feature)[choice.at]
    present = [feature.categories[code] for code in np.unique(codes[codes >= 0])]
    if choice.is_current:
        wanted: Sequence[str] = left_categories(choice.tree, choice.node)
    else:
        wanted = (choice.candidate.categories or ()) if choice.candidate else ()
    default = [name for name in present if name in wanted]
    position = editing.session.position if choice.is_current else 0
    left = st.multiselect(
        "Go left",
        present,
        default=default,
        key=f"{editing.key('left')}-{editing.path}-{choice.column}-{position}",
    )
    is_left = np.isin(codes, [feature.categories.index(name) for name in left])
    show_figure(
        category_figure(
            codes,
            feature.categories,
            left,
            _groups(editing, choice.at),
            title=feature.column,
            mode=mode(),
        ),
        key="edit-rows",
        alt=f"Training rows of the node by {feature.column}; pale ones go right.",
    )
    st.caption(
        f"{counted(int(is_left.sum()), 'row')} go left; the pale bars, "
        f"{int((~is_left).sum()):,} rows, right."
    )
    is_split = 0 < len(left) < len(present)
    if is_split and (left != default or not choice.is_current):
        side, names = choice.missing_left, tuple(left)
        _offer(editing, SetSplit(editing.path, choice.column, None, names, side))


def _offer(editing: Editing, edit: SetSplit) -> None:
    """Offer to give the node the split that is looked at."""
    st.button(
        "Set this split",
        type="primary",
        icon=":material/call_split:",
        key=editing.key("set-split"),
        help=plain(edit.sentence()),
        on_click=do,
        args=(editing.loaded, edit),
    )


def _groups(editing: Editing, at: np.ndarray) -> Groups:
    """Colour the rows of the node by class, where there are any."""
    classes = editing.now.tree.classes
    if classes is None:
        return one_group(len(at))
    codes = bench(editing.loaded).train.y[at]
    return [
        (str(label), codes == classes.index(label), color)
        for label, color in run_colors(editing.loaded).items()
    ]
