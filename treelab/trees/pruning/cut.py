"""A tree with nodes taken out: what every pruning does in the end."""

from dataclasses import replace

import numpy as np

from treelab.trees.checks import PER_NODE
from treelab.trees.walk import LEAF

_BY_NODE = tuple(name for name in PER_NODE if name not in ("left", "right"))


def cut_at(tree, nodes):
    """Make leaves of these nodes; each answers with its own value.

    Parameters
    ----------
    tree : Tree
    nodes : bool array of shape (n_nodes,)

    Returns
    -------
    Tree
        Nodes are numbered anew, depth first.
    """
    if tree.leaf_weights is None:
        return rebuild(tree, cut=nodes)
    new_leaf = nodes & ~tree.is_leaf
    leaf_weights, leaf_bias = tree.leaf_weights.copy(), tree.leaf_bias.copy()
    leaf_weights[new_leaf] = 0
    leaf_bias[new_leaf] = tree.value[new_leaf]
    changed = replace(tree, leaf_weights=leaf_weights, leaf_bias=leaf_bias)
    return rebuild(changed, cut=nodes)


def rebuild(tree, stands_for=None, cut=None):
    """Return the tree with nodes replaced and branches cut, numbered depth first.

    Parameters
    ----------
    tree : Tree
    stands_for : int array of shape (n_nodes,) or None
        The node that takes each node's place; itself where it stays.
    cut : bool array of shape (n_nodes,) or None
        Nodes that become leaves.
    """
    return take(tree, *kept_nodes(tree, stands_for, cut))


def kept_nodes(tree, stands_for=None, cut=None):
    """Return the old numbers of the nodes that stay, and their new children."""
    if stands_for is None:
        stands_for = np.arange(tree.n_nodes)
    is_leaf = tree.is_leaf if cut is None else tree.is_leaf | cut
    kept, left, right = [], [], []
    waiting = [(int(stands_for[0]), -1, None)]
    while waiting:
        node, parent, side = waiting.pop()
        place = len(kept)
        if parent >= 0:
            side[parent] = place
        kept.append(node)
        left.append(-1)
        right.append(-1)
        if not is_leaf[node]:
            waiting.append((int(stands_for[tree.right[node]]), place, right))
            waiting.append((int(stands_for[tree.left[node]]), place, left))
    return np.array(kept), np.array(left), np.array(right)


def take(tree, kept, left, right):
    """Return the tree of these nodes with these children."""
    arrays = {}
    for name in _BY_NODE:
        array = getattr(tree, name)
        arrays[name] = None if array is None else array[kept]
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
