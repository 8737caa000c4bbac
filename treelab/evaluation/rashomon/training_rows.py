"""Rows that many trees are fitted to and scored on, and when two trees are the same."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from treelab.evaluation.rashomon.refitted import RefittedScorer
from treelab.trees.feature import FeatureReader
from treelab.trees.pruning.simplify import merge_equal, prune_empty
from treelab.trees.shrinkage import with_shrunk_values
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


def splits_key(tree: Tree, cut: np.ndarray | None = None) -> tuple:
    """Return what two trees share only if their splits are the same to any row.

    Parameters
    ----------
    tree : Tree
        Its nodes numbered depth first.
    cut : bool array of shape (n_nodes,), optional
        Nodes that are taken for leaves, and all that is below them, which is left out.
    """
    is_leaf, retained = tree.is_leaf, np.ones(tree.n_nodes, dtype=bool)
    if cut is not None:
        retained[1:] = ~cut[tree.parent[1:]]
        is_leaf = is_leaf | cut
    is_split = retained & ~is_leaf
    arrays = [tree.feature, tree.threshold, tree.missing_left]
    if tree.weights is not None:
        arrays.append(tree.weights)
    parts = [is_leaf[retained].tobytes(), *(own[is_split].tobytes() for own in arrays)]
    return tuple(feature.reading for feature in tree.features), *parts


def unplaced(tree: Tree) -> Tree:
    """Return a tree that no longer knows what some rows leave free at its splits."""
    return replace(tree, between=None, missing_rows=None)


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
        self._reader = FeatureReader(own.features, X)
        self.weights = np.asarray(weights, dtype=float)
        self._shrinkage = own.shrinkage
        self._read: dict[tuple, np.ndarray] = {}
        self._fitted: dict[tuple, tuple[Tree, np.ndarray]] = {}
        self.scorer = RefittedScorer.of(own.task, self.y, self.weights)

    def matrix(self, tree: Tree) -> np.ndarray:
        """Return the numbers (n_rows, n_features) that a tree may test."""
        key = tuple(feature.reading for feature in tree.features)
        if key not in self._read:
            self._read[key] = self._reader.matrix(tree.features)
        return self._read[key]

    def fitted(self, tree: Tree) -> tuple[Tree, np.ndarray]:
        """Return a tree as small as can be, its leaves fitted, and each row's leaf."""
        key = splits_key(tree)
        if key not in self._fitted:
            tree = replace(tree, activity=None, leaf_weights=None, leaf_bias=None)
            leaf = self.leaf(tree)
            tree = self.finished(self.refitted(unplaced(tree), leaf), leaf)
            tree = prune_empty(tree)
            tree = merge_equal(tree, same_class=True)
            leaf = self.leaf(tree)
            self._fitted[key] = self.refitted(tree, leaf), leaf
        return self._fitted[key]

    def leaf(self, tree: Tree) -> np.ndarray:
        """Return the leaf (n_rows,) that each row reaches."""
        return leaf_of(tree, self.matrix(tree))

    def alike(self, trees: Sequence[Tree], leaves: Sequence[np.ndarray]) -> np.ndarray:
        """Number trees so that those which predict every row alike share a number.

        ``leaves`` are those that the rows reach, (n_rows,) for each tree.
        """
        known: dict[bytes, int] = {}
        numbers = []
        for tree, leaf in zip(trees, leaves):
            if tree.classes is None:
                predicted = tree.value.round(9)[leaf]
            else:
                predicted = tree.predicted_class.astype(np.int32)[leaf]
            numbers.append(known.setdefault(predicted.tobytes(), len(known)))
        return np.array(numbers)

    def finished(self, tree: Tree, leaf: np.ndarray) -> Tree:
        """Return a fitted tree that knows what the rows leave free at each split."""
        if tree.between is not None:
            return tree
        found = with_leaves(tree, self.matrix(tree), leaf, self.y)
        return replace(found, value=tree.value)

    def refitted(self, tree: Tree, leaf: np.ndarray) -> Tree:
        """Let each node predict the weighted mean of its rows, and count them.

        What rows leave free around thresholds stays, as cutting branches leaves it;
        where it is unknown see ``finished``.
        """
        tree = replace(tree, decision=None, class_weights=None, shrinkage=None)
        tree = with_leaves(tree, None, leaf, self.y)
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
        return replace(
            tree,
            value=np.where(total > 0, mean, tree.value),
            class_weights=self.weights,
        )

    def shrunk(self, tree: Tree) -> Tree:
        """Return a fitted tree with probabilities that are shrunk as the run's are."""
        if self._shrinkage is None or tree.classes is None:
            return tree
        return with_shrunk_values(tree, self._shrinkage)
