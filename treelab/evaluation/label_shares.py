"""A tree's nodes by the labels of the rows that reach them."""

from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.trees.tree import Tree


def with_label_shares(tree: Tree, X: pd.DataFrame, y, classes: tuple) -> Tree:
    """Return the tree with, at each node, the fraction of each label among its rows.

    A node that no row reaches has its parent's fractions. The splits stay; labels
    (n_rows,) are all in ``classes``.
    """
    share = np.full((tree.n_nodes, len(classes)), 1 / len(classes))
    tree = replace(
        tree, value=share, class_counts=np.zeros(share.shape), classes=classes
    ).with_rows(X, y)
    share = tree.class_counts / np.maximum(tree.n_rows, 1)[:, None]
    for node in np.flatnonzero(tree.n_rows == 0):  # parents come first
        share[node] = share[tree.parent[node]]
    return replace(tree, value=share)
