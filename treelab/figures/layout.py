"""Sizes of figures, on a page and in a file."""

import shutil

import graphviz
import numpy as np

from treelab.trees.tree import Tree

# Where a tree's nodes stand: leaves in a row, each parent above its children.


def n_drawn_leaves(tree: Tree, max_depth: int) -> int:
    """Count the leaves of a picture whose deepest level is ``max_depth``."""
    return int(
        np.sum((tree.level == max_depth) | (tree.is_leaf & (tree.level < max_depth)))
    )


def tree_layout(
    tree: Tree, max_depth: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Place every node; leaves of the picture get one place each, left to right.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    max_depth : int or None, default=None
        Deepest level that has a place; None: all have.

    Returns
    -------
    x : ndarray of shape (n,)
        From 0 in steps of 1, first leaf to last; a parent stands midway between its
        two children. NaN below ``max_depth``.
    y : ndarray of shape (n,)
        Minus the node's level: 0 at the root.
    """
    x = np.full(len(tree.left), np.nan)
    next_leaf = 0.0
    # Depth first without recursion, since a greedy tree may be very deep.
    stack = [(0, False)]
    while stack:
        node, done = stack.pop()
        left, right = tree.left[node], tree.right[node]
        if left < 0 or (max_depth is not None and tree.level[node] >= max_depth):
            x[node] = next_leaf
            next_leaf += 1
        elif done:
            x[node] = (x[left] + x[right]) / 2
        else:
            stack += [(node, True), (right, False), (left, False)]
    return x, -np.asarray(tree.level, dtype=float)


# Pictures as files, through Graphviz's ``dot`` where it is installed.


def has_dot() -> bool:
    """Whether Graphviz's program ``dot`` is found on this machine."""
    return shutil.which("dot") is not None


def picture_file(dot_text: str, kind: str) -> bytes:
    """Render DOT text into a file.

    Parameters
    ----------
    kind : {"svg", "pdf", "png"}

    Raises
    ------
    graphviz.ExecutableNotFound
        If ``dot`` is not installed; check ``has_dot`` first.
    """
    return graphviz.Source(dot_text).pipe(format=kind)
