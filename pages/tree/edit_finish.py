"""What the edits cost in score, and keeping or training on."""

import math

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.store import queue, store
from pages.state.run import edit_session
from pages.tree.edit_log import Editing, end, log_of, redo, test_score, undo
from pages.widgets.page import page_link
from pages.widgets.store_trouble import explained
from pages.widgets.watcher import follow_runs
from pages.widgets.words import plain, run_name, score, split_words
from treelab.data.split import JOINED
from treelab.editing.log import TRAINERS, EditLog, Training
from treelab.editing.paths import paths
from treelab.evaluation.metrics import TITLES
from treelab.runs.jobs.edited import create_trained, save_edited
from treelab.runs.store.run import Run
from treelab.trees.pruning import prune_empty
from treelab.trees.tree import OBLIQUE
from treelab.trees.words import counted, significant

# What comes of the edits: a run as it is, or one that is trained on.


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
    end(loaded)


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


# The edited tree beside the unedited one: validation score, size, test score.


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
            now, before = (test_score(loaded, each.tree) for each in both)
            st.metric(
                f"{metric} · {split_words(loaded, 'test')}",
                significant(now),
                _difference(now, before),
                width="content",
            )
    with st.container(horizontal=True):
        _button(editing, "Undo", "undo", undo, not session.can_undo)
        _button(editing, "Redo", "redo", redo, not session.can_redo)
        if session.seen_test is None:
            _button(editing, "End the session", "flag", end)
    if session.seen_test is None:
        st.caption("Test scores stay unseen until the session ends.")
    else:
        st.caption(
            f"The session was ended after {counted(session.seen_test, 'edit')}: later "
            "edits know the test scores, and the log says so."
        )


def _button(editing: Editing, label: str, icon: str, act, disabled=False) -> None:
    """Offer to undo, to redo or to end the session."""
    st.button(
        label,
        icon=f":material/{icon}:",
        key=editing.key(label.split()[0].lower()),
        disabled=disabled,
        on_click=act,
        args=(editing.loaded,),
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
    if editing.loaded.has_predictor:
        words += " The predictor on top of the tree is left out: its leaves predict."
    return words
