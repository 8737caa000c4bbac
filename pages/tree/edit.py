"""A run's tree changed by hand: the tree, the selected node, saved or trained on."""

import math

import numpy as np
import streamlit as st

from pages.cached.predictions import tree_score
from pages.cached.runs import LoadedRun
from pages.cached.store import queue, store
from pages.cached.tree_pictures import tree_picture
from pages.state.run import edit_session, select_node, selected_node, set_edit_session
from pages.tree.edit_log import (
    EditedTree,
    Editing,
    after,
    bench,
    change_session,
    do,
    log_of,
    show_log,
    show_refusal,
)
from pages.tree.edit_split import show_split
from pages.widgets.page import page_link
from pages.widgets.store_trouble import explained
from pages.widgets.tree_viewer import HEIGHT, PANEL, tree_viewer
from pages.widgets.watcher import follow_runs
from pages.widgets.words import plain, split_words
from treelab.data.split import JOINED
from treelab.editing.candidates import gain_of
from treelab.editing.edits import Allow, Edit, Forbid, Lock, Prefer, Prune, Unlock
from treelab.editing.log import TRAINERS, EditLog, Training, tree_hash
from treelab.editing.paths import node_of, path_of_key, paths, place_words
from treelab.editing.session import Session
from treelab.evaluation.metrics import TITLES
from treelab.figures.viewer.payload import node_at
from treelab.runs.jobs.edited import create_trained, save_edited
from treelab.runs.run_words import run_name, score
from treelab.runs.store.run import Run
from treelab.trees.constraints import violations
from treelab.trees.pruning import prune_empty
from treelab.trees.text import node_title
from treelab.trees.tree import OBLIQUE, goes_left
from treelab.trees.words import counted, significant

MORE = 130  # pixels, for the controls beside the picture


def show_editing(loaded: LoadedRun, view: str) -> None:
    """Draw the tree as it is edited, the selected node's menu, and the log.

    ``view`` names the viewer, which stays while it turns from the run's tree to this.
    """
    session = edit_session(loaded.run.id)
    now = current_tree(loaded, session)
    left, right = st.columns([5, 3], gap="medium")
    with left:
        path = draw(loaded, now, view)
    current = edit_session(loaded.run.id)
    editing = Editing(loaded, current, now, after(loaded, ()), path)
    with right.container(height=PANEL + MORE, border=False, key="beside"):
        show_refusal()
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


def current_tree(loaded: LoadedRun, session: Session) -> EditedTree:
    """Return the tree as it is edited; a session that no longer fits starts anew."""
    try:
        return after(loaded, session.current)
    except ValueError as error:
        set_edit_session(loaded.run.id, Session())
        st.warning(f"The edits no longer fit this tree: {error}")
        return after(loaded, ())


def draw(loaded: LoadedRun, now: EditedTree, view: str) -> str:
    """Draw the tree in the viewer; return the path of the selected node."""
    picture = tree_picture(loaded, now.tree, f"edited {tree_hash(now.tree)}")
    selection = tree_viewer(
        picture.payload,
        view,
        select=selected_node(loaded.run.id) or "",
        height=HEIGHT + MORE,
    )
    key = selection.key or ""
    if node_at(now.tree, key) is None:
        key = ""
    select_node(loaded.run.id, key)
    return path_of_key(key)


Offer = tuple[str, str, Edit, str | None]  # label, icon, edit, help


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


def show_branch(editing: Editing) -> None:
    """Offer to lock the node, or all below it, and to prune it."""
    edited, path = editing.now.edited, editing.path
    held = "Held fixed, whatever is edited or trained after it."
    leaf = "Makes a leaf of this split."
    offers = [("Lock", "lock", Lock(path), held)]
    if path in edited.locked:
        offers = [("Unlock", "lock_open", Unlock(path), None)]
    if not edited.tree.is_leaf[node_of(edited.tree, path)]:
        offers.append(("Lock all below", "lock", Lock(path, True), None))
        offers.append(("Prune below", "content_cut", Prune(path), leaf))
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
    offers: list[Offer] = []
    for kind, word, icon, words in (
        (
            Forbid,
            "Forbid",
            "block",
            "Splits that test it take their best other column.",
        ),
        (
            Prefer,
            "Prefer",
            "thumb_up",
            "Splits test it where it gains at least half of what the best column does.",
        ),
    ):
        if path:
            offers.append((f"{word} here and below", icon, kind(path, column), None))
        offers.append((f"{word} everywhere", icon, kind("", column), words))
    if said:
        offers.append(("Allow again", "undo", Allow(said[-1], column), None))
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
    both = {"Forbidden": edited.forbidden, "Preferred": edited.preferred}
    for name, said in both.items():
        each = [
            f"{column} {f'at {path} and below' if path else 'everywhere'}"
            for path, column in said
        ]
        words += [f"{name}: {', '.join(each)}."] if each else []
    if words:
        st.caption(plain(" ".join(words)))
    constraints = editing.loaded.run.constraints
    if constraints.limits_splits:
        broken = violations(editing.now.tree, constraints)
        if broken:
            text = f"Constraint dropped. {' '.join(broken[:3])}"
            st.warning(plain(text), icon=":material/warning:")


def _offer(editing: Editing, name: str, offers: list[Offer]) -> None:
    """Show a button for each edit."""
    with st.container(horizontal=True, key=editing.key(name)):
        for label, icon, edit, words in offers:
            st.button(
                label,
                icon=f":material/{icon}:",
                key=editing.key(label.lower().replace(" ", "-")),
                help=words,
                on_click=do,
                args=(editing.loaded, edit),
            )


_MOST_LISTED = 8


def show_finish(editing: Editing) -> None:
    """Offer to save the edited tree as a run, and to train it on."""
    st.subheader("Save or retrain", anchor=False)
    st.caption(
        "Each makes a new run with the log in it. A run shows its test score, so this "
        "ends the session."
    )
    st.button(
        "Save as a run",
        icon=":material/save:",
        key=editing.key("keep"),
        disabled=not editing.session.current,
        help="The tree as it stands, its leaves fitted to the rows of the first.",
        on_click=explained(_make),
        args=(editing.loaded, None),
    )
    with st.container(
        horizontal=True, vertical_alignment="bottom", key=editing.key("finish")
    ):
        _offer_training(editing)
    if (refused := st.session_state.pop("edit-not-made", None)) is not None:
        st.warning(refused, icon=":material/block:")
    run = editing.loaded.run
    if children_of(run):
        st.subheader("Runs from this tree", anchor=False)
        follow_runs("children", lambda: children_of(run), lambda: _list_children(run))


def _offer_training(editing: Editing) -> None:
    """Offer to train around what is locked, and to regrow below the selected node."""
    has_sums = bool((editing.now.edited.tree.feature == OBLIQUE).any())
    learners = [key for key in TRAINERS if key != "get" or has_sums]
    learner = st.segmented_control(
        "Learner",
        learners,
        default="get" if has_sums else "gradtree",
        required=True,
        format_func=TRAINERS.__getitem__,
        key=f"{editing.key('learner')}-{has_sums}",
        help="GradTree trains splits of one column, GET weighted sums; CART grows a "
        "branch greedily, for comparison.",
    )
    st.button(
        "Retrain unlocked splits",
        icon=":material/play_arrow:",
        type="primary",
        key=editing.key("around"),
        disabled=learner == "cart",
        help="Trains each of them from where it stands; forbidden "
        "columns are never chosen. CART cannot: it only grows branches.",
        on_click=explained(_make),
        args=(editing.loaded, Training(learner) if learner != "cart" else None),
    )
    tree, path = editing.now.edited.tree, editing.path
    below = [own for own, leaf in zip(paths(tree), tree.is_leaf) if leaf]
    n_leaves = sum(own.startswith(path) for own in below)
    leaves = st.number_input(
        "Most leaves",
        2,
        64,
        min(64, max(4, n_leaves)),
        key=f"{editing.key('leaves')}-{path}",
        width=130,
    )
    st.button(
        "Regrow from here",
        icon=":material/forest:",
        key=editing.key("regrow"),
        help="What is not locked at the selected node and below is grown anew; the "
        "rest of the tree stays.",
        on_click=explained(_make),
        args=(editing.loaded, Training(learner, path, int(leaves))),
    )


def _make(loaded: LoadedRun, training: Training | None) -> None:
    """Make a run of the edits, which ends the session; say so where it cannot be."""
    log = log_of(loaded, edit_session(loaded.run.id), training)
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
        if other.is_finished:
            return other.summary.get("edited_from", "")
        log = store().edits(other.id)
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
    moved = own - other
    verb = "cost" if moved < 0 else "gained"
    change = f"the edits {verb} {significant(abs(moved))}" if moved else "no change"
    return (
        f"{counted(child.summary['leaves'], 'leaf', 'leaves')}, {significant(own)} "
        f"{metric} on {rows} against {significant(other)}: {change}"
    )


def show_scores(editing: Editing) -> None:
    """Show the scores of both trees, undo and redo, and the end of the session."""
    loaded, session = editing.loaded, editing.session
    metric = TITLES[loaded.headline]
    with st.container(horizontal=True, key="edit-scores"):
        st.metric(
            f"{metric} · {split_words(loaded, 'valid')}",
            significant(editing.now.valid),
            _difference(editing.now.valid, editing.before.valid),
            width="content",
            help=_explained(editing),
        )
        # The leaves that rows reach, as every page counts them once the tree is a run.
        both = editing.now, editing.before
        leaves, own = (prune_empty(each.tree).n_leaves for each in both)
        change = f" ({leaves - own:+d})" if leaves != own else ""
        st.metric("Leaves", f"{leaves:,}{change}", width="content")
        if session.seen_test is not None:
            now, before = (tree_score(loaded, each.tree) for each in both)
            st.metric(
                f"{metric} · {split_words(loaded, 'test')}",
                significant(now),
                _difference(now, before),
                width="content",
            )
    with st.container(horizontal=True):
        _button(editing, "Undo", "undo", Session.undo, not session.can_undo)
        _button(editing, "Redo", "redo", Session.redo, not session.can_redo)
        if session.seen_test is None:
            _button(editing, "End the session", "flag", Session.end)
    if session.seen_test is None:
        st.caption("Test scores stay unseen until the session ends.")
    else:
        st.caption(
            f"The session was ended after {counted(session.seen_test, 'edit')}: later "
            "edits know the test scores, and the log says so."
        )


def _button(editing: Editing, label: str, icon: str, change, disabled=False) -> None:
    """Offer to undo, to redo or to end the session."""
    st.button(
        label,
        icon=f":material/{icon}:",
        key=editing.key(label.split()[0].lower()),
        disabled=disabled,
        on_click=change_session,
        args=(editing.loaded, change),
    )


def _difference(now: float, before: float) -> str | None:
    """Write how far a score moved from the unedited tree's; None where it did not."""
    moved = now - before
    if not math.isfinite(moved) or moved == 0:
        return None
    return f"{moved:+.4f}"  # with a hyphen, by which Streamlit knows a fall


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
