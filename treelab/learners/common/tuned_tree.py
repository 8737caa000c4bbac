"""Estimators of one tree whose size folds choose, and which of many is retained."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from treelab.data.encoding import TableEncoder, to_float32
from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.evaluation.pruning import class_sums, cost_sums, pooled_scores, value_sums
from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.folds import (
    N_FOLDS,
    N_PARTS,
    Rows,
    assign_parts,
    repeated_folds,
)
from treelab.learners.common.greedy import Greedy, as_columns, decoded_tree
from treelab.learners.common.origin import Origin, with_origin
from treelab.learners.common.settings import constraints_of
from treelab.learners.common.target import FINE, loss_note
from treelab.training.events import Monitor
from treelab.trees.constraints import cost_matrix, votes, with_note
from treelab.trees.losses import SQUARED_ERROR, Loss
from treelab.trees.pruning import (
    SMALLEST,
    CostComplexityPath,
    SizePath,
    cost_complexity_path,
    cut_at,
    path_of_sizes,
    size_grid,
    steps_at,
    within_one_standard_error,
)
from treelab.trees.tree import (
    Tree,
    check_target,
    leaf_of,
    node_constants,
    read_features,
    rows_through,
    sum_up,
    with_leaves,
    with_midpoint_thresholds,
)
from treelab.trees.words import counted

# Base of learners that grow one tree at once, with no epochs: CART, optimal trees.


class GrownTree(TableEstimator):
    """Base of estimators whose ``_grow`` returns trees of all training rows."""

    _start: str  # what the tree is grown or found by, a key of ``origin.STARTS``
    model_: Tree
    path_: SizePath
    history_: pd.DataFrame

    def _encoding(self, settings):
        """Ranks of numbers, which the best splits hang on alone."""
        return {"numbers": "rank"}

    def _learn(self, data, settings, callbacks):
        """Grow the tree; ``history_`` has its loss, on validation rows where given."""
        monitor = Monitor(1, callbacks, snapshot=lambda: self.model_)
        path = self._grow(self._standardised(data, settings), settings, monitor)
        restored = tuple(map(self._target_scale.restore_tree, path.trees))
        path = self._with_certainty(replace(path, trees=restored), data.rows)
        self.origin_ = Origin(
            self._start,
            trained=False,
            n_splits=path.tree.n_splits,
            n_changed=0,
            held_out=self._held_out(data, settings),
        )
        trees = tuple(with_origin(tree, self.origin_) for tree in path.trees)
        self.path_ = replace(path, trees=trees)
        self.model_ = self.path_.tree
        train, valid = data.rows, data.rows_valid
        losses = self._loss(train), self._loss(valid) if len(valid.y) else math.nan
        monitor.report(1, *losses)  # there is nothing left to stop
        self.history_ = monitor.history_frame()

    @property
    def tree_(self) -> Tree:
        """The fitted tree, thresholds in the units of ``X``."""
        return self.model_

    def _hold_out(self, target, groups):
        """Hold no rows out: the tree grows on all of them."""
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _held_out(self, data: TrainingData, settings) -> str:
        """What was held out to select by, for the origin; "" for nothing."""
        return ""

    def _standardised(self, data: TrainingData, settings) -> TrainingData:
        """Return the rows as trees grow on them; learn the loss and the unit."""
        return data

    def _grow(self, data: TrainingData, settings, monitor: Monitor) -> SizePath:
        """Return trees by size, in the user's columns and the unit of ``data.y``.

        Work that takes long, as each fold of a cross-validation, may be a stage of the
        monitor's, so that a fit which was cut off goes on.
        """
        raise NotImplementedError

    def _with_rows(
        self, tree: Tree, data: TrainingData, class_weights: np.ndarray | None = None
    ) -> Tree:
        """Return a tree with the training rows, each node predicting their mean.

        Trees are grown on cross-fitted categories; nodes predict the means of the rows
        that reach them at prediction time. On numbers alone the two are the same.
        ``class_weights`` (n_classes,) are those of the settings where None.
        """
        matrix = read_features(tree, data.frame)
        leaf = leaf_of(tree, matrix)
        target = check_target(tree, len(leaf), self._decode_target(data.y))
        tree = with_leaves(tree, matrix, leaf, target, data.weight)
        by_class, weights = self._leaf_weights(data, class_weights), data.rows.weights
        if by_class is not None:
            weights = by_class[data.y] * weights
        if tree.loss is not None:
            value = node_constants(tree, leaf, data.y, weights, tree.loss)[0]
            return replace(tree, value=value)
        tree = with_node_means(tree, leaf, self._values_of(data.y), weights)
        return replace(tree, class_weights=by_class)

    def _values_of(self, y) -> np.ndarray:
        """What leaves average, (n_rows, n_outputs): the targets as columns."""
        return as_columns(y)

    def _leaf_weights(self, data: TrainingData, given) -> np.ndarray | None:
        """What a row of each class counts in leaves, (n_classes,); None for numbers.

        ``given`` are the weights of ``_with_rows``.
        """
        return None

    def _loss(self, rows: Rows) -> float:
        """Mean loss of the exported tree on rows."""
        raise NotImplementedError


class GrownClassifier(GrownTree, TableClassifier):
    """Base of classifiers that grow one tree at once."""

    def _values_of(self, y):
        """Class codes as indicators, (n_rows, n_classes)."""
        return np.eye(len(self.classes_))[y]

    def _leaf_weights(self, data, given):
        """Those of the settings where none are given."""
        return self._class_weights(data.y, data.weight) if given is None else given

    def _loss(self, rows):
        """Log loss, in nats, of the exported tree; a pure wrong leaf costs 16."""
        proba = self.model_.predict_proba(rows.frame)[np.arange(len(rows.y)), rows.y]
        return float(np.average(-np.log(np.maximum(proba, 1e-7)), weights=rows.weight))


class GrownRegressor(GrownTree, TableRegressor):
    """Base of regressors that grow one tree at once."""

    def _standardised(self, data, settings):
        """Round in binary, so that means of values are those of the target."""
        self._learn_loss(settings, data, rounded=True)
        y, y_valid = map(self._target_scale.standardise, (data.y, data.y_valid))
        return replace(data, y=y, y_valid=y_valid)

    def _loss(self, rows):
        """Mean loss, the squared error in squared units of the target.

        Several targets are measured in standard deviations of each.
        """
        loss, target = self._loss_of_rows, rows.y
        predicted = self.model_.predict(rows.frame)
        if self.outputs_ and not self._levels:
            scale = self._target_scale.scale * 2.0**FINE
            predicted, target = predicted / scale, target / scale
            loss = loss.scaled(1 / scale)
        cost = loss.by_row(predicted, target)
        return float(np.average(cost, weights=rows.weight))


def with_node_means(
    tree: Tree, leaf: np.ndarray, values: np.ndarray, row_weights: np.ndarray
) -> Tree:
    """Let each node predict the weighted mean of the ``values`` of rows that pass it.

    Of the rows there are the leaf that each reaches (n_rows,), values (n_rows,
    n_outputs) and weights. A node that no row passes is as it was.
    """
    columns = [row_weights, *(row_weights * values.T)]
    at_leaf = [np.bincount(leaf, column, tree.n_nodes) for column in columns]
    total, *sums = sum_up(tree, np.stack(at_leaf, axis=1)).T
    mean = np.stack(sums, axis=1) / np.where(total > 0, total, 1)[:, None]
    return replace(tree, value=np.where((total > 0)[:, None], mean, tree.value))


# A tree's size, leaf size, depth and class weights, by cross-validating greedy trees.
#
# Each fold grows one deep tree for each leaf size. Depth limits and numbers of leaves
# are prunings of it, and class weights only change which class a leaf predicts, so one
# tree gives the scores of all of them. The size is the smallest within one standard
# error of the best; one leaf only where no size scores higher.


DEPTHS = (2, 3, 4, 6, 8, 10)  # beside the largest that is allowed
LEAF_SIZES = (1, 5, 20)
ROUNDING = 1e-9  # of a score: sums over leaves differ by less where trees do not
NO_SPLIT = "On held-out rows no tree with a split scored higher than one leaf."
# Growing takes most of the time, and where rows are many a leaf of one tells little.
LARGE_TABLE, LARGE_LEAF_SIZES = 10_000, (5, 50)


@dataclass(frozen=True)
class Candidate:
    """Settings that cross-validation scores at every number of leaves."""

    max_depth: int | None
    min_samples_leaf: int
    weighting: int  # index of the class weights in the leaves


@dataclass(frozen=True)
class Search:
    """What is tried."""

    greedy: Greedy  # how trees grow
    task: str  # "binary", "multiclass" or "regression"
    # (n_weightings, n_classes): weights of each class in the leaves.
    predicting: np.ndarray
    sizes: np.ndarray  # (n_sizes,): numbers of leaves, ascending
    min_samples_leaf: int  # fewest rows in a leaf that are tried
    seed: int
    loss: Loss = SQUARED_ERROR  # of regression, in the unit in which trees grow

    @property
    def scored_as(self) -> str:
        """Task as which held-out rows score sizes: costs of errors add up as losses."""
        costs = self.greedy.constraints.class_costs
        return "regression" if costs else self.task

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
        own: np.ndarray | None = None,
    ) -> Tree:
        """Grow a deep tree on columns ``X`` and count the rows as prediction sees them.

        Its impurity is that of its rows, weighted by class as while it grew. ``weight``
        (n,) is that while it grows, ``own`` that of the rows themselves.
        """
        tree = self.greedy.grow(
            X, y, features, min_samples_leaf=min_samples_leaf, weight=weight
        )
        return self.with_rows(tree, seen, y, own)

    def with_rows(
        self, tree: Tree, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
    ) -> Tree:
        """Return a tree over encoded columns with its rows counted at its nodes."""
        leaf = leaf_of(tree, x)
        tree = with_leaves(tree, x, leaf, y, weight)
        if tree.classes is None:
            weight = np.ones(len(y)) if weight is None else weight
            if not self.loss.is_squared:
                own = node_constants(tree, leaf, y, weight, self.loss)
                return replace(tree, value=own[0], impurity=own[1])
            return with_node_means(tree, leaf, as_columns(y), weight)
        return weighted_impurity(tree, self.greedy.class_weight)

    def predicted(self, tree: Tree, x: np.ndarray, weighting: int) -> np.ndarray:
        """Class codes or values that a tree predicts for encoded rows (n, F)."""
        leaf = leaf_of(tree, x)
        if tree.class_counts is not None:
            return self.predicted_class(tree.class_counts, weighting)[leaf]
        return tree.value[leaf] if tree.outputs else tree.value[leaf, 0]

    def predicted_class(self, class_counts: np.ndarray, weighting: int) -> np.ndarray:
        """Class (...,) that leaves of so many rows of each (..., C) predict."""
        values, own = votes(self.greedy.constraints, self.greedy.classes)
        return (class_counts * own * self.predicting[weighting] @ values).argmax(-1)


@dataclass(frozen=True)
class Choice:
    """What cross-validation settled for every number of leaves."""

    sizes: np.ndarray  # int (Z,)
    candidates: list[Candidate]  # the best of each size
    fold_scores: np.ndarray  # (Z, n_parts): macro F1 or R²
    chosen: int  # see ``chosen_size``
    standard_errors: np.ndarray  # (Z,)

    @property
    def scores(self) -> np.ndarray:
        """Mean score (Z,)."""
        return self.fold_scores.mean(axis=1)

    @property
    def candidate(self) -> Candidate:
        """The one of the chosen size."""
        return self.candidates[self.chosen]

    def path(self, trees: Sequence[Tree]) -> SizePath:
        """Bind the trees of the sizes, the first so many; the chosen one is noted."""
        n, chosen, noted = len(trees), self.chosen, list(trees)
        if chosen == 0 and len(self.sizes) > 1:
            noted[0] = replace(noted[0], notes=(*noted[0].notes, NO_SPLIT))
        smallest = within_one_standard_error(self.fold_scores)[0]
        return path_of_sizes(
            noted,
            self.sizes[:n],
            self.scores[:n],
            self.standard_errors[:n],
            chosen,
            rule=SMALLEST if chosen == smallest else "",
        )


def chosen_size(fold_scores: np.ndarray) -> tuple[int, np.ndarray]:
    """Choose the smallest size of two leaves or more within one standard error.

    One leaf, the first size, is chosen where none scores higher. ``fold_scores`` and
    what is returned are those of ``within_one_standard_error``.
    """
    mean = fold_scores.mean(axis=1)
    _, errors = within_one_standard_error(fold_scores)
    if mean[1:].max(initial=-np.inf) <= mean[0] + ROUNDING:
        return 0, errors
    return 1 + within_one_standard_error(fold_scores[1:])[0], errors


def cross_validate(data: TrainingData, search: Search, monitor: Monitor) -> Choice:
    """Score every candidate at every number of leaves, and choose.

    Each fold is a stage of the monitor's, so that a fit which was cut off goes on with
    the folds that it had finished.
    """
    part = assign_parts(len(data.y), seed=search.seed, groups=data.groups)
    folds = repeated_folds(
        data.y, seed=search.seed, n_columns=data.frame.shape[1], groups=data.groups
    )
    sums = [
        monitor.begin_stage().once(partial(_fold_sums, data, search, held_out, part))
        for of_repeat in folds
        for held_out in of_repeat
    ]
    # (n_candidates, n_sizes, n_parts), of which each size has its best candidate.
    scores = pooled_scores(np.sum(sums, axis=0), search.scored_as)
    best = scores.mean(axis=-1).argmax(axis=0)
    of_size = scores[best, np.arange(len(search.sizes))]
    chosen, errors = chosen_size(of_size)
    candidates = search.candidates(len(data.y))
    return Choice(search.sizes, [candidates[i] for i in best], of_size, chosen, errors)


def weighted_impurity(tree: Tree, weights: np.ndarray) -> Tree:
    """Return a tree whose impurity is that of its rows, weighted by class.

    ``mass * impurity`` is the weighted risk of a node but for a constant factor, so
    the tree is pruned by the measure it was grown by.
    """
    assert tree.class_counts is not None
    weighted = tree.class_counts * weights
    total = weighted.sum(axis=1)
    fraction = weighted / np.maximum(total, 1e-300)[:, None]
    risk = total * (1 - (fraction**2).sum(axis=1))
    return replace(tree, impurity=risk / np.where(tree.n_rows > 0, tree.mass, 1))


def cut_path(tree: Tree, depth: int | None) -> CostComplexityPath:
    """Return the prunings of a tree whose levels below a depth are cut."""
    if depth is None or depth >= tree.depth:
        return cost_complexity_path(tree)
    return cost_complexity_path(cut_at(tree, tree.level >= depth))


def _fold_sums(
    data: TrainingData, search: Search, held_out: np.ndarray, part: np.ndarray
) -> np.ndarray:
    """Sums (N_PARTS, n_candidates, n_sizes, 2, n_classes) of one fold's parts."""
    own = data.rows.take(~held_out)
    encoder = TableEncoder("rank", task=search.task, random_state=search.seed)
    X = to_float32(encoder.fit_transform(*own))
    all_rows = to_float32(encoder.transform(data.frame))  # as prediction sees them
    seen, unseen = all_rows[~held_out], all_rows[held_out]
    found: dict[tuple, list[np.ndarray]] = {}
    for leaf_size in search.leaf_sizes(len(data.y)):
        grown_on = X, seen, own.y, encoder.features_
        tree = search.grow(*grown_on, leaf_size, own.weight, own.weight)
        for depth in search.depths:
            least = tree.depth if depth is None else min(depth, tree.depth)
            key = least, leaf_size
            if key not in found:
                path, apart = cut_path(tree, least), data.rows.take(held_out)
                rows = unseen, apart.y, part[held_out], apart.weight
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

    ``rows`` are columns, truth, part (see ``folds.assign_parts``) and weights, or None,
    of those held out.
    """
    x, truth, part, weight = rows
    tree, steps = path.tree, steps_at(path, search.sizes)
    leaf = leaf_of(tree, x)
    if tree.classes is None:
        each = np.ones(len(truth)) if weight is None else weight
        apart = [part == place for place in range(N_PARTS)]
        parts = [(leaf[own], truth[own], each[own]) for own in apart]
        return [value_sums(path, parts, search.loss)[steps].transpose(1, 0, 2, 3)]
    assert tree.class_counts is not None
    n_classes = len(tree.classes)
    cell = part * n_classes + truth
    counts = rows_through(tree, leaf, cell, N_PARTS * n_classes, weight)
    counts = counts.reshape(-1, N_PARTS, n_classes)
    predicted = [
        search.predicted_class(tree.class_counts, w)
        for w in range(len(search.predicting))
    ]
    costs = cost_matrix(search.greedy.constraints, tree.classes)
    if costs is not None:
        found = [cost_sums(path, counts, own, costs) for own in predicted]
    else:
        found = [class_sums(path, counts, own) for own in predicted]
    return [own[steps].transpose(1, 0, 2, 3) for own in found]


# Many trees of the same rows, and the one of them that is retained.
#
# Trees grown on rows that are weighted by the Bayesian bootstrap (Rubin, 1981) differ
# where the rows leave it open; retained is the one that does best by the rows
# themselves (bumping: Tibshirani and Knight, "Model search by bootstrap 'bumping'",
# 1999).


class Restarts:
    """Greedy trees of all rows, the first as it is, the others on bootstrap weights.

    Of the ``rows`` there are encoded columns to grow on and as prediction sees them,
    target, features, and weights, None where all count alike; ``random`` draws the
    bootstrap's.
    """

    def __init__(self, search: Search, rows: tuple, n_restarts: int, random):
        self.search, self._rows = search, rows
        n_rows, own = len(rows[2]), rows[-1]
        drawn = [random.exponential(size=n_rows) for _ in range(n_restarts - 1)]
        self._weights = [own, *(each if own is None else own * each for each in drawn)]
        self._deep: dict[int, list[Tree]] = {}
        self._paths: dict[tuple, list[CostComplexityPath]] = {}

    def trees(self, candidate: Candidate, n_leaves: int) -> list[Tree]:
        """Return a candidate's trees, pruned to at most so many leaves."""
        steps = self.steps(candidate, n_leaves)
        return [path[at] for path, at in zip(self._pruned(candidate), steps)]

    def steps(self, candidate: Candidate, n_leaves: int) -> tuple[int, ...]:
        """Say which pruning of each tree has at most so many leaves.

        Where all of a candidate's are the same for two sizes, so are the trees.
        """
        most = np.array([n_leaves])
        return tuple(int(steps_at(path, most)[0]) for path in self._pruned(candidate))

    def _pruned(self, candidate: Candidate) -> list[CostComplexityPath]:
        """Grow a candidate's trees once, and prune each."""
        leaf_size, depth = candidate.min_samples_leaf, candidate.max_depth
        if leaf_size not in self._deep:
            X, seen, y, features, own = self._rows
            self._deep[leaf_size] = [
                self.search.grow(X, seen, y, features, leaf_size, weight, own)
                for weight in self._weights
            ]
        if (depth, leaf_size) not in self._paths:
            paths = [cut_path(tree, depth) for tree in self._deep[leaf_size]]
            self._paths[depth, leaf_size] = paths
        return self._paths[depth, leaf_size]

    def retained(self, candidate: Candidate, n_leaves: int) -> Tree:
        """Return the tree of a size that is retained; see ``retained``."""
        trees = self.trees(candidate, n_leaves)
        if len(trees) == 1:
            return trees[0]
        _, seen, y, _, weight = self._rows
        weighting, loss = candidate.weighting, self.search.loss
        predicted = [self.search.predicted(tree, seen, weighting) for tree in trees]
        return trees[retained(predicted, y, weight=weight, loss=loss)]


def retained(
    predicted: Sequence[np.ndarray],
    y: np.ndarray,
    fit: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    loss: Loss = SQUARED_ERROR,
) -> int:
    """Choose the tree that fits its rows best and agrees most with the vote of all.

    Each of the R trees has its ``predicted`` class codes, or values, as ``y`` (n_rows,)
    or (n_rows, n_outputs). Fit (R,), by default macro F1, and agreement, the fraction
    of the votes that a row's class has, are from 0 to 1; of values both are mean
    losses, to the target and to the mean prediction. The first wins where several are
    level.
    """
    found = np.stack(predicted)  # (R, n)
    if np.issubdtype(y.dtype, np.floating):
        error = loss.by_row(found, y) + loss.by_row(found, found.mean(0))
        return int(np.average(error, axis=1, weights=weight).argmin())
    n_classes = int(max(y.max(), found.max())) + 1
    if fit is None:
        confusions = [confusion_matrix(y, own, n_classes, weight) for own in found]
        fit = macro_f1(np.stack(confusions))
    votes = np.stack([(found == code).mean(0) for code in range(n_classes)], axis=1)
    agreed = votes[np.arange(len(y)), found]  # (R, n)
    agreement = np.average(agreed, axis=1, weights=weight)
    return int(np.argmax(fit + agreement))


# Base of CART and GradTree: one tree whose size and class weights folds choose.


POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of balanced class weights that "auto" tries
IN_FOLDS = f"the rows held out of {N_FOLDS} folds in turn"


class TunedTree(GrownTree):
    """What the classifiers and the regressors share."""

    def _search(self, data: TrainingData, settings, *, min_samples_leaf=1) -> Search:
        """Check the constraints; return what cross-validation tries."""
        self.constraints_ = constraints_of(self, data.frame)
        if self.outputs_ and self.constraints_.monotone:
            raise ValueError(
                f"monotone is an order of one prediction, got {len(self.outputs_)}: "
                f"{', '.join(self.outputs_)}. Leave it out or predict one of them."
            )
        growing, predicting = self._weightings(data)
        most = min(settings.max_leaf_nodes or len(data.y), len(data.y))
        loss = self._scaled_loss
        return Search(
            greedy=Greedy(
                self.labels(),
                growing,
                settings.max_depth,
                self.random_state,
                self._ccp_alpha(settings),
                loss.criterion,
                self.constraints_,
                self.outputs_,
            ),
            task=self._task(),
            predicting=predicting,
            sizes=size_grid(most),
            min_samples_leaf=min_samples_leaf,
            seed=self._draw_seed(),
            loss=loss,
        )

    def _weightings(self, data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
        """Weights of classes while growing (n_classes,), and to try in the leaves."""
        return np.ones(1), np.ones((1, 1))

    def _ccp_alpha(self, settings) -> float:
        """Complexity parameter in the unit of the target that is grown on."""
        return getattr(settings, "ccp_alpha", 0.0)

    def _with_rows(self, tree, data, class_weights=None):
        """With thresholds midway between the rows of their node, as CART sets them."""
        tree = super()._with_rows(tree, data, class_weights)
        return with_midpoint_thresholds(tree)

    def _exported(
        self, tree: Tree, data: TrainingData, class_weights, notes: tuple[str, ...] = ()
    ) -> Tree:
        """Rewrite a tree over encoded columns in the user's, with rows and notes."""
        tree = replace(decoded_tree(tree, data.encoder), notes=notes)
        if not self._loss_of_rows.is_squared:
            own = self._scaled_loss
            tree = replace(tree, loss=own, notes=(*tree.notes, loss_note(own)))
        tree = self._with_rows(tree, data, class_weights)
        return with_note(tree, self.constraints_)

    def _tuned_notes(self, search: Search, candidate: Candidate) -> tuple[str, ...]:
        """Say which settings cross-validation chose."""
        least = max(candidate.min_samples_leaf, self.constraints_.min_samples_leaf)
        depth = "any depth"
        if candidate.max_depth is not None:
            depth = f"depth at most {candidate.max_depth}"
        return (
            f"Tuned by {N_FOLDS}-fold cross-validation: {depth}, at least "
            f"{counted(least, 'row')} a leaf, pruned to its number of leaves.",
        )


class TunedClassifier(TunedTree, GrownClassifier):
    """What the classifiers share: weights of classes, costs of errors."""

    def _weightings(self, data):
        """Powers of balanced weights in the leaves, or those of the settings alone."""
        growing = self._training_weights(data)
        if self.constraints_.class_costs:
            return growing, np.ones((1, len(growing)))
        if self._class_weight != "auto":
            return growing, growing[None]
        balanced = self._balanced_weights(data.y, data.weight)
        powers = balanced ** np.array(POWERS)[:, None]
        mean = np.average(powers[:, data.y], axis=1, weights=data.weight)
        return growing, powers / mean[:, None]

    def _values_of(self, y):
        """What each row votes for, its class unless errors have costs."""
        return votes(self.constraints_, self.labels())[0][y]

    def _leaf_weights(self, data, given):
        """Times those of each class's votes, by the costs of its errors."""
        own = votes(self.constraints_, self.labels())[1]
        return super()._leaf_weights(data, given) * own

    def _tuned_notes(self, search, candidate):
        """The class weights, too, where they differ."""
        weights = self._weights_note(search.predicting[candidate.weighting])
        return (*super()._tuned_notes(search, candidate), *weights)


class TunedRegressor(TunedTree, GrownRegressor):
    """What the regressors share."""

    def _ccp_alpha(self, settings):
        """A variance, or half a deviance; of several targets a fraction of each's."""
        scale = self._target_scale.scale
        if np.ndim(scale):
            scale = 2.0**-FINE
        once = super()._ccp_alpha(settings) / scale
        return once if self._loss_of_rows.criterion == "poisson" else once / scale
