"""Edit: change a run's tree by hand, see what it costs, save it or train it on."""

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.tree_pictures import tree_picture
from pages.edit.finish import show_finish, show_scores
from pages.edit.log import (
    EditedTree,
    Editing,
    after,
    is_single_tree,
    show_log,
    show_refusal,
)
from pages.edit.node import (
    show_branch,
    show_column,
    show_node_title,
    show_rules,
)
from pages.edit.split import show_split
from pages.state.run import edit_session, select_node, selected_node, set_edit_session
from pages.widgets.page import page_title
from pages.widgets.runs import pick_loaded_run
from pages.widgets.store_trouble import guarded
from pages.widgets.tree_viewer import HEIGHT, tree_viewer
from pages.widgets.words import fitted_words
from treelab.editing.log import tree_hash
from treelab.editing.paths import path_of_key
from treelab.editing.session import Session
from treelab.figures.viewer.payload import node_at


@st.fragment
@guarded
def show_editing(loaded: LoadedRun) -> None:
    """Draw the tree as it is edited, the selected node's menu, and the log."""
    session = edit_session(loaded.run.id)
    now = current_tree(loaded, session)
    before = after(loaded, ())
    scores = st.container()
    left, right = st.columns([5, 3], gap="medium")
    with left:
        path = draw(loaded, now)
    editing = Editing(loaded, edit_session(loaded.run.id), now, before, path)
    with scores:
        show_scores(editing)
    with right:
        show_refusal()
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


def draw(loaded: LoadedRun, now: EditedTree) -> str:
    """Draw the tree in the viewer; return the path of the selected node."""
    picture = tree_picture(loaded, now.tree, f"edited {tree_hash(now.tree)}")
    selection = tree_viewer(
        picture.payload,
        f"tree-view-edit-{loaded.run.id}",
        select=selected_node(loaded.run.id) or "",
        height=HEIGHT,
    )
    st.caption(f"Rows and bars in the picture: {fitted_words(loaded)}.")
    key = selection.key or ""
    if node_at(now.tree, key) is None:
        key = ""
    select_node(loaded.run.id, key)
    return path_of_key(key)


page_title(
    "What would you change?",
    "Click a node, then set its split, lock it, prune it, or forbid a column; the "
    "validation score moves with each edit. What is not locked can be trained on.",
)
show_editing(
    pick_loaded_run(
        growing=False,
        where=is_single_tree,
        unfit="This run is an ensemble; this page is about single trees.",
    )
)
