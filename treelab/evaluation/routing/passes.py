"""How many rows of each group pass each node of a tree, or of any hierarchy."""

import numpy as np


def rows_passing(parent, leaf, group, n_groups: int) -> np.ndarray:
    """Count the rows of each group that pass each node.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Node above each node; -1 at the root, which is node 0. ``Tree.parent`` is one.
    leaf : int array of shape (n_rows,)
        Node at which each row ends, as ``Tree.apply`` returns it.
    group : int array of shape (n_rows,)
        Group of each row, such as its class, from 0; -1 for rows that are not counted.
    n_groups : int

    Returns
    -------
    int64 array of shape (n_groups, n_nodes)
    """
    parent, node, group = map(np.asarray, (parent, leaf, group))
    n_nodes = len(parent)
    counted = group >= 0
    flat = group[counted] * n_nodes + node[counted]
    rows = np.bincount(flat, minlength=n_groups * n_nodes).reshape(n_groups, n_nodes)
    passing = np.zeros_like(rows)
    at = np.arange(n_nodes)  # the rows that end at each node climb to the root
    while len(below := np.flatnonzero(at >= 0)):
        np.add.at(passing.T, at[below], rows.T[below])
        at[below] = parent[at[below]]
    return passing
