"""Rows that many trees are fitted to and scored on, and when two trees are the same."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.evaluation.rashomon.refitted import RefittedScorer
from treelab.trees.feature import Feature, as_table, feature_matrix
from treelab.trees.pruning.simplify import merge_equal, prune_empty
from treelab.trees.statistics import check_target, with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, sum_up


def structure(tree: Tree, leaf: np.ndarray) -> bytes:
    """Return what two trees share only if they are the same tree to some rows.

    Parameters
    ----------
    tree : Tree
        Its nodes numbered depth first.
    leaf : int array of shape (n_rows,)
        Leaf that each row reaches.
    """
    names = [
        "" if tree.is_leaf[i] else "+" if j < 0 else tree.features[j].column
        for i, j in enumerate(tree.feature.tolist())
    ]
    return "\n".join(names).encode() + b"\0" + leaf.astype(np.int32).tobytes()


class TrainingRows:
    """Rows that trees are fitted to and scored on, their numbers read once.

    Parameters
    ----------
    own : Tree
        One of the trees: they share its target.
    X : DataFrame of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Class codes, or values.
    weights : ndarray of shape (n_classes,)
    scorer : RefittedScorer
    """

    def __init__(self, own: Tree, X: pd.DataFrame, y, weights: np.ndarray):
        self.y = check_target(own, len(X), y)
        self._table = as_table(own.features, X)
        self.weights = np.asarray(weights, dtype=float)
        self._read: dict[tuple[Feature, ...], np.ndarray] = {}
        self.scorer = RefittedScorer.of(own.task, self.y, self.weights)

    def matrix(self, tree: Tree) -> np.ndarray:
        """Return the numbers (n_rows, n_features) that a tree may test."""
        if tree.features not in self._read:
            self._read[tree.features] = feature_matrix(tree.features, self._table)
        return self._read[tree.features]

    def fitted(self, tree: Tree) -> tuple[Tree, np.ndarray]:
        """Return a tree as small as can be, its leaves fitted, and each row's leaf."""
        tree = replace(tree, activity=None, leaf_weights=None, leaf_bias=None)
        tree = prune_empty(self.refitted(tree, self.leaf(tree)))
        tree = merge_equal(tree, same_class=True)
        leaf = self.leaf(tree)
        return self.refitted(tree, leaf), leaf

    def leaf(self, tree: Tree) -> np.ndarray:
        """Return the leaf (n_rows,) that each row reaches."""
        return leaf_of(tree, self.matrix(tree))

    def alike(self, trees: Sequence[Tree]) -> np.ndarray:
        """Number trees so that those which predict every row alike share a number."""
        known: dict[bytes, int] = {}
        numbers = []
        for tree in trees:
            value = tree.value[self.leaf(tree)]
            if tree.classes is None:
                predicted = value.round(9)
            else:
                predicted = value.argmax(axis=1).astype(np.int32)
            numbers.append(known.setdefault(predicted.tobytes(), len(known)))
        return np.array(numbers)

    def refitted(self, tree: Tree, leaf: np.ndarray) -> Tree:
        """Let each node predict the weighted mean of its rows, and count them."""
        bare = replace(tree, between=None, missing_rows=None)
        tree = with_leaves(bare, self.matrix(tree), leaf, self.y)
        if tree.classes is None:
            at_leaf = [
                np.bincount(leaf, own, tree.n_nodes)
                for own in (np.ones(len(leaf)), self.y)
            ]
            count, total = sum_up(tree, np.stack(at_leaf, axis=1)).T
            mean = (total / np.maximum(count, 1))[:, None]
            return replace(tree, value=np.where(count[:, None] > 0, mean, tree.value))
        assert tree.class_counts is not None
        value = tree.class_counts * self.weights
        total = value.sum(axis=1, keepdims=True)
        mean = value / np.where(total > 0, total, 1)
        return replace(tree, value=np.where(total > 0, mean, tree.value))
