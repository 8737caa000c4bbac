"""The complete Rashomon set: every good tree of a small depth over given thresholds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from treelab.data.encoding.candidate_thresholds import (
    Candidates,
    candidate_thresholds,
)
from treelab.evaluation.rashomon.enumeration import Nested, Splits, best_trees
from treelab.evaluation.rashomon.leaf_sums import ClassSums, LeafSums, ValueSums
from treelab.evaluation.rashomon.training_rows import (
    TrainingRows,
    structure,
    unplaced,
)
from treelab.trees.feature import Feature
from treelab.trees.rashomon.rashomon_set import Completeness, RashomonSet
from treelab.trees.tree import Tree
from treelab.trees.walk import LEAF

FURTHEST = 0.05  # below the best tree: trees that are stored
MOST_TREES = 500


def all_trees(
    own: Tree,
    rows: tuple[pd.DataFrame, Any],
    weights: np.ndarray,
    depth: int,
    n_thresholds: int,
    *,
    min_samples_leaf: int = 1,
    keeps: Callable[[Tree], bool] = lambda tree: True,
) -> RashomonSet:
    """Look at all trees of a depth, and return those near the best.

    A leaf predicts the class with most weighted rows, or their mean. The score is macro
    F1 or R² on these very rows: all trees are small alike, so it does not favour any by
    its size; but it is no estimate for new rows. Trees within 0.05 of the best are in
    the set, of more than 500 the best. A missing value goes where the feature's
    ``fill`` goes.

    Source: Xin et al., "Exploring the whole Rashomon set of sparse decision trees",
    NeurIPS 2022, arXiv:2209.08040; ours needs no penalty on leaves, as all trees of
    the depth are looked at.

    Parameters
    ----------
    own : Tree
        Whose features trees may test, and whose target they predict.
    rows : (X, y)
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.
    depth : int
        Most splits on a path.
    n_thresholds : int
        Most candidate thresholds of a feature, at its quantiles.
    min_samples_leaf : int, default=1
    keeps : callable, optional
        Whether a tree may stand in the set.

    Returns
    -------
    RashomonSet
        The best first; the best is the chosen one.

    Raises
    ------
    ValueError
        If there are too many trees to look at, or none.
    """
    table = TrainingRows(own, *rows, weights)
    features = own.features
    matrix = _filled(features, table.matrix(own))
    cutpoints = candidate_thresholds(matrix, n_thresholds)
    splits = Splits(~cutpoints.right(matrix).T.astype(bool), cutpoints.feature)
    leaves: LeafSums = ValueSums(table.y)
    if own.classes is not None:
        leaves = ClassSums(table.y, table.weights)
    found = best_trees(
        splits,
        leaves,
        depth,
        tolerance=FURTHEST,
        most=MOST_TREES,
        min_samples_leaf=min_samples_leaf,
    )
    seen: set[bytes] = set()
    trees: list[Tree] = []
    leaf_of_rows: list[np.ndarray] = []
    scores: list[tuple[float, float]] = []
    for nested, score in zip(found.trees, found.score.tolist()):
        tree = _tree(own, cutpoints, nested)
        leaf = table.leaf(tree)
        key = structure(tree, leaf)
        if key in seen:
            continue
        seen.add(key)
        tree = table.finished(table.refitted(unplaced(tree), leaf), leaf)
        if keeps(tree):
            trees.append(table.shrunk(tree))
            leaf_of_rows.append(leaf)
            scores.append((score, table.scorer.score(tree, leaf)[1]))
    if not trees:
        raise ValueError("No tree near the best one is within the run's constraints.")
    measured = pd.DataFrame(scores, columns=["score", "standard_error"])
    measured["n_leaves"] = [own.n_leaves for own in trees]
    measured = measured.sort_values(
        ["score", "n_leaves"], ascending=[False, True], kind="stable"
    )
    trees = [trees[i] for i in measured.index]
    leaf_of_rows = [leaf_of_rows[i] for i in measured.index]
    measured = measured.drop(columns="n_leaves").reset_index(drop=True)
    measured["alike"] = table.alike(trees, leaf_of_rows)
    complete = Completeness(
        depth, n_thresholds, len(cutpoints.feature), found.n_trees, found.above
    )
    return RashomonSet(tuple(trees), measured, 0, len(seen), complete)


def _filled(features: tuple[Feature, ...], matrix: np.ndarray) -> np.ndarray:
    """Put the fill of each feature where a value is missing."""
    fill = np.array([feature.fill for feature in features])
    return np.where(np.isnan(matrix), fill, matrix)


def _tree(own: Tree, cutpoints: Candidates, nested: Nested) -> Tree:
    """Build a tree, its nodes numbered depth first; its leaves are not fitted."""
    left: list[int] = []
    right: list[int] = []
    split: list[int] = []

    def add(one: Nested | None) -> int:
        """Add a node and all below it; return its number."""
        number = len(split)
        left.append(LEAF)
        right.append(LEAF)
        split.append(LEAF if one is None else one[0])
        if one is not None:
            left[number], right[number] = add(one[1]), add(one[2])
        return number

    add(nested)
    at = np.array(split)
    is_leaf = at < 0
    feature = np.where(is_leaf, LEAF, cutpoints.feature[at])
    threshold = np.where(is_leaf, np.nan, cutpoints.threshold[at])
    fill = np.array([own.features[j].fill for j in feature])
    n_outputs = own.value.shape[1]
    return Tree(
        own.features,
        np.array(left),
        np.array(right),
        feature,
        threshold,
        ~is_leaf & ~(fill > threshold),  # where nothing stands in for it, left
        np.full((len(at), n_outputs), 1 / n_outputs),
        np.zeros(len(at), dtype=np.int64),
        np.full(len(at), np.nan),
        own.classes,
        own.target,
        own.target_unit,
    )
