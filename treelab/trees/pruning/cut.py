"""A tree with nodes taken out, the last step of every pruning."""

from dataclasses import replace
from typing import Any

import numpy as np

from treelab.trees.checks import PER_NODE
from treelab.trees.tree import Tree
from treelab.trees.walk import LEAF

_BY_NODE = tuple(name for name in PER_NODE if name not in ("left", "right"))


def cut_at(tree: Tree, nodes: np.ndarray) -> Tree:
    """Make leaves of these nodes; each predicts its own value.

    Parameters
    ----------
    tree : Tree
    nodes : bool array of shape (n_nodes,)

    Returns
    -------
    Tree
        Nodes are numbered anew, depth first.
    """
    if tree.leaf_weights is None or tree.leaf_bias is None:
        return rebuild(tree, cut=nodes)
    new_leaf = nodes & ~tree.is_leaf
    leaf_weights, leaf_bias = tree.leaf_weights.copy(), tree.leaf_bias.copy()
    leaf_weights[new_leaf] = 0
    leaf_bias[new_leaf] = tree.value[new_leaf]
    changed = replace(tree, leaf_weights=leaf_weights, leaf_bias=leaf_bias)
    return rebuild(changed, cut=nodes)


def rebuild(
    tree: Tree, replacement: np.ndarray | None = None, cut: np.ndarray | None = None
) -> Tree:
    """Return the tree with nodes replaced and branches cut, numbered depth first.

    Parameters
    ----------
    tree : Tree
    replacement : int array of shape (n_nodes,) or None
        The node that takes each node's place; itself where it stays.
    cut : bool array of shape (n_nodes,) or None
        Nodes that become leaves.
    """
    if replacement is None:
        replacement = np.arange(tree.n_nodes)
    is_leaf = tree.is_leaf if cut is None else tree.is_leaf | cut
    retained: list[int] = []
    left: list[int] = []
    right: list[int] = []
    # Node, the new number of its parent, and the parent's list of children it is in.
    waiting: list[tuple[int, int, list[int]]] = [(int(replacement[0]), -1, [])]
    while waiting:
        node, parent, children = waiting.pop()
        number = len(retained)
        if parent >= 0:
            children[parent] = number
        retained.append(node)
        left.append(-1)
        right.append(-1)
        if not is_leaf[node]:
            waiting.append((int(replacement[tree.right[node]]), number, right))
            waiting.append((int(replacement[tree.left[node]]), number, left))
    return _take(tree, np.array(retained), np.array(left), np.array(right))


def _take(tree: Tree, nodes: np.ndarray, left: np.ndarray, right: np.ndarray) -> Tree:
    """Return the tree of these nodes with these children."""
    arrays: dict[str, Any] = {}
    for name in _BY_NODE:
        array = getattr(tree, name)
        arrays[name] = None if array is None else array[nodes]
    leaf = left < 0
    arrays["feature"] = np.where(leaf, LEAF, arrays["feature"])
    arrays["threshold"] = np.where(leaf, np.nan, arrays["threshold"])
    arrays["missing_left"] = arrays["missing_left"] & ~leaf
    for name, empty in {"weights": 0.0, "between": np.nan}.items():
        if arrays[name] is not None:
            arrays[name] = np.where(leaf[:, None], empty, arrays[name])
    if arrays["missing_rows"] is not None:
        arrays["missing_rows"] = np.where(leaf, 0, arrays["missing_rows"])
    return replace(tree, left=left, right=right, **arrays)
