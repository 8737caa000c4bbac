"""A branch grown anew, greedily, on the columns that are allowed there."""

from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from treelab.editing.candidates import Candidate
from treelab.editing.edited import Edited, below
from treelab.editing.paths import node_of, paths
from treelab.editing.rows import EditRows
from treelab.trees.walk import goes_left

FEWEST_LEAVES = 4  # of a branch whose size nobody names


def regrow(
    edited: Edited, path: str, rows: EditRows, max_leaf_nodes: int | None = None
) -> Edited:
    """Grow what hangs at a node anew, best split first, as CART does.

    Splits that are locked, or have something locked below them, stay; the tree grows
    from what hangs below them.

    Parameters
    ----------
    edited : Edited
    path : str
    rows : EditRows
        On which it grows.
    max_leaf_nodes : int or None, default=None
        Most leaves at and below the node; None: as many as there were, at least 4.
    """
    if max_leaf_nodes is None:
        max_leaf_nodes = max(FEWEST_LEAVES, len(_leaves(edited, path)))
    edited, tips = _bare(edited, path)
    n_leaves = len(_leaves(edited, path))
    waiting = [
        _offer(edited, tip, rows, rows.at(edited.tree, node_of(edited.tree, tip)))
        for tip in tips
        if tip not in edited.locked
    ]
    waiting = [one for one in waiting if one[2] is not None]
    heapify(waiting)
    while waiting and n_leaves < max_leaf_nodes:
        _, tip, split, at = heappop(waiting)
        assert split is not None
        if split.column in edited.closed_at(tip):  # by a split that came since
            offer = _offer(edited, tip, rows, at)
            if offer[2] is not None:
                heappush(waiting, offer)
            continue
        edited = edited.with_split(tip, split)
        n_leaves += 1
        node = node_of(edited.tree, tip)
        matrix = rows.matrix(edited.tree)
        left = goes_left(edited.tree, matrix, np.full(len(at), node), at)
        for side, own in (("L", at[left]), ("R", at[~left])):
            offer = _offer(edited, tip + side, rows, own)
            if offer[2] is not None:
                heappush(waiting, offer)
    return replace(edited, changed=edited.changed | {path})


def _leaves(edited: Edited, path: str) -> list[str]:
    """Return the paths of the leaves at a node and below."""
    named = zip(paths(edited.tree), edited.tree.is_leaf)
    return [p for p, is_leaf in named if is_leaf and p.startswith(path)]


def _bare(edited: Edited, path: str) -> tuple[Edited, list[str]]:
    """Cut all that is free at a node and below; return the leaves that are left."""
    for own in edited.splits_below(path):
        held = any(lock == own or below(lock, own) for lock in edited.locked)
        there = {*paths(edited.tree)}
        if own in there and not held:
            edited = edited.cut(own)
    return edited, _leaves(edited, path)


def _offer(
    edited: Edited, path: str, rows: EditRows, at: np.ndarray
) -> tuple[float, str, Candidate | None, np.ndarray]:
    """Return a leaf's best split, by how much it removes; None where there is none.

    No two paths are equal, so a heap of offers never compares further.
    """
    best = edited.best(path, edited.candidates_of(path, rows, at))
    return (0.0 if best is None else -best.gain * len(at), path, best, at)
