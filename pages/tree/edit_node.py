"""The selected node's menu: lock it, prune below it, forbid or prefer a column."""

import numpy as np
import streamlit as st

from pages.tree.edit_log import Editing, bench, do
from pages.widgets.words import plain
from treelab.editing.candidates import gain_of
from treelab.editing.edits import Allow, Edit, Forbid, Lock, Prefer, Prune, Unlock
from treelab.editing.paths import node_of, place_words
from treelab.runs.jobs.edited import run_constraints
from treelab.trees.constraints import violations
from treelab.trees.text import prediction_text, split_text
from treelab.trees.tree import goes_left
from treelab.trees.words import counted, significant

Offer = tuple[str, str, Edit, str | None]  # label, icon, edit, help


def show_node_title(editing: Editing) -> None:
    """Name the selected node: its split or prediction, its rows, what holds there."""
    tree, path = editing.now.tree, editing.path
    node = node_of(tree, path)
    if tree.is_leaf[node]:
        st.markdown(f"**Leaf: {plain(prediction_text(tree, node, length=40))}**")
    else:
        st.markdown(f"**{plain(split_text(tree, node, most=3))}?**")
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
    constraints = run_constraints(editing.loaded.run)
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
