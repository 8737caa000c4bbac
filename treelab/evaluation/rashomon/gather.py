"""Which of many trees differ, and how each scores: the Rashomon set of a problem."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from treelab.evaluation.rashomon.refitted import RefittedScorer
from treelab.trees.feature import Feature, as_table, feature_matrix
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.simplify import merge_equal, prune_empty
from treelab.trees.pruning.size_path import SizePath
from treelab.trees.pruning.sizes import size_grid, steps_at
from treelab.trees.rashomon.rashomon_set import RashomonSet
from treelab.trees.statistics import check_target, with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, sum_up

MOST_TREES = 300  # of a set
FURTHEST = 0.05  # below the run's own tree: trees that are stored
MOST_LEAVES = 2  # times the run's own leaves; a tree of eight is always looked at


def gather(
    own: Tree,
    others: Sequence[Tree],
    rows: tuple[pd.DataFrame, Any],
    weights: np.ndarray,
    path: SizePath | None = None,
    *,
    keeps: Callable[[Tree], bool] = lambda tree: True,
    most: int = MOST_TREES,
) -> RashomonSet:
    """Score trees that differ, in all their sizes, and return the good ones.

    Each tree and each of its cost-complexity prunings is made as small as its
    predictions allow: without branches that no row takes, sibling leaves of one class
    merged. It is fitted to the rows and scored as ``RefittedScorer`` does, against the
    run's tree of the same size, whose score is the cross-validated one: so the rows
    that shaped a tree's splits do not favour larger trees.

    Parameters
    ----------
    own : Tree
        The run's tree, which stays as it is.
    others : sequence of Tree
    rows : (X, y)
        That all of them were trained on.
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.
    path : SizePath, optional
        The run's trees by size, with their cross-validated scores.
    keeps : callable, optional
        Whether a tree may stand in the set, once its leaves are fitted.
    most : int, default=300
        Trees of the set.

    Returns
    -------
    RashomonSet
        The best first; of equal scores the smaller tree.
    """
    table = _Rows(own, *rows, weights)
    merged, leaf = table.fitted(own)
    seen = {structure(merged, leaf)}
    trees, scores = [own], [table.scorer.score(merged, leaf)]
    for tree in table.every_size(others, max(MOST_LEAVES * own.n_leaves, 8)):
        leaf = table.leaf(tree)
        key = structure(tree, leaf)
        if key in seen:
            continue
        seen.add(key)
        tree = table.refitted(tree, leaf)
        if tree.n_splits and keeps(tree):
            trees.append(tree)
            scores.append(table.scorer.score(tree, leaf))
    refitted, error = np.array(scores).T
    size = np.array([tree.n_leaves for tree in trees])
    score = refitted + table.correction(path, size)
    near = np.lexsort((size, -score))
    near = near[score[near] >= score[0] - FURTHEST]
    if len(near) > most:
        near = np.sort(np.append(np.setdiff1d(near, [0])[: most - 1], 0))
        near = near[np.lexsort((size[near], -score[near]))]
    retained = [trees[i] for i in near]
    found = pd.DataFrame(
        {
            "score": score[near],
            "standard_error": error[near],
            "alike": table.alike(retained),
        }
    )
    chosen = int(np.flatnonzero(near == 0)[0])
    return RashomonSet(tuple(retained), found, chosen, len(seen))


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


class _Rows:
    """Rows that trees are fitted to and scored on, their numbers read once."""

    def __init__(self, own: Tree, X, y, weights):
        self._y = check_target(own, len(X), y)
        self._table = as_table(own.features, X)
        self._weights = np.asarray(weights, dtype=float)
        self._read: dict[tuple[Feature, ...], np.ndarray] = {}
        self.scorer = RefittedScorer.of(own.task, self._y, self._weights)

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

    def every_size(self, trees: Sequence[Tree], most_leaves: int) -> Iterator[Tree]:
        """Return trees and their merged prunings, one a size of ``size_grid``."""
        seen: set[bytes] = set()
        for tree in trees:
            tree, leaf = self.fitted(tree)
            key = structure(tree, leaf)
            if key in seen or not tree.n_splits:
                continue
            seen.add(key)
            path = cost_complexity_path(tree)
            sizes = size_grid(max(min(most_leaves, tree.n_leaves), 2))
            for step in dict.fromkeys(steps_at(path, sizes).tolist()):
                yield merge_equal(path.trees[step], same_class=True)

    def correction(self, path: SizePath | None, size: np.ndarray) -> np.ndarray:
        """What the cross-validated score of each size lacks of the refitted one.

        0 where no score was cross-validated.
        """
        if path is None:
            return np.zeros(len(size))
        known = path.scores["score"].to_numpy(dtype=float)
        gap, at = [], []
        for tree, score in zip(path.trees, known):
            if np.isfinite(score) and tree.n_splits:
                merged, leaf = self.fitted(tree)
                gap.append(score - self.scorer.score(merged, leaf)[0])
                at.append(tree.n_leaves)
        return np.interp(size, at, gap) if gap else np.zeros(len(size))

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
        tree = with_leaves(bare, self.matrix(tree), leaf, self._y)
        if tree.classes is None:
            at_leaf = [
                np.bincount(leaf, own, tree.n_nodes)
                for own in (np.ones(len(leaf)), self._y)
            ]
            count, total = sum_up(tree, np.stack(at_leaf, axis=1)).T
            mean = (total / np.maximum(count, 1))[:, None]
            return replace(tree, value=np.where(count[:, None] > 0, mean, tree.value))
        assert tree.class_counts is not None
        value = tree.class_counts * self._weights
        total = value.sum(axis=1, keepdims=True)
        mean = value / np.where(total > 0, total, 1)
        return replace(tree, value=np.where(total > 0, mean, tree.value))
