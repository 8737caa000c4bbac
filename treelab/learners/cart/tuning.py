"""CART tuned by cross-validation, as a careful analyst tunes it.

Each fold grows one deep tree for each leaf size. Depth limits and numbers of leaves are
prunings of it, and class weights only change which class a leaf predicts, so one tree
gives the scores of all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from sklearn.tree import BaseDecisionTree

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.evaluation.pruned_scores import class_sums, pooled_scores, value_sums
from treelab.learners.cart.settings import CartSettings
from treelab.learners.common.base import TrainingData
from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.constrained.greedy import Limits, grow_constrained
from treelab.learners.common.folds import N_PARTS, assign_parts, repeated_folds
from treelab.learners.common.grown_tree import with_node_means
from treelab.training.events import Monitor
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.keeping import votes
from treelab.trees.feature import Feature
from treelab.trees.pruning.cost_complexity import cost_complexity_path
from treelab.trees.pruning.cut import cut_at
from treelab.trees.pruning.sizes import steps_at
from treelab.trees.statistics import with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import rows_through

DEPTHS = (2, 3, 4, 6, 8, 10)  # beside the largest that is allowed
LEAF_SIZES = (1, 5, 20)
# Growing takes most of the time, and where rows are many a leaf of one tells little.
LARGE_TABLE, LARGE_LEAF_SIZES = 10_000, (5, 50)
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of balanced class weights
MOST_LEAVES = 1000  # of a path, unless larger trees score better: nobody reads more


@dataclass(frozen=True)
class Candidate:
    """Settings that cross-validation scores at every number of leaves.

    Attributes
    ----------
    max_depth : int or None
    min_samples_leaf : int
    weighting : int
        Index of the class weights in the leaves.
    """

    max_depth: int | None
    min_samples_leaf: int
    weighting: int


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows of one fold, arrays of shape (m,).

    Attributes
    ----------
    leaf : int array
        Of the unpruned tree, that each row reaches.
    truth : ndarray
        Class code, or value.
    part : int array
        See ``folds.assign_parts``.
    """

    leaf: np.ndarray
    truth: np.ndarray
    part: np.ndarray


@dataclass(frozen=True)
class Search:
    """What is tried, and how a tree is grown.

    Attributes
    ----------
    settings : CartSettings
    task : {"binary", "multiclass", "regression"}
    classes : tuple or None
        Labels by code; None for regression.
    new_tree : callable
        Returns scikit-learn's tree, not yet grown, with so many rows a leaf.
    growing : ndarray of shape (n_classes,)
        Weight of each class while the tree is grown and pruned.
    predicting : ndarray of shape (n_weightings, n_classes)
        Weights of each class in the leaves.
    sizes : ndarray of shape (n_sizes,)
        Numbers of leaves, ascending.
    seed : int
    constraints : Constraints, optional
        What every tree keeps while it grows.
    """

    settings: CartSettings
    task: str
    classes: tuple | None
    new_tree: Callable[..., BaseDecisionTree]
    growing: np.ndarray
    predicting: np.ndarray
    sizes: np.ndarray
    seed: int
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def depths(self) -> tuple[int | None, ...]:
        """Depth limits, the shallowest first."""
        most = self.settings.max_depth
        return (*(d for d in DEPTHS if most is None or d < most), most)

    def leaf_sizes(self, n_rows: int) -> tuple[int, ...]:
        """Fewest rows in a leaf, the largest first."""
        tried = LARGE_LEAF_SIZES if n_rows > LARGE_TABLE else LEAF_SIZES
        least = max(self.settings.min_samples_leaf, tried[0])
        return (*(size for size in tried[::-1] if size > least), least)

    def candidates(self, n_rows: int) -> list[Candidate]:
        """List all, the simplest first, which wins where scores are equal."""
        return [
            Candidate(depth, leaf_size, weighting)
            for leaf_size in self.leaf_sizes(n_rows)
            for depth in self.depths
            for weighting in range(len(self.predicting))
        ]

    def least(self, leaf_size: int) -> int:
        """Fewest rows in a leaf, those that constraints ask for among them."""
        return max(leaf_size, self.constraints.min_samples_leaf)

    def grow(self, X, y, leaf_size: int, features: Sequence[Feature], **limits):
        """Grow scikit-learn's tree on float32 columns, up to the largest depth.

        Our own where constraints limit its splits; it has the same attributes.
        ``limits`` may hold ``max_leaf_nodes``.
        """
        weights = None if self.classes is None else self.growing[y]
        if not self.constraints.limits_splits:
            grown = self.new_tree(leaf_size, **limits)
            return grown.fit(X, y, sample_weight=weights).tree_
        return grow_constrained(
            X,
            np.eye(len(self.classes))[y] if self.classes else (y - y.mean())[:, None],
            weights,
            ColumnRules.of(self.constraints, features, self.classes),
            Limits(
                max_depth=self.settings.max_depth, min_samples_leaf=leaf_size, **limits
            ),
        ).depth_first()


def cross_validate(data: TrainingData, search: Search, monitor: Monitor) -> np.ndarray:
    """Score every candidate at every number of leaves.

    Each fold is a stage of the monitor's, so that a fit which was cut off goes on with
    the folds that it had finished.

    Returns
    -------
    ndarray of shape (n_candidates, n_sizes, n_parts)
        See ``pooled_scores``; candidates as ``Search.candidates`` lists them. The
        parts are those of ``folds.assign_parts``.
    """
    part = assign_parts(len(data.y), seed=search.seed)
    sums = [
        monitor.begin_stage().once(partial(_fold_sums, data, search, held_out, part))
        for of_repeat in _folds(data, search)
        for held_out in of_repeat
    ]
    return pooled_scores(np.sum(sums, axis=0), search.task)


def _folds(data: TrainingData, search: Search) -> list[list[np.ndarray]]:
    """The rows that each fold of each repeat holds out."""
    n_columns = data.frame.shape[1]
    return repeated_folds(data.y, seed=search.seed, n_columns=n_columns)


def weighted_impurity(tree: Tree, weights: np.ndarray) -> Tree:
    """Return a tree whose impurity is that of its rows, weighted by class.

    ``n_rows * impurity`` is the weighted risk of a node but for a constant factor, so
    the tree is pruned by the measure it was grown by.
    """
    if tree.class_counts is None:
        return tree
    weighted = tree.class_counts * weights
    total = weighted.sum(axis=1)
    fraction = weighted / np.maximum(total, 1e-300)[:, None]
    risk = total * (1 - (fraction**2).sum(axis=1))
    return replace(tree, impurity=risk / np.maximum(tree.n_rows, 1))


def _fold_sums(
    data: TrainingData, search: Search, held_out: np.ndarray, part: np.ndarray
) -> np.ndarray:
    """Sums (N_PARTS, n_candidates, n_sizes, 2, n_classes) of one fold's parts."""
    frame, y = data.frame[~held_out], data.y[~held_out]
    encoder = TableEncoder("none", task=search.task, random_state=search.seed)
    X = to_float32(encoder.fit_transform(frame, y))
    seen = X  # as prediction sees the same rows
    if encoder.target_encoded_:
        seen = to_float32(encoder.transform(frame))
    unseen = to_float32(encoder.transform(data.frame[held_out]))
    found: dict[tuple, list[np.ndarray]] = {}
    for leaf_size in search.leaf_sizes(len(data.y)):
        grown = search.grow(X, y, leaf_size, encoder.features_)
        tree = _encoded_tree(grown, encoder, search.classes)
        tree = with_leaves(tree, seen, grown.apply(seen), y)
        if search.classes is None:
            leaf = grown.apply(seen)
            tree = with_node_means(tree, leaf, y[:, None], np.ones(len(y)))
        tree = weighted_impurity(tree, search.growing)
        rows = HeldOut(grown.apply(unseen), data.y[held_out], part[held_out])
        for depth in search.depths:
            if depth is not None and depth < tree.depth:
                found[depth, leaf_size] = _depth_sums(tree, depth, rows, search)
            else:
                key = (None, leaf_size)
                if key not in found:
                    found[key] = _depth_sums(tree, tree.depth, rows, search)
                found[depth, leaf_size] = found[key]
    return np.stack(
        [
            found[c.max_depth, c.min_samples_leaf][c.weighting]
            for c in search.candidates(len(data.y))
        ],
        axis=1,
    )


def _depth_sums(
    tree: Tree,
    depth: int,
    rows: HeldOut,
    search: Search,
) -> list[np.ndarray]:
    """Sums (N_PARTS, n_sizes, 2, n_classes) of its prunings, for each class weighting.

    Parameters
    ----------
    tree : Tree
    depth : int
        Where the tree is cut before it is pruned.
    rows : HeldOut
    search : Search
    """
    # scikit-learn numbers nodes depth first, as cut_at does: what stays is in order.
    stays = np.flatnonzero(tree.level <= depth)
    small = tree if depth >= tree.depth else cut_at(tree, tree.level >= depth)
    path = cost_complexity_path(small)
    steps = steps_at(path, search.sizes)
    if search.classes is None:
        leaf = rows.leaf
        while (below := tree.level[leaf] > depth).any():
            leaf = np.where(below, tree.parent[leaf], leaf)
        leaf = np.searchsorted(stays, leaf)
        apart = [rows.part == place for place in range(N_PARTS)]
        sums = [value_sums(path, leaf[own], rows.truth[own])[steps] for own in apart]
        return [np.stack(sums)]
    assert small.class_counts is not None
    n_classes = len(search.classes)
    code = rows.part * n_classes + rows.truth
    counts = rows_through(tree, rows.leaf, code, N_PARTS * n_classes)[stays]
    counts = counts.reshape(-1, N_PARTS, n_classes)
    values, own = votes(search.constraints, search.classes)
    predicted = [
        (small.class_counts * own * weights @ values).argmax(1)
        for weights in search.predicting
    ]
    return [
        class_sums(path, counts, own)[steps].transpose(1, 0, 2, 3) for own in predicted
    ]


def _encoded_tree(grown, encoder: TableEncoder, classes: tuple | None) -> Tree:
    """Return scikit-learn's tree over encoded columns, for its shape alone."""
    leaf = grown.children_left < 0
    n_nodes, n_outputs = grown.node_count, len(classes or (None,))
    return Tree(
        features=encoder.features_,
        left=grown.children_left,
        right=grown.children_right,
        feature=np.where(leaf, -1, grown.feature),
        threshold=np.where(leaf, np.nan, grown.threshold),
        missing_left=np.zeros(n_nodes, dtype=bool),
        value=np.full((n_nodes, n_outputs), 1 / n_outputs),
        n_rows=np.zeros(n_nodes, dtype=np.int64),
        impurity=np.full(n_nodes, np.nan),
        classes=classes,
        between=np.full((n_nodes, 2), np.nan),  # nobody reads these here
        missing_rows=np.zeros(n_nodes, dtype=np.int64),
    )
