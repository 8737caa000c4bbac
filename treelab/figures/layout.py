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

    Across (n_nodes,) from 0 in steps of 1, first leaf to last; a parent stands midway
    between its two children; NaN below ``max_depth``, the deepest level that has a
    place. Down (n_nodes,), minus the node's level: 0 at the root.
    """
    last = tree.depth if max_depth is None else max_depth
    order = tree.depth_first
    order = order[tree.level[order] <= last]
    ends = order[tree.is_leaf[order] | (tree.level[order] == last)]
    x = np.full(tree.n_nodes, np.nan)
    x[ends] = np.arange(len(ends))
    for node in order[::-1]:  # after all that hangs below it
        if np.isnan(x[node]):
            x[node] = (x[tree.left[node]] + x[tree.right[node]]) / 2
    return x, -tree.level.astype(float)


# Pictures as files, through Graphviz's ``dot`` where it is installed.


def has_dot() -> bool:
    """Whether Graphviz's program ``dot`` is found on this machine."""
    return shutil.which("dot") is not None


def picture_file(dot_text: str, kind: str) -> bytes:
    """Render DOT text into a file: "svg", "pdf" or "png".

    graphviz.ExecutableNotFound if ``dot`` is not installed; check ``has_dot`` first.
    """
    return graphviz.Source(dot_text).pipe(format=kind)
