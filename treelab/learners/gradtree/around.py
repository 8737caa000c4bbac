"""Training around what is held fixed: an edited tree's free splits move, others not.

A locked split is a column that says which way its rows go, the only one that its split
may choose; its margin is so large that no gradient reaches it. So splits of one column,
of sets of categories and oblique ones are held alike, and the export writes them as
they stood. A forbidden column is not among those that a split chooses from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from treelab.data.encoding.scale import Interpolation, normal_scores
from treelab.learners.common.device import resolve_device
from treelab.learners.common.objective import (
    ClassObjective,
    Objective,
    RegressionObjective,
)
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.gradtree.annealed_trees import AnnealedTrees, TrainingRows
from treelab.learners.gradtree.annealing import descend, epochs_of
from treelab.learners.gradtree.hard_tree import LEAF, HardTree
from treelab.learners.gradtree.selection import TargetRows, medoids
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    GREEDY_LEAD,
    MOST_ROWS,
    NO_GAIN,
    RIVALS,
    Start,
    best_thresholds,
)
from treelab.training.events import Callback, Monitor
from treelab.trees.feature import feature_matrix
from treelab.trees.midpoints import midpoint
from treelab.trees.statistics import check_target
from treelab.trees.tree import Tree
from treelab.trees.walk import AXIS, goes_left

FAR = 100.0  # encoded value of a row on the right of a locked split


@dataclass(frozen=True, eq=False)
class Around:
    """What is trained, and what is held fixed.

    Attributes
    ----------
    tree : Tree
        Parents numbered before their children.
    locked : bool array of shape (n_nodes,)
        Splits that do not move.
    allowed : bool array of shape (n_nodes, n_features)
        What each split may test.
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves.
    with_leaves : callable
        Returns a tree of this shape with its leaves fitted.
    """

    tree: Tree
    locked: np.ndarray
    allowed: np.ndarray
    weights: np.ndarray
    with_leaves: Callable[[Tree], Tree]


def train_around(
    around: Around,
    rows: tuple,
    settings: GradTreeSettings,
    *,
    seed: int,
    device: str = "cpu",
    callbacks: Sequence[Callback] = (),
) -> Tree:
    """Train the free splits of a tree from where they stand.

    Restarts differ in the rival columns of each split; that which agrees most with the
    vote of all is retained, of those that leave every locked split rows on both sides.

    Parameters
    ----------
    around : Around
    rows : tuple of DataFrame and array-like
        The table (n_rows, n_columns) and its target (n_rows,).
    settings : GradTreeSettings
    seed : int
    device : str
    callbacks : sequence of callable

    Returns
    -------
    Tree
        Of the same shape.
    """
    tree, (X, y) = around.tree, rows
    columns = _Columns(around, X)
    known = check_target(tree, len(X), y)
    if tree.classes is None:
        known = TargetScale.of(known).standardise(known)
    target = TargetRows(known, tree.classes, around.weights[None])
    random = np.random.RandomState(seed)
    starts = [
        _start(around, columns, target.indicators, random, resampled=restart > 0)
        for restart in range(settings.n_restarts)
    ]
    objective, place = _objective(target, settings), resolve_device(device)
    encoded = TrainingRows(
        x=torch.tensor(columns.x.T[None], device=place),
        target=torch.tensor(objective.encode(target.y), device=place),
        objective=objective,
    )
    weight = torch.ones((len(starts), len(X)), device=place)
    trees = AnnealedTrees(encoded, starts, [0] * len(starts), weight)

    def export(trained: HardTree) -> Tree:
        """Return a tree in the user's units, its leaves fitted."""
        return around.with_leaves(columns.export(trained))

    epochs = max(1, round(epochs_of(settings, len(X))))
    monitor = Monitor(
        epochs, callbacks, snapshot=lambda: export(trees.hard_trees()[trees.leader])
    )
    descend(trees, settings, monitor, torch.Generator(place).manual_seed(seed))
    hard = trees.hard_trees()
    whole = [e for e, one in enumerate(hard) if columns.fills_locked(one)]
    if not whole:
        return export(starts[0].tree)
    found = [hard[e] for e in whole]
    leaves = [one.apply(columns.x) for one in found]
    chosen = medoids(target, found, leaves, np.arange(len(X)), by_vote=True)[0]
    model = export(found[chosen])
    first = export(starts[0].tree)
    monitor.retain(whole[chosen], {0.0: lambda: first, epochs: lambda: model})
    return model


class _Columns:
    """The table encoded as splits are trained on it, a column a locked split added.

    Attributes
    ----------
    x : ndarray of shape (n_rows, n_features + n_nodes), float32
        Normal scores; of each node the side on which it sends a row, where locked.
    """

    def __init__(self, around: Around, X):
        tree = self._tree = around.tree
        self._around = around
        matrix = feature_matrix(tree.features, X)
        n_rows, n_features = matrix.shape
        self.n_features = n_features
        self._fill, self._scales = np.zeros(n_features), []
        self.x = np.zeros((n_rows, n_features + tree.n_nodes), dtype=np.float32)
        for j, feature in enumerate(tree.features):
            column = matrix[:, j]
            known = column[~np.isnan(column)]
            middle = float(np.median(known)) if len(known) else 0.0
            self._fill[j] = middle if np.isnan(feature.fill) else feature.fill
            filled = np.where(np.isnan(column), self._fill[j], column)
            self._scales.append(normal_scores(filled))
            self.x[:, j] = self._scales[j](filled)
        every = np.arange(n_rows)
        for node in np.flatnonzero(around.locked & ~tree.is_leaf):
            left = goes_left(tree, matrix, np.full(n_rows, node), every)
            self.x[:, n_features + node] = np.where(left, -FAR, FAR)

    def start(self) -> HardTree:
        """Return the tree over encoded columns; oblique splits have no column yet."""
        tree, locked = self._tree, self._around.locked
        nodes = np.arange(tree.n_nodes)
        feature = np.where(locked, self.n_features + nodes, tree.feature)
        threshold = np.zeros(tree.n_nodes, dtype=np.float32)
        for node in np.flatnonzero(~locked & (tree.feature >= AXIS)):
            scale = self._scales[tree.feature[node]]
            threshold[node] = _encoded(scale, tree.threshold[node])
        leaf = tree.is_leaf
        return HardTree(
            left=tree.left.astype(np.int64),
            right=tree.right.astype(np.int64),
            feature=np.where(leaf, LEAF, feature),
            threshold=np.where(leaf, np.float32(np.nan), threshold),
        )

    def export(self, hard: HardTree) -> Tree:
        """Rewrite the free splits in the user's units; the locked ones as they were."""
        tree, free = self._tree, ~self._around.locked & ~self._tree.is_leaf
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        missing_left, weights = tree.missing_left.copy(), tree.weights
        for node in np.flatnonzero(free):
            j, at = int(hard.feature[node]), np.float32(hard.threshold[node])
            feature[node], threshold[node] = j, _decoded(self._scales[j], at)
            missing_left[node] = self._fill[j] <= threshold[node]
        if weights is not None:
            weights = np.where(free[:, None], 0.0, weights)
        return replace(
            tree,
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            weights=weights,
            between=None,
            missing_rows=None,
        )

    def fills_locked(self, hard: HardTree) -> bool:
        """Whether every locked split has rows on both sides."""
        passed = _passed(hard, hard.apply(self.x))
        held = self._around.locked & (hard.left != LEAF)
        return bool((passed[hard.left[held]] > 0).all()) and bool(
            (passed[hard.right[held]] > 0).all()
        )


def _start(
    around: Around,
    columns: _Columns,
    values: np.ndarray,
    random: np.random.RandomState,
    *,
    resampled: bool,
) -> Start:
    """Give each free split its rivals; where ``resampled``, by a bootstrap."""
    tree = columns.start()
    splits, feature = tree.splits, tree.feature.copy()
    threshold, n_rivals = tree.threshold.copy(), min(RIVALS, columns.n_features)
    chosen = np.zeros((len(splits), n_rivals), dtype=np.int64)
    thresholds = np.zeros(chosen.shape, dtype=np.float32)
    logits = np.full(chosen.shape, NO_GAIN, dtype=np.float32)
    every = np.arange(len(columns.x))
    at = {0: every}
    for place, node in enumerate(splits.tolist()):  # parents first
        here = at.pop(node)
        if not around.locked[node]:
            allowed = np.flatnonzero(around.allowed[node])
            sample = _sample(here if len(here) else every, random, resampled)
            gain, best = best_thresholds(columns.x[sample][:, allowed], values[sample])
            if feature[node] < 0:  # oblique: its best column takes its place
                feature[node] = allowed[gain.argmax()]
                threshold[node] = best[gain.argmax()]
            order = allowed[np.argsort(-gain, kind="stable")]
            rivals = order[order != feature[node]][: n_rivals - 1]
            of = {j: i for i, j in enumerate(allowed.tolist())}
            own = [of[j] for j in rivals.tolist()]
            used = slice(1, 1 + len(rivals))
            chosen[place, used], thresholds[place, used] = rivals, best[own]
            fall = 1 - gain[own] / max(gain.max(initial=0), 1e-12)
            logits[place, used] = NO_GAIN * np.clip(fall, 0, 1)
        else:
            used = slice(0, 1)
        chosen[place, 0], thresholds[place, 0] = feature[node], threshold[node]
        # Where fewer columns are allowed, the split's own fills the places.
        chosen[place, used.stop :] = feature[node]
        thresholds[place, used.stop :] = threshold[node]
        logits[place, 0] = GREEDY_LEAD
        left = columns.x[here, feature[node]] <= threshold[node]
        at[int(tree.left[node])], at[int(tree.right[node])] = here[left], here[~left]
    hard = tree.with_splits(feature[splits], threshold[splits])
    return Start("edited", hard, chosen, thresholds, logits)


def _sample(here: np.ndarray, random: np.random.RandomState, resampled: bool):
    """Return rows of a node that rank its columns, at most ``MOST_ROWS``."""
    if resampled:
        return random.choice(here, min(MOST_ROWS, len(here)))
    if len(here) > MOST_ROWS:
        return random.choice(here, MOST_ROWS, replace=False)
    return here


def _objective(target: TargetRows, settings: GradTreeSettings) -> Objective:
    """What the splits are trained for."""
    if target.classes is None:
        return RegressionObjective(TargetScale())
    return ClassObjective(
        class_weights=np.ones((target.n_outputs, 1)),
        loss_kind=settings.loss,
        focal_gamma=settings.focal_gamma,
        poly_epsilon=settings.poly_epsilon,
    )


def _passed(hard: HardTree, leaf: np.ndarray) -> np.ndarray:
    """Count the rows that pass each node."""
    count = np.bincount(leaf, minlength=len(hard.left))
    for node in hard.splits[::-1]:  # children first
        count[node] = count[hard.left[node]] + count[hard.right[node]]
    return count


def _encoded(scale: Interpolation, threshold: float) -> float:
    """Return a threshold between the scores of the values that it lies between."""
    place = int(np.searchsorted(scale.values, threshold, side="right"))
    low = scale.scores[place - 1] if place else scale.scores[0] - 1
    high = scale.scores[place] if place < len(scale.scores) else scale.scores[-1] + 1
    return float((low + high) / 2)


def _decoded(scale: Interpolation, threshold: np.float32) -> float:
    """Return a threshold in the column's unit; infinite beyond all its values."""
    scores = scale.scores.astype(np.float32)
    place = int(np.searchsorted(scores, threshold, side="right"))
    if place in (0, len(scores)):
        return float("inf") if place else float("-inf")
    return float(midpoint(scale.values[place - 1], scale.values[place]))
