"""The edited tree beside the unedited one: validation score, size, test score."""

import math

import streamlit as st

from pages.common.views.edit.doing import Editing, end, redo, undo
from pages.common.views.edit.trees import test_score
from pages.common.words import split_words
from treelab.data.split import JOINED
from treelab.evaluation.metrics import TITLES, headline
from treelab.trees.pruning import prune_empty
from treelab.trees.words import counted, significant


def show_scores(editing: Editing) -> None:
    """Show the scores of both trees, undo and redo, and the end of the session."""
    loaded, session = editing.loaded, editing.session
    metric = TITLES[headline(loaded.run.problem.task)]
    with st.container(horizontal=True, vertical_alignment="bottom", key="edit-scores"):
        st.metric(
            f"{metric} · {split_words(loaded, 'valid')}",
            significant(editing.now.valid),
            _difference(editing.now.valid, editing.before.valid),
            width="content",
        )
        leaves, own = (_leaves(tree) for tree in (editing.now, editing.before))
        change = f" ({leaves - own:+d})" if leaves != own else ""
        st.metric("Leaves", f"{leaves:,}{change}", width="content")
        if session.seen_test is not None:
            now, before = (
                test_score(loaded, tree.tree) for tree in (editing.now, editing.before)
            )
            st.metric(
                f"{metric} · {split_words(loaded, 'test')}",
                significant(now),
                _difference(now, before),
                width="content",
            )
        st.space("stretch")
        _buttons(editing)
    st.caption(_explained(editing))


def _buttons(editing: Editing) -> None:
    """Offer to undo, to redo and to end the session."""
    loaded, session = editing.loaded, editing.session
    st.button(
        "Undo",
        icon=":material/undo:",
        key=editing.key("undo"),
        disabled=not session.can_undo,
        on_click=undo,
        args=(loaded,),
    )
    st.button(
        "Redo",
        icon=":material/redo:",
        key=editing.key("redo"),
        disabled=not session.can_redo,
        on_click=redo,
        args=(loaded,),
    )
    if session.seen_test is None:
        st.button(
            "End the session",
            icon=":material/flag:",
            key=editing.key("end"),
            help="Shows the scores on the test rows. What is edited after that is "
            "noted in the log.",
            on_click=end,
            args=(loaded,),
        )


def _leaves(tree) -> int:
    """Count the leaves that rows reach, as every page does once the tree is a run."""
    return prune_empty(tree.tree).n_leaves


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
    seen = editing.session.seen_test
    if seen is None:
        return (
            f"{words} Test scores of edited trees stay unseen until the session ends."
        )
    return (
        f"{words} The session was ended after {counted(seen, 'edit')}: later edits "
        "know the test scores, and the log says so."
    )
