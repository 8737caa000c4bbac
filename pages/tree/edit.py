"""A run's tree changed by hand: the selected node, its split, the log, a new run."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from math import isnan

import numpy as np
import streamlit as st

from pages.cached.predictions import score_differences
from pages.cached.runs import LoadedRun, load_readable, run_colors, shared
from pages.cached.store import queue, store
from pages.cached.tree_pictures import tree_picture
from pages.state import choices
from pages.widgets.page import (
    ASSETS,
    mode,
    page_link,
    pick_moment,
    pick_one,
    pick_time,
    show_figure,
)
from pages.widgets.tree_viewer import HEIGHT, PANEL, tree_viewer
from pages.widgets.watcher import follow_runs
from pages.widgets.words import capital, explained, plain, split_words
from treelab.data.split import JOINED, SPLIT_NAMES
from treelab.editing import edits as kinds
from treelab.editing.apply import Bench, apply_edit
from treelab.editing.candidates import Candidate, by_column, gain_of
from treelab.editing.edited import Edited
from treelab.editing.log import TRAINERS, EditLog, Session, Training, tree_hash
from treelab.editing.paths import node_of, path_of_key, paths, place_words
from treelab.editing.regrow import class_weights, refit, refit_all
from treelab.evaluation.metrics import TITLES, headline_score
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.evaluation.split import split_terms
from treelab.figures import editing as figures
from treelab.figures.viewer.payload import node_at
from treelab.runs.jobs.edited import bench_of, create_trained, save_edited
from treelab.runs.run_words import run_name, score
from treelab.runs.store.run import Run
from treelab.trees.constraints import violations, with_order
from treelab.trees.dates import coarsest_unit, last_before, moment_after, read_hours
from treelab.trees.feature import Feature
from treelab.trees.pruning import prune_empty
from treelab.trees.text import left_categories, node_title
from treelab.trees.tree import OBLIQUE, Tree, goes_left
from treelab.trees.words import counted, percent, shortest, signed, significant


@dataclass(frozen=True, eq=False)
class EditedTree:
    """A tree after some edits."""

    edited: Edited
    tree: Tree  # its leaves fitted to the rows that the first tree was fitted to
    fitted_to_train: Tree  # the same with all leaves fitted to training rows alone


@shared(8, "Reading the rows…")
def bench(loaded: LoadedRun) -> Bench:
    """Return the run's tree and the rows by which it is edited."""
    return bench_of(loaded.model, loaded.split, loaded.run.constraints)


@shared(256)
def after(loaded: LoadedRun, edits: tuple[kinds.Edit, ...]) -> EditedTree:
    """Return the run's tree after edits in turn; a ValueError says why it cannot be."""
    table = bench(loaded)
    edited = Edited.of(table.tree, table.constraints)
    if edits:
        edited = apply_edit(after(loaded, edits[:-1]).edited, edits[-1], table.train)
    weights = class_weights(table.tree)
    refitted = refit_all(edited.tree, table.train, weights, table.constraints)
    of_train = with_order(refitted, table.constraints)
    return EditedTree(edited, refit(edited, table.fitted), of_train)


@shared(128, "Resampling the rows…")
def difference_after(
    loaded: LoadedRun, edits: tuple[kinds.Edit, ...], split: str
) -> ScoreDifference:
    """Return how the headline score on a data split moved from the unedited tree's.

    By the leaves, with no predictor on top. Of a single row there is no interval.
    """
    both = [after(loaded, own) for own in ((), edits)]
    trees = [own.fitted_to_train if split == "valid" else own.tree for own in both]
    task, (X, y, weight) = loaded.run.problem.task, loaded.split.rows(split)
    loss, metric = loaded.model.loss, loaded.headline
    predicted = [tree.predict(X) for tree in trees]
    if len(y) < 2:
        own = [headline_score(task, y, each, weight, loss) for each in predicted]
        return ScoreDifference(metric, *own, -math.inf, math.inf, len(y))
    return paired_bootstrap(task, y.to_numpy(), *predicted, weight, loss=loss)[metric]


@shared(128)
def candidates_at(
    loaded: LoadedRun, edits: tuple[kinds.Edit, ...], path: str
) -> list[Candidate]:
    """Return the best split of each column that is allowed at a node."""
    return after(loaded, edits).edited.candidates(path, bench(loaded).train)


@dataclass(frozen=True)
class Editing:
    """What the parts of the page read."""

    loaded: LoadedRun
    session: Session
    now: EditedTree
    before: EditedTree  # the run's own
    path: str  # of the selected node

    def key(self, name: str) -> str:
        """Return a key of a control that belongs to the run."""
        return f"edit-{name}-{self.loaded.run.id}"


MORE = 130  # pixels, for the controls beside the picture


def show_editing(loaded: LoadedRun, view: str) -> None:
    """Draw the edited tree in the viewer ``view``, the node's menu, and the log."""
    run_id, before = loaded.run.id, after(loaded, ())
    try:
        now = after(loaded, choices.edit_session(run_id).current)
    except ValueError as error:
        change_session(loaded, start_over)
        st.warning(plain(f"The edits no longer fit this tree: {error}"))
        now = before
    left, right = st.columns([5, 3], gap="medium")
    with left:
        selection = tree_viewer(
            tree_picture(loaded, now.tree, f"edited {tree_hash(now.tree)}").payload,
            view,
            select=choices.selected_node(run_id) or "",
            height=HEIGHT + MORE,
        )
    key = selection.key or ""
    key = "" if node_at(now.tree, key) is None else key
    choices.select_node(run_id, key)
    editing = Editing(
        loaded, choices.edit_session(run_id), now, before, path_of_key(key)
    )
    with right.container(height=PANEL + MORE, border=False, key="beside"):
        if (reason := st.session_state.pop("edit-refused", None)) is not None:
            st.warning(plain(reason), icon=":material/block:")
        show_scores(editing)
        show_node_title(editing)
        column = show_split(editing)
        show_branch(editing)
        if column is not None:
            show_column(editing, column)
        show_rules(editing)
    edits, runs = st.columns(2, gap="medium")
    with edits:
        show_log(editing)
    with runs:
        show_finish(editing)


def do(loaded: LoadedRun, edit: kinds.Edit) -> None:
    """Do one edit, or remember why it cannot be done."""
    session = choices.edit_session(loaded.run.id).do(edit)
    try:
        after(loaded, session.current)
    except ValueError as error:
        st.session_state["edit-refused"] = str(error)
        return
    choices.set_edit_session(loaded.run.id, session)


def change_session(loaded: LoadedRun, change: Callable[[Session], Session]) -> None:
    """Undo, redo or end what was done, as the session does it."""
    choices.set_edit_session(loaded.run.id, change(choices.edit_session(loaded.run.id)))


def show_node_title(editing: Editing) -> None:
    """Name the selected node: its split or prediction, its rows, what holds there."""
    tree, path = editing.now.tree, editing.path
    node = node_of(tree, path)
    st.markdown(f"**{plain(node_title(tree, node))}**")
    train = bench(editing.loaded).train
    at = train.at(tree, node)
    said = [f"Node {path}" if path else "The root", counted(len(at), "training row")]
    if path in editing.now.edited.locked:
        said.append("locked")
    if not tree.is_leaf[node]:
        left = goes_left(tree, train.matrix(tree), np.full(len(at), node), at)
        said.append(f"gain {significant(gain_of(train, at, left))}")
    st.caption(plain(" · ".join(said)))


_mount = st.components.v2.component(
    "treelab_threshold_line",
    js=(ASSETS / "threshold-line.js").read_text("utf-8"),
    css=(ASSETS / "threshold-line.css").read_text("utf-8"),
)


SUM = "its weighted sum"  # what an oblique split tests


@dataclass(frozen=True)
class _Choice:
    """What the visitor looks at: a column of the node, and a split by it."""

    column: str
    is_current: bool
    split: Candidate  # the node's own, or the best of the column
    node: int
    feature: Feature | None  # None of a weighted sum
    at: np.ndarray  # training rows at the node
    is_held: bool  # whether it is the split of a locked node

    def missing_words(self, n_rows: int) -> str:
        """Say which way rows without a value go; "" of none."""
        side = "left" if self.split.missing_left else "right"
        return f" {n_rows:,} without a value go {side}." if n_rows else ""


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
    feature = by_column(edited.features).get(column)
    at, is_now = bench(editing.loaded).train.at(tree, node), column == now
    split = of.get(column)
    if is_now:
        is_category = feature is not None and feature.kind == "category"
        left = left_categories(tree, node) if is_category else None
        threshold, missing = tree.threshold[node], bool(tree.missing_left[node])
        split = Candidate(column, float(threshold), left, missing, 0.0, 0)
    is_held = is_now and path in edited.locked
    return _Choice(column, is_now, split, node, feature, at, is_held)


def _show_threshold(editing: Editing, choice: _Choice) -> None:
    """Draw the rows along a number column or a sum, with a threshold to be dragged."""
    tree, node, feature = editing.now.edited.tree, choice.node, choice.feature
    kind, unit = "number", "s"  # of dates: those that can be chosen, days or minutes
    if feature is None:
        X = editing.loaded.split.X_train
        x, title = np.asarray(split_terms(tree, node, X).sums), "weighted sum"
        fitted = None
    else:
        rows = bench(editing.loaded)
        x = rows.train.numbers(feature)[choice.at]
        fitted = rows.fitted.numbers(feature)[rows.fitted.at(tree, node)]
        title = feature.title
        if feature.is_clock:
            kind = "clock"
        elif feature.is_date:
            kind = "date"
            unit = coarsest_unit(fitted[~np.isnan(fitted)])
    threshold, values = choice.split.threshold, (x, fitted)
    if len(figures.threshold_stops(*values, threshold)) > 1:
        threshold = _enter(editing, choice, values, kind, unit)
    stops = figures.threshold_stops(*values, threshold, kind=kind)
    key, n_moves = editing.key("line"), f"{editing.key('line')}-moves"

    def move() -> None:
        """Take the stop at which the line was let go, before the page runs again."""
        # Also a refused move changes the data: the line goes back.
        st.session_state[n_moves] = st.session_state.get(n_moves, 0) + 1
        stop = st.session_state[key].threshold
        if stop not in stops:
            return
        own = float(stop) if unit == "s" else moment_after(stop, unit)
        if choice.is_current:
            at = own if isinstance(own, float) else last_before(own)
            what = kind == "date", kind == "clock"
            do(editing.loaded, kinds.SetThreshold(editing.path, at, *what))
        else:
            text = stops[stop] if kind == "clock" else own
            st.session_state[_threshold_key(editing, choice)] = text

    # Under one key the component stays as it is while data change.
    drawn = x, _groups(editing, choice.at), stops, threshold
    data = figures.threshold_rows(*drawn, kind=kind) | {
        "title": title,
        "alt": f"Training rows of the node by {title}, with the threshold.",
        "missing": choice.missing_words(int(np.isnan(x).sum())),
        "fades": editing.now.tree.classes is None,  # bars that go right are pale
        "fixed": len(stops) < 2 or choice.is_held,
        "moves": st.session_state.get(n_moves, 0),
    }
    _mount(key=key, data=json.dumps(data).encode(), on_threshold_change=move)
    if not choice.is_current and threshold is not None:
        _offer_split(editing, replace(choice.split, threshold=threshold))


def _enter(
    editing: Editing, choice: _Choice, values: tuple, kind: str, unit: str
) -> float | None:
    """Let the visitor write the threshold; the split's own follows at once.

    Of days or minutes it is the first that goes right. Values are those of the training
    rows at the node, and of the fitted ones.
    """
    key, wanted = _threshold_key(editing, choice), choice.split.threshold
    own = wanted if unit == "s" else moment_after(wanted, unit)
    if kind == "clock":
        own = figures.threshold_stops(*values, wanted, kind=kind).get(wanted, "")
    if choice.is_current or st.session_state.get(key) is None:
        key = _shown(editing, choice, own)
    now = st.session_state[key]
    change = _move if choice.is_current else None
    given = {"key": key, "on_change": change, "args": (editing, key, now)}
    given["disabled"] = choice.is_held
    if unit != "s":
        words = "Rows before this go left. Or drag the line."
        moment = pick_moment("Before", unit=unit, help=words, **given)
        if choice.is_current and moment == own:
            return wanted
        return None if moment is None else last_before(moment)
    if kind == "clock":
        words = "Or drag the line."
        hours = pick_time("Threshold", example=wanted, help=words, **given)
        if choice.is_current or hours is None:
            return wanted if choice.is_current else None
        is_own = isnan(hours) or st.session_state[key] == own
        return wanted if is_own else hours
    # Not rounded as the line and the tree write it: what is set is what is seen here.
    texts = [figures.threshold_stops(*values, now).get(now, "")]
    texts += [] if now is None else [shortest(now)]
    decimals = max(len(text.partition(".")[2]) for text in texts)
    span = float(np.ptp(values[0][np.isfinite(values[0])]))
    return st.number_input(
        "Threshold",
        value=None,
        step=10.0 ** round(np.log10(span / 100)),
        format="%.6g" if "e" in "".join(texts) else f"%.{decimals}f",
        help="Or drag the line.",
        **given,
    )


def _shown(
    editing: Editing, choice: _Choice, threshold: float | date | str | None
) -> str:
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


def _move(editing: Editing, key: str, drawn: float | date | str | None) -> None:
    """Move the split's threshold to the one that was written.

    An interrupted page's field is reported as changed once more, though nobody wrote
    in it, or its edit is done, or undone, already.
    """
    now, then = choices.edit_session(editing.loaded.run.id), editing.session
    is_late = (now.edits, now.position) != (then.edits, then.position)
    threshold = st.session_state[key]
    if threshold in (None, "", drawn) or is_late:
        return
    is_date, is_time = isinstance(threshold, date), isinstance(threshold, str)
    if is_date:
        threshold = last_before(threshold)
    elif is_time and isnan(threshold := read_hours(text := threshold)):
        words = f"“{text}” is no time. Write it as {drawn}."
        st.session_state["edit-refused"] = words
        return
    do(editing.loaded, kinds.SetThreshold(editing.path, threshold, is_date, is_time))


def _threshold_key(editing: Editing, choice: _Choice) -> str:
    """Return the key of the threshold's field of one column at one node, as it is."""
    name = f"{editing.key('at')}-{editing.path}-{choice.column}"
    return f"{name}-{st.session_state.get(name, (0, None))[0]}"


def _show_categories(editing: Editing, choice: _Choice, feature: Feature) -> None:
    """Draw the rows by category, and let the visitor say which go left."""
    codes = bench(editing.loaded).train.codes(feature)[choice.at]
    present = [feature.categories[code] for code in np.unique(codes[codes >= 0])]
    default = [name for name in present if name in (choice.split.categories or ())]
    position = editing.session.position if choice.is_current else 0
    left = st.multiselect(
        "Go left",
        present,
        default=default,
        key=f"{editing.key('left')}-{editing.path}-{choice.column}-{position}",
    )
    is_left = np.isin(codes, [feature.categories.index(name) for name in left])
    n_missing = int((codes < 0).sum())
    drawn = codes, feature.categories, left, _groups(editing, choice.at)
    show_figure(
        figures.category_figure(*drawn, title=feature.column, mode=mode()),
        key="edit-rows",
        alt=f"Training rows of the node by {feature.column}; pale ones go right.",
    )
    st.caption(
        f"{counted(int(is_left.sum()), 'row')} go left; the pale bars, "
        f"{int((~is_left).sum()) - n_missing:,} rows, right."
        f"{choice.missing_words(n_missing)}"
    )
    is_split = 0 < len(left) < len(present)
    if is_split and (left != default or not choice.is_current):
        split = replace(choice.split, threshold=None, categories=tuple(left))
        _offer_split(editing, split)


def _offer_split(editing: Editing, split: Candidate) -> None:
    """Offer to give the node the split that is looked at."""
    edit = split.edit(editing.path)
    how = {"type": "primary", "help": plain(edit.sentence())}
    _button(editing, "set-split", "Set this split", "call_split", do, edit, **how)


def _button(editing: Editing, name, label, icon, change, *given, **how) -> None:
    """Show a button that changes the edits, or makes a run of them."""
    st.button(
        label,
        icon=f":material/{icon}:",
        key=editing.key(name),
        on_click=explained(change, editing.loaded, *given),
        **how,
    )


def _groups(editing: Editing, at: np.ndarray) -> figures.Groups:
    """Colour the rows of the node by class, where there are any."""
    classes = editing.now.tree.classes
    if classes is None:
        return figures.one_group(len(at))
    codes = bench(editing.loaded).train.y[at]
    return [
        (str(label), codes == classes.index(label), color)
        for label, color in run_colors(editing.loaded).items()
    ]


Offer = tuple[str, str, kinds.Edit, str | None]  # label, icon, edit, help


def show_branch(editing: Editing) -> None:
    """Offer to lock the node, or all below it, and to prune it."""
    edited, path = editing.now.edited, editing.path
    held = "Held fixed, whatever is edited or trained after it."
    leaf = "Makes a leaf of this split."
    offers = [("Lock", "lock", kinds.Lock(path), held)]
    if path in edited.locked:
        offers = [("Unlock", "lock_open", kinds.Unlock(path), None)]
    if not edited.tree.is_leaf[node_of(edited.tree, path)]:
        offers.append(("Lock all below", "lock", kinds.Lock(path, True), None))
        offers.append(("Prune below", "content_cut", kinds.Prune(path), leaf))
    _offer(editing, "branch", offers)


def show_column(editing: Editing, column: str) -> None:
    """Offer to forbid or to prefer a column, here and below or everywhere."""
    edited, path = editing.now.edited, editing.path
    said = [
        top
        for top, other in (*edited.forbidden, *edited.preferred)
        if other == column and path.startswith(top)
    ]
    st.markdown(f"**{plain(column)}** in this tree:")
    best = "Splits test it where it gains at least half of what the best column does."
    other = "Splits that test it take their best other column."
    offers: list[Offer] = []
    for kind, word, icon, words in (
        (kinds.Forbid, "Forbid", "block", other),
        (kinds.Prefer, "Prefer", "thumb_up", best),
    ):
        if path:
            offers.append((f"{word} here and below", icon, kind(path, column), None))
        offers.append((f"{word} everywhere", icon, kind("", column), words))
    if said:
        offers.append(("Allow again", "undo", kinds.Allow(said[-1], column), None))
    _offer(editing, "column", offers)


def show_rules(editing: Editing) -> None:
    """Say what holds in the whole tree: locks, forbidden and preferred columns."""
    edited = editing.now.edited
    words = []
    if edited.locked:
        places = sorted(edited.locked, key=lambda path: (len(path), path))
        names = ", ".join(place_words(path) for path in places[:8])
        more = f" and {len(places) - 8} more" if len(places) > 8 else ""
        words.append(f"Locked: {names}{more}.")
    both = ("Forbidden", edited.forbidden), ("Preferred", edited.preferred)
    for name, said in both:
        places = [f"at {path} and below" if path else "everywhere" for path, _ in said]
        each = [f"{column} {place}" for (_, column), place in zip(said, places)]
        words += [f"{name}: {', '.join(each)}."] if each else []
    if words:
        st.caption(plain(" ".join(words)))
    if broken := violations(editing.now.tree, editing.loaded.run.constraints):
        text = f"Constraint dropped. {' '.join(broken[:3])}"
        st.warning(plain(text), icon=":material/warning:")


def _offer(editing: Editing, name: str, offers: list[Offer]) -> None:
    """Show a button for each edit."""
    with st.container(horizontal=True, key=editing.key(name)):
        for label, icon, edit, words in offers:
            key = label.lower().replace(" ", "-")
            _button(editing, key, label, icon, do, edit, help=words)


def show_scores(editing: Editing) -> None:
    """Show the scores of both trees, undo and redo, and the end of the session."""
    loaded, session = editing.loaded, editing.session
    both = editing.now, editing.before
    splits = ["valid", *(["test"] if session.seen_test is not None else [])]
    found = {own: difference_after(loaded, session.current, own) for own in splits}
    with st.container(horizontal=True, key="edit-scores"):
        _show_score(loaded, "valid", found["valid"], _explained(editing))
        # The leaves that rows reach, as every page counts them once the tree is a run.
        leaves, own = (prune_empty(each.tree).n_leaves for each in both)
        change = f" ({leaves - own:+d})" if leaves != own else ""
        st.metric("Leaves", f"{leaves:,}{change}", width="content")
        if "test" in found:
            _show_score(loaded, "test", found["test"])
    for split, difference in found.items():
        if difference.estimate and difference.n_rows > 1:
            st.caption(plain(_difference_words(difference, split)))
    buttons = [
        ("undo", "Undo", "undo", Session.undo, session.can_undo),
        ("redo", "Redo", "redo", Session.redo, session.can_redo),
    ]
    if session.seen_test is None:
        buttons.append(("end", "End the session", "flag", Session.end, True))
    with st.container(horizontal=True):
        for *named, change, is_open in buttons:
            _button(editing, *named, change_session, change, disabled=not is_open)
    if session.seen_test is None:
        st.caption("Test scores stay unseen until the session ends.")
    else:
        st.caption(
            f"The session was ended after {counted(session.seen_test, 'edit')}: later "
            "edits know the test scores, and the log says so."
        )


def _show_score(
    loaded: LoadedRun, split: str, found: ScoreDifference, words: str | None = None
) -> None:
    """Show a score, and how far it moved from the unedited tree's, where it did."""
    moved, metric = found.estimate, TITLES[loaded.headline]
    # With a hyphen, by which Streamlit knows a fall.
    change = f"{moved:+.4f}" if moved and math.isfinite(moved) else None
    title = f"{metric} · {split_words(loaded, split)}"
    color = "normal" if found.clear else "off"  # green and red are verdicts
    how = {"delta_color": color, "width": "content", "help": words}
    st.metric(title, significant(found.second), change, **how)


def _difference_words(found: ScoreDifference, split: str) -> str:
    """Say whether an edited tree is better, or whether that may be chance."""
    names = "the unedited tree", "the edited tree"
    verdict = found.finding(names)
    row = f"{SPLIT_NAMES[split]} row"
    words = f"{capital(verdict)}. {capital(found.interval_words(names, row))}"
    if split == "valid":
        words += " Edits that this score chose look better than they are."
    return words


def _explained(editing: Editing) -> str:
    """Say which rows the scores are of, and what they are worth."""
    words = (
        "Against the unedited tree. For the validation score the leaves of both trees "
        "are fitted to the training rows alone."
    )
    if editing.loaded.fitted_split == JOINED:
        words += (
            " The unedited tree's splits were chosen with validation rows among "
            "others, so its score is a little too high."
        )
    if editing.loaded.model.has_predictor:
        words += " The predictor on top of the tree is left out: its leaves predict."
    if editing.before.tree.leaf_weights is not None:
        words += " Linear leaves count as constants; those not touched stay linear."
    return words


def start_over(session: Session) -> Session:
    """Forget all edits, not that test scores were seen."""
    return Session(seen_test=None if session.seen_test is None else 0)


def log_of(loaded: LoadedRun, session: Session, training: Training | None) -> EditLog:
    """Return the edits that are in force as a log, with what is to be trained."""
    seen = session.position if session.seen_test is None else session.seen_test
    log = replace(bench(loaded).start(), edits=session.current, training=training)
    return replace(log, seen_test=seen, run=loaded.run.id)


def show_log(editing: Editing) -> None:
    """List the edits, and offer them as a file."""
    session, loaded = editing.session, editing.loaded
    st.subheader("Edits", anchor=False)
    if not session.edits:
        st.caption(
            "None yet. Click a node in the tree, then change its split, lock it, prune "
            "it, or forbid a column."
        )
        return
    lines = [plain(edit.sentence()) for edit in session.edits]
    for place in range(session.position, len(lines)):
        lines[place] = f":gray[{lines[place]} Undone.]"
    _list(lines)
    with st.container(horizontal=True, key=editing.key("log")):
        st.download_button(
            "Download as JSON",
            lambda: log_of(loaded, session, None).to_json(),
            f"{loaded.run.id}-edits.json",
            "application/json",
            key=editing.key("log-file"),
            on_click="ignore",
            icon=":material/download:",
            help="python -m treelab edit RUN --log FILE replays it.",
        )
        label, icon = "Start over", "restart_alt"
        _button(editing, "start-over", label, icon, change_session, start_over)


def show_edits(loaded: LoadedRun) -> None:
    """List the edits that a run's tree came from, if any."""
    written = store().plan(loaded.run.id, "edits")
    if written is None:
        return
    log = EditLog.from_json(written)
    steps = [*log.edits, *([] if log.training is None else [log.training])]
    with st.expander(f"Edited by hand: {counted(len(log.edits), 'edit')}"):
        _list([plain(step.sentence()) for step in steps])


def _list(lines: list[str]) -> None:
    """Number sentences on edits, and say how nodes are named in them."""
    st.markdown("\n".join(f"{n}. {line}" for n, line in enumerate(lines, start=1)))
    st.caption("A node's name is the way to it from the root: L is yes, R is no.")


_MOST_LISTED = 8


def show_finish(editing: Editing) -> None:
    """Offer to save the edited tree as a run, and to train it on."""
    st.subheader("Save or retrain", anchor=False)
    st.caption(
        "Each makes a new run with the log in it. A run shows its test score, so this "
        "ends the session."
    )
    words = "The tree as it stands, its leaves fitted to the rows of the first."
    how = {"disabled": not editing.session.current, "help": words}
    _button(editing, "keep", "Save as a run", "save", _make, None, **how)
    with st.container(
        horizontal=True, vertical_alignment="bottom", key=editing.key("finish")
    ):
        _offer_training(editing)
    if (refused := st.session_state.pop("edit-not-made", None)) is not None:
        st.warning(plain(refused), icon=":material/block:")
    run = editing.loaded.run
    if children_of(run):
        st.subheader("Runs from this tree", anchor=False)
        follow_runs("children", lambda: children_of(run), lambda: _list_children(run))


def _offer_training(editing: Editing) -> None:
    """Offer to train around what is locked, and to regrow below the selected node."""
    has_sums = bool((editing.now.edited.tree.feature == OBLIQUE).any())
    learners = {key: TRAINERS[key] for key in TRAINERS if key != "get" or has_sums}
    learner = pick_one(
        "Learner",
        learners,
        f"{editing.key('learner')}-{has_sums}",
        default="get" if has_sums else "gradtree",
        help="GradTree trains splits of one column, GET weighted sums; CART grows a "
        "branch greedily, for comparison.",
    )
    can_retrain = learner != "cart"
    _button(
        editing,
        *("around", "Retrain unlocked splits", "play_arrow"),
        _make,
        Training(learner) if can_retrain else None,
        type="primary",
        disabled=not can_retrain,
        help="Trains each of them from where it stands; forbidden "
        "columns are never chosen. CART cannot: it only grows branches.",
    )
    tree, path = editing.now.edited.tree, editing.path
    below = [own for own, leaf in zip(paths(tree), tree.is_leaf) if leaf]
    n_leaves = sum(own.startswith(path) for own in below)
    most, key = min(64, max(4, n_leaves)), f"{editing.key('leaves')}-{path}"
    leaves = st.number_input("Max leaves", 2, 64, most, key=key, width=130)
    _button(
        editing,
        *("regrow", "Regrow from here", "forest"),
        _make,
        Training(learner, path, int(leaves)),
        help="What is not locked at the selected node and below is grown anew; the "
        "rest of the tree stays.",
    )


def _make(loaded: LoadedRun, training: Training | None) -> None:
    """Make a run of the edits, which ends the session; say so where it cannot be."""
    log = log_of(loaded, choices.edit_session(loaded.run.id), training)
    try:
        if training is None:
            save_edited(store(), loaded.run, log)
        else:
            queue().submit(create_trained(store(), loaded.run, log))
    except (ValueError, LookupError) as error:
        st.session_state["edit-not-made"] = str(error)
        return
    change_session(loaded, Session.end)


def children_of(run: Run) -> list[Run]:
    """Return the runs that came of editing a run's tree, newest first."""

    def parent(other: Run) -> str:
        """Return the id of the run whose tree another one's was."""
        if other.has_model:
            return other.summary.get("edited_from", "")
        log = store().plan(other.id, "edits")
        return "" if log is None else EditLog.from_json(log).run

    return [other for other in store().runs() if parent(other) == run.id]


def _list_children(run: Run) -> None:
    """Write a line a run: what it is, and what it costs against the free tree."""
    children = children_of(run)
    for child in children[:_MOST_LISTED]:
        with st.container(horizontal=True, vertical_alignment="center"):
            words = f"**{plain(run_name(child))}** · {_cost(child, run)}"
            st.markdown(words, width="stretch")
            if child.has_model:
                page_link("tree", "See the tree", run=child.id)
                page_link("compare", "Compare", run=child.id, against=run.id)
    if len(children) > _MOST_LISTED:
        st.caption(f"{len(children) - _MOST_LISTED} older ones are on Runs.")


def _cost(child: Run, free: Run) -> str:
    """Write a run's test score, and what the edits cost or gained."""
    own, other = score(child), score(free)
    if own is None or other is None:
        return f"{child.state}. {plain(child.error)}".strip()
    metric = TITLES[child.headline]
    rows = counted(int(child.metrics["test"]["n_rows"]), "test row")
    return (
        f"{counted(child.summary['leaves'], 'leaf', 'leaves')}, {significant(own)} "
        f"{metric} on {rows} against {significant(other)}: {_moved(child, free)}"
    )


def _moved(child: Run, free: Run) -> str:
    """Say what edits cost or gained, and whether that may be chance."""
    both = load_readable([free, child])
    if len(both) < 2 or both[0].n_rows("test") < 2:
        return "not compared"
    found = score_differences(*both)[both[0].headline]
    if not found.estimate:
        return "no change"
    ends = f"{signed(found.low, 2)} to {signed(found.high, 2)}"
    verb = "gained" if found.winner else "cost"
    verdict = f"the edits {verb} {significant(abs(found.estimate))}"
    if found.winner is None:
        verdict = "no clear difference"
    return f"{verdict} ({ends}, {percent(found.level)} CI)"
