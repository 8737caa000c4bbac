"""Clustering trees of all pruning strengths: their leaves are the clusters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.evaluation.metrics import dendrogram_purity
from treelab.learners.argmin.path import size_of
from treelab.learners.argmin.settings import ClusterSettings
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree


def cluster_path(
    trees: Sequence[Tree],
    settings: ClusterSettings,
    valid_loss: np.ndarray,
    frame: pd.DataFrame,
    labels: Sequence | None = None,
) -> PruningPath:
    """Bind the trees of all strengths; the lowest validation loss is chosen.

    Parameters
    ----------
    trees : sequence of Tree
        One for each strength.
    settings : ClusterSettings
    valid_loss : ndarray of shape (n_trees,)
    frame : DataFrame
        The rows that are counted at every node.
    labels : sequence of length n_rows or None, default=None
        Known labels, by which dendrogram purity is measured.

    Returns
    -------
    PruningPath
        Its ``scores``: strength, valid_loss, the columns of ``size_of``, and purity
        where labels are known.
    """
    strengths = settings.strengths
    sizes = [size_of(tree, settings.n_nodes) for tree in trees]
    if labels is not None:
        for size, tree in zip(sizes, trees):
            size["purity"] = dendrogram_purity(tree.parent, tree.apply(frame), labels)
    most = max(tree.n_leaves for tree in trees)
    return PruningPath(
        strengths=strengths,
        trees=tuple(with_clusters(tree, frame, most) for tree in trees),
        predictors=(None,) * len(trees),
        chosen=int(np.nan_to_num(valid_loss, nan=np.inf).argmin()),
        scores=pd.DataFrame(
            {"strength": strength, "valid_loss": float(loss)} | size
            for strength, loss, size in zip(strengths, valid_loss, sizes)
        ),
    )


def with_clusters(
    tree: Tree, frame: pd.DataFrame, n_clusters: int | None = None
) -> Tree:
    """Return a tree whose leaves, numbered from left to right, are its classes.

    Parameters
    ----------
    tree : Tree
    frame : DataFrame
        The rows that are counted at every node.
    n_clusters : int or None, default=None
        Classes of the tree, at least its leaves; None: as many.
    """
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if tree.is_leaf[node]:
            order.append(node)
        else:
            stack += [tree.right[node], tree.left[node]]
    value = np.zeros((tree.n_nodes, n_clusters or len(order)))
    value[order, np.arange(len(order))] = 1
    tree = replace(
        tree,
        value=value,
        classes=tuple(range(value.shape[1])),
        class_counts=np.zeros(value.shape),
        target="cluster",
    )
    return tree.with_rows(frame, value.argmax(axis=1)[tree.apply(frame)])
