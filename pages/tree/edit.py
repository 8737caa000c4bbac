"""A run's tree changed by hand: what it costs, saved or trained on."""

import streamlit as st

from pages.cached.runs import LoadedRun
from pages.cached.tree_pictures import tree_picture
from pages.state.run import edit_session, select_node, selected_node, set_edit_session
from pages.tree.edit_finish import show_finish, show_scores
from pages.tree.edit_log import EditedTree, Editing, after, show_log, show_refusal
from pages.tree.edit_node import show_branch, show_column, show_node_title, show_rules
from pages.tree.edit_split import show_split
from pages.widgets.tree_viewer import HEIGHT, PANEL, tree_viewer
from treelab.editing.log import tree_hash
from treelab.editing.paths import path_of_key
from treelab.editing.session import Session
from treelab.figures.viewer.payload import node_at

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
