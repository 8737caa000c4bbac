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

from treelab.data.encoding import Interpolation, normal_scores
from treelab.learners.common.tuned_tree import retained
from treelab.learners.gradtree.network import HardTrees, Rows, epochs_of, train_trees
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    Starts,
    best_thresholds,
    greedy_starts,
    with_leaf_values,
)
from treelab.learners.gradtree.table import Judge, objective_of, values_of
from treelab.training.device import resolve_device
from treelab.training.events import Callback, Monitor
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.pruning import cut_at
from treelab.trees.tree import (
    AXIS,
    Tree,
    check_target,
    goes_left,
    leaf_of,
    midpoint,
    rows_through,
)

SIDE = 100.0  # encoded value of a row on the right of a locked split
MOST_LEVELS = 10  # that are trained; splits below stay as they are


@dataclass(frozen=True, eq=False)
class Around:
    """What is trained, and what is held fixed."""

    tree: Tree  # parents numbered before their children
    locked: np.ndarray  # bool (n_nodes,): splits that do not move
    allowed: np.ndarray  # bool (n_nodes, n_features): what each split may test
    weights: np.ndarray  # (n_classes,): of the classes in the leaves
    # Returns a tree of this shape with its leaves fitted.
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

    Restarts train on rows that are weighted by the Bayesian bootstrap, but for the
    first; the one that fits best and agrees most with all is retained, of those that
    leave every locked split rows on both sides.

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
    X, y = rows
    target = check_target(around.tree, len(X), y)
    settings = replace(settings, early_stopping=False)
    objective = objective_of(settings, target, around.tree.classes)
    columns = _Columns(around, X, values_of(objective, target))
    n_restarts, random = settings.n_restarts, np.random.RandomState(seed)
    weight = random.exponential(size=(n_restarts, len(X)))
    weight[0] = 1.0
    starts = columns.starts(n_restarts)
    starts = with_leaf_values(starts, columns.x, target, weight, objective)

    judge = Judge(
        target,
        np.ones(len(X)),
        objective.n_classes,
        lambda counts: (counts * around.weights).argmax(1),
    )
    network = HardTrees(
        starts,
        Rows(columns.x, columns.x, target, weight, judge.errors),
        objective,
        settings,
        resolve_device(device),
    )

    def export(trees: Starts, place: int) -> Tree:
        """Return a tree in the user's units, its leaves fitted."""
        return around.with_leaves(columns.export(*trees.splits(place)))

    n_epochs = epochs_of(settings, len(X))
    monitor = Monitor(n_epochs, callbacks, lambda: export(network.arrays(), 0))
    generator = torch.Generator(network.x.device).manual_seed(seed)
    train_trees(network, settings, monitor, generator)
    trained, first = network.arrays(), export(starts, 0)
    whole = [e for e in range(n_restarts) if columns.fills_locked(*trained.splits(e))]
    if not whole:
        return first
    leaves = network.leaves()
    place = whole[retained([judge.predicted(leaves[e]) for e in whole], target)]
    model = export(trained, place)
    monitor.retain(place, {0.0: lambda: first, n_epochs: lambda: model})
    return model


class _Columns:
    """The table encoded as splits are trained on it, a column a locked split added.

    Attributes
    ----------
    x : ndarray of shape (n_rows, n_features + n_nodes), float32
        Normal scores; of each node the side on which it sends a row where it is
        locked, else its column's scores with that side where they are missing.
    """

    def __init__(self, around: Around, X, values: np.ndarray):
        tree = self._tree = around.tree
        self._around = around
        matrix = feature_matrix(tree.features, X)
        n_rows, n_features = matrix.shape
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
        every, self._own = np.arange(n_rows), tree.feature.copy()  # column of a split
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            j, is_free = tree.feature[node], not around.locked[node]
            is_missing = np.isnan(matrix[:, j]) & (j >= AXIS)
            if is_free and not is_missing.any():
                continue
            left = goes_left(tree, matrix, np.full(n_rows, node), every)
            side, x = np.where(left, -SIDE, SIDE), self.x[:, j]
            if is_free:  # gradients reach it: not that far beyond the scores
                side = np.where(left, x.min() - 1, x.max() + 1)
                side = np.where(is_missing, side, x)
            self._own[node], self.x[:, n_features + node] = n_features + node, side
        self._values = values
        self._place = _places(tree)
        self._start = self._encoded()

    def starts(self, n_trees: int) -> Starts:
        """Lay the tree into complete ones."""
        tree, n_columns = self._tree, self.x.shape[1]
        top = self._start
        if top.depth > MOST_LEVELS:
            top = cut_at(top, top.level >= MOST_LEVELS)
        node_at = {place: node for node, place in enumerate(self._place.tolist())}
        places = _places(top)

        def offered(node: int, _: int) -> np.ndarray:
            own, may = node_at[int(places[node])], np.zeros(n_columns, dtype=bool)
            column, j = self._own[own], tree.feature[own]
            if self._around.locked[own]:
                may[column] = True
                return may
            may[: len(tree.features)] = self._around.allowed[own]
            if j >= AXIS:  # its own column, in the place of the plain one
                may[j], may[column] = False, may[j]
            return may

        return greedy_starts(
            [top] * n_trees, self.x, self._values, offered=[offered] * n_trees
        )

    def export(self, feature: np.ndarray, threshold: np.ndarray) -> Tree:
        """Rewrite the free splits in the user's units; the locked ones as they were."""
        tree = self._tree
        free = np.flatnonzero(self._is_trained(len(feature)) & ~self._around.locked)
        features, thresholds = tree.feature.copy(), tree.threshold.copy()
        missing_left, weights = tree.missing_left.copy(), tree.weights
        for node in free:
            j, at = feature[self._place[node]], threshold[self._place[node]]
            is_own = j == self._own[node]
            j = tree.feature[node] if is_own else j
            features[node], thresholds[node] = j, _decoded(self._scales[j], at)
            if not is_own:
                missing_left[node] = self._fill[j] <= thresholds[node]
        if weights is not None:
            weights = weights.copy()
            weights[free] = 0.0
        return replace(
            tree,
            feature=features,
            threshold=thresholds,
            missing_left=missing_left,
            weights=weights,
            between=None,
            missing_rows=None,
        )

    def fills_locked(self, feature: np.ndarray, threshold: np.ndarray) -> bool:
        """Whether every locked split has rows on both sides."""
        trained = np.flatnonzero(self._is_trained(len(feature)))
        features, thresholds = self._start.feature.copy(), self._start.threshold.copy()
        features[trained] = feature[self._place[trained]]
        thresholds[trained] = threshold[self._place[trained]]
        tree = replace(self._start, feature=features, threshold=thresholds)
        passed = rows_through(tree, leaf_of(tree, self.x))
        held = self._around.locked & ~tree.is_leaf
        sides = np.concatenate([tree.left[held], tree.right[held]])
        return bool((passed[sides] > 0).all())

    def _is_trained(self, n_splits: int) -> np.ndarray:
        """Which nodes stand among the splits of the complete tree."""
        return (self._place < n_splits) & ~self._tree.is_leaf

    def _encoded(self) -> Tree:
        """Return the tree over encoded columns; oblique splits take their best one."""
        tree, around = self._tree, self._around
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        at = {0: np.arange(len(self.x))}
        for node in np.flatnonzero(~tree.is_leaf).tolist():  # parents first
            here = at.pop(node)
            if around.locked[node]:
                feature[node], threshold[node] = self._own[node], 0.0
            elif tree.feature[node] >= AXIS:
                scale = self._scales[tree.feature[node]]
                feature[node] = self._own[node]
                threshold[node] = _encoded(scale, tree.threshold[node])
            else:
                rows = here if len(here) else np.arange(len(self.x))
                allowed = np.flatnonzero(around.allowed[node])
                x, values = self.x[rows][:, allowed], self._values[rows]
                gain, best = best_thresholds(x, values)
                feature[node] = allowed[gain.argmax()]
                threshold[node] = best[gain.argmax()]
            left = self.x[here, feature[node]] <= threshold[node]
            at[int(tree.left[node])], at[int(tree.right[node])] = (
                here[left],
                here[~left],
            )
        n_nodes = tree.n_nodes
        return Tree(
            features=(*tree.features, *[Feature("locked")] * n_nodes),
            left=tree.left,
            right=tree.right,
            feature=feature,
            threshold=threshold,
            missing_left=np.zeros(n_nodes, dtype=bool),
            value=tree.value,
            n_rows=tree.n_rows,
            impurity=tree.impurity,
            classes=tree.classes,
        )


def _places(tree: Tree) -> np.ndarray:
    """Return where each node stands in a complete tree, breadth first, (n_nodes,)."""
    place = np.zeros(tree.n_nodes, dtype=object)  # deep trees outgrow 64 bits
    for node in np.flatnonzero(~tree.is_leaf).tolist():  # parents first
        place[tree.left[node]] = 2 * place[node] + 1
        place[tree.right[node]] = 2 * place[node] + 2
    return np.minimum(place, 2**62).astype(np.int64)


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
