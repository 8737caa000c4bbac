"""A tree's size, leaf size, depth and class weights, by cross-validating greedy trees.

Each fold grows one deep tree for each leaf size. Depth limits and numbers of leaves are
prunings of it, and class weights only change which class a leaf predicts, so one tree
gives the scores of all of them. The size is the smallest within one standard error of
the best.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from treelab.data.encoding.table_encoder import TableEncoder, to_float32
from treelab.evaluation.pruning import class_sums, pooled_scores, value_sums
from treelab.learners.common.base import TrainingData
from treelab.learners.common.folds import N_PARTS, assign_parts, repeated_folds
from treelab.learners.common.greedy import Greedy
from treelab.learners.common.grown_tree import with_node_means
from treelab.training.events import Monitor
from treelab.trees.constraints import votes
from treelab.trees.pruning import (
    CostComplexityPath,
    cost_complexity_path,
    cut_at,
    steps_at,
    within_one_standard_error,
)
from treelab.trees.statistics import with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, rows_through

DEPTHS = (2, 3, 4, 6, 8, 10)  # beside the largest that is allowed
LEAF_SIZES = (1, 5, 20)
# Growing takes most of the time, and where rows are many a leaf of one tells little.
LARGE_TABLE, LARGE_LEAF_SIZES = 10_000, (5, 50)


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
class Search:
    """What is tried.

    Attributes
    ----------
    greedy : Greedy
        How trees grow.
    task : {"binary", "multiclass", "regression"}
    predicting : ndarray of shape (n_weightings, n_classes)
        Weights of each class in the leaves.
    sizes : ndarray of shape (n_sizes,)
        Numbers of leaves, ascending.
    min_samples_leaf : int
        Fewest rows in a leaf that are tried.
    seed : int
    """

    greedy: Greedy
    task: str
    predicting: np.ndarray
    sizes: np.ndarray
    min_samples_leaf: int
    seed: int

    @property
    def depths(self) -> tuple[int | None, ...]:
        """Depth limits, the shallowest first."""
        most = self.greedy.max_depth
        return (*(d for d in DEPTHS if most is None or d < most), most)

    def leaf_sizes(self, n_rows: int) -> tuple[int, ...]:
        """Fewest rows in a leaf, the largest first."""
        tried = LARGE_LEAF_SIZES if n_rows > LARGE_TABLE else LEAF_SIZES
        least = max(self.min_samples_leaf, tried[0])
        return (*(size for size in tried[::-1] if size > least), least)

    def candidates(self, n_rows: int) -> list[Candidate]:
        """List all, the simplest first, which wins where scores are equal."""
        return [
            Candidate(depth, leaf_size, weighting)
            for leaf_size in self.leaf_sizes(n_rows)
            for depth in self.depths
            for weighting in range(len(self.predicting))
        ]

    def grow(
        self,
        X: np.ndarray,
        seen: np.ndarray,
        y: np.ndarray,
        features,
        min_samples_leaf: int,
        weight: np.ndarray | None = None,
    ) -> Tree:
        """Grow a deep tree on columns ``X`` and count the rows as prediction sees them.

        Its impurity is that of its rows, weighted by class as while it grew.
        """
        tree = self.greedy.grow(
            X, y, features, min_samples_leaf=min_samples_leaf, weight=weight
        )
        return self.with_rows(tree, seen, y)

    def with_rows(self, tree: Tree, x: np.ndarray, y: np.ndarray) -> Tree:
        """Return a tree over encoded columns with its rows counted at its nodes."""
        leaf = leaf_of(tree, x)
        tree = with_leaves(tree, x, leaf, y)
        if tree.classes is None:
            return with_node_means(tree, leaf, y[:, None], np.ones(len(y)))
        return weighted_impurity(tree, self.greedy.class_weight)

    def predicted_class(self, class_counts: np.ndarray, weighting: int) -> np.ndarray:
        """Class (...,) that leaves of so many rows of each (..., C) predict."""
        values, own = votes(self.greedy.constraints, self.greedy.classes)
        return (class_counts * own * self.predicting[weighting] @ values).argmax(-1)


@dataclass(frozen=True)
class Choice:
    """What cross-validation settled for every number of leaves.

    Attributes
    ----------
    sizes : int array of shape (Z,)
    candidates : list of Z Candidate
        The best of each size.
    fold_scores : ndarray of shape (Z, n_parts)
        Macro F1 or R².
    chosen : int
        The smallest within one standard error of the best.
    standard_errors : ndarray of shape (Z,)
    """

    sizes: np.ndarray
    candidates: list[Candidate]
    fold_scores: np.ndarray
    chosen: int
    standard_errors: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Mean score (Z,)."""
        return self.fold_scores.mean(axis=1)

    @property
    def candidate(self) -> Candidate:
        """The one of the chosen size."""
        return self.candidates[self.chosen]


def cross_validate(data: TrainingData, search: Search, monitor: Monitor) -> Choice:
    """Score every candidate at every number of leaves, and choose.

    Each fold is a stage of the monitor's, so that a fit which was cut off goes on with
    the folds that it had finished.
    """
    scores = candidate_scores(data, search, monitor)
    best = scores.mean(axis=-1).argmax(axis=0)  # candidate of each size
    of_size = scores[best, np.arange(len(search.sizes))]
    chosen, errors = within_one_standard_error(of_size)
    candidates = search.candidates(len(data.y))
    return Choice(search.sizes, [candidates[i] for i in best], of_size, chosen, errors)


def candidate_scores(
    data: TrainingData, search: Search, monitor: Monitor
) -> np.ndarray:
    """Score every candidate at every number of leaves.

    Returns
    -------
    ndarray of shape (n_candidates, n_sizes, n_parts)
        See ``pooled_scores``; candidates as ``Search.candidates`` lists them. The
        parts are those of ``folds.assign_parts``.
    """
    part = assign_parts(len(data.y), seed=search.seed)
    folds = repeated_folds(data.y, seed=search.seed, n_columns=data.frame.shape[1])
    sums = [
        monitor.begin_stage().once(partial(_fold_sums, data, search, held_out, part))
        for of_repeat in folds
        for held_out in of_repeat
    ]
    return pooled_scores(np.sum(sums, axis=0), search.task)


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


def cut_path(tree: Tree, depth: int | None) -> CostComplexityPath:
    """Return the prunings of a tree whose levels below a depth are cut."""
    if depth is None or depth >= tree.depth:
        return cost_complexity_path(tree)
    return cost_complexity_path(cut_at(tree, tree.level >= depth))


def _fold_sums(
    data: TrainingData, search: Search, held_out: np.ndarray, part: np.ndarray
) -> np.ndarray:
    """Sums (N_PARTS, n_candidates, n_sizes, 2, n_classes) of one fold's parts."""
    y = data.y[~held_out]
    encoder = TableEncoder("rank", task=search.task, random_state=search.seed)
    X = to_float32(encoder.fit_transform(data.frame[~held_out], y))
    all_rows = to_float32(encoder.transform(data.frame))  # as prediction sees them
    seen, unseen = all_rows[~held_out], all_rows[held_out]
    found: dict[tuple, list[np.ndarray]] = {}
    for leaf_size in search.leaf_sizes(len(data.y)):
        tree = search.grow(X, seen, y, encoder.features_, leaf_size)
        for depth in search.depths:
            least = tree.depth if depth is None else min(depth, tree.depth)
            key = least, leaf_size
            if key not in found:
                path = cut_path(tree, least)
                rows = unseen, data.y[held_out], part[held_out]
                found[key] = path_sums(path, rows, search)
            found[depth, leaf_size] = found[key]
    return np.stack(
        [
            found[c.max_depth, c.min_samples_leaf][c.weighting]
            for c in search.candidates(len(data.y))
        ],
        axis=1,
    )


def path_sums(path: CostComplexityPath, rows: tuple, search: Search) -> list:
    """Sums (N_PARTS, n_sizes, 2, n_classes) of its prunings, for each class weighting.

    ``rows`` are columns, truth and part (see ``folds.assign_parts``) of those held out.
    """
    x, truth, part = rows
    tree, steps = path.tree, steps_at(path, search.sizes)
    leaf = leaf_of(tree, x)
    if tree.classes is None:
        apart = [part == place for place in range(N_PARTS)]
        sums = [value_sums(path, leaf[own], truth[own])[steps] for own in apart]
        return [np.stack(sums)]
    assert tree.class_counts is not None
    n_classes = len(tree.classes)
    counts = rows_through(tree, leaf, part * n_classes + truth, N_PARTS * n_classes)
    counts = counts.reshape(-1, N_PARTS, n_classes)
    predicted = [
        search.predicted_class(tree.class_counts, w)
        for w in range(len(search.predicting))
    ]
    return [
        class_sums(path, counts, own)[steps].transpose(1, 0, 2, 3) for own in predicted
    ]
