"""Training around what is held fixed: an edited tree's free splits move, others not.

A locked split is a column that says which way its rows go, the only one that its split
may choose; its margin is so large that no gradient reaches it. So splits of one column,
of sets of categories and oblique ones are held alike, and the export writes them as
they stood. A forbidden column is not among those that a split chooses from.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from treelab.data.encoding import Interpolation, normal_scores
from treelab.learners.common.around import Around, row_weights
from treelab.learners.common.tuned_tree import retained
from treelab.learners.gradtree.network import (
    HardTrees,
    Judge,
    Rows,
    epochs_of,
    objective_of,
    train_trees,
    values_of,
)
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    Starts,
    best_thresholds,
    greedy_starts,
    with_leaf_values,
)
from treelab.training.device import resolve_device
from treelab.training.events import Callback, Monitor
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.losses import SQUARED_ERROR
from treelab.trees.pruning import cut_at
from treelab.trees.tree import (
    AXIS,
    Tree,
    check_target,
    complete_places,
    goes_left,
    midpoint,
)

SIDE = 100.0  # encoded value of a row on the right of a locked split
MOST_LEVELS = 10  # that are trained; splits below stay as they are


def train_around(
    around: Around,
    rows: tuple,
    settings: GradTreeSettings,
    *,
    seed: int,
    device: str = "cpu",
    callbacks: Sequence[Callback] = (),
) -> Tree:
    """Train the free splits of a tree from where they stand; return one of its shape.

    Of the ``rows`` there are table, target, and weights or None. Restarts train on rows
    that are weighted by the Bayesian bootstrap as well, but for the first; the one that
    fits best and agrees most with all is retained, of those that leave every locked
    split rows on both sides.
    """
    X, y, own = rows
    target = check_target(around.tree, len(X), y)
    own = row_weights(own, len(X))
    settings = replace(settings, early_stopping=False)
    loss = around.tree.loss or SQUARED_ERROR
    objective = objective_of(settings, target, around.tree.classes, loss)
    columns = _Columns(around, feature_matrix(around.tree.features, X))
    n_restarts, random = settings.n_restarts, np.random.RandomState(seed)
    weight = random.exponential(size=(n_restarts, len(X)))
    weight[0] = 1.0
    weight *= own
    starts = columns.starts(values_of(objective, target), n_restarts)
    starts = with_leaf_values(starts, columns.x, target, weight, objective)
    judge = Judge(
        target,
        own,
        objective.n_classes,
        lambda counts: (counts * around.class_weights).argmax(1),
        loss,
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
    found = [columns.export(*trained.splits(e)) for e in range(n_restarts)]
    whole = [e for e in range(n_restarts) if around.is_kept_by(found[e], columns.raw)]
    if not whole:
        return first
    leaves = network.leaves()
    predicted = [judge.predicted(leaves[e]) for e in whole]
    place = whole[retained(predicted, target, weight=own, loss=loss)]
    model = around.with_leaves(found[place])
    monitor.retain(place, {0.0: lambda: first, n_epochs: lambda: model})
    return model


class _Columns:
    """The table encoded as splits are trained on it, a column a locked split added.

    ``x`` (n_rows, n_features + n_nodes) are normal scores; of each node the side on
    which it sends a row where it is locked, else its column's scores with that side
    where they are missing.
    """

    def __init__(self, around: Around, matrix: np.ndarray):
        tree = self._tree = around.tree
        self._around, self.raw = around, matrix
        n_rows, n_features = matrix.shape
        self._fill = around.fill(matrix)
        filled = np.where(np.isnan(matrix), self._fill, matrix)
        self._scales = [normal_scores(column) for column in filled.T]
        self.x = np.zeros((n_rows, n_features + tree.n_nodes), dtype=np.float32)
        for j, scale in enumerate(self._scales):
            self.x[:, j] = scale(filled[:, j])
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
        self._place = complete_places(tree)

    def starts(self, values: np.ndarray, n_trees: int) -> Starts:
        """Lay the tree into complete ones; ``values`` (n, C) are as for these."""
        around, n_features = self._around, len(self._tree.features)
        top = self._encoded(values)
        if top.depth > MOST_LEVELS:
            top = cut_at(top, top.level >= MOST_LEVELS)
        places, node_at = (
            complete_places(top),
            {p: i for i, p in enumerate(self._place)},
        )

        def offered(node: int, _: int) -> np.ndarray:
            own, may = node_at[places[node]], np.zeros(self.x.shape[1], dtype=bool)
            column, j = self._own[own], self._tree.feature[own]
            if not around.locked[own]:
                may[:n_features] = around.allowed[own]
            if around.locked[own]:
                may[column] = True
            elif j >= AXIS:  # its own column, in the place of the plain one
                may[j], may[column] = False, may[j]
            return may

        return greedy_starts(
            [top] * n_trees, self.x, values, offered=[offered] * n_trees
        )

    def export(self, feature: np.ndarray, threshold: np.ndarray) -> Tree:
        """Rewrite the free splits in the user's units; the locked ones as they were."""
        tree = self._tree
        is_trained = (self._place < len(feature)) & ~tree.is_leaf
        free = np.flatnonzero(is_trained & ~self._around.locked)
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
        splits = {"feature": features, "threshold": thresholds, "weights": weights}
        return self._around.rewritten(missing_left=missing_left, **splits)

    def _encoded(self, values: np.ndarray) -> Tree:
        """Return the tree over encoded columns; oblique splits take their best one."""
        tree, around = self._tree, self._around
        feature, threshold = self._own.copy(), np.zeros(tree.n_nodes)
        at = {0: np.arange(len(self.x))}
        for node in tree.splits.tolist():
            here, j = at.pop(node), tree.feature[node]
            if not around.locked[node] and j >= AXIS:
                threshold[node] = _encoded(self._scales[j], tree.threshold[node])
            elif not around.locked[node]:
                rows = here if len(here) else np.arange(len(self.x))
                allowed = np.flatnonzero(around.allowed[node])
                gain, best = best_thresholds(self.x[rows][:, allowed], values[rows])
                feature[node] = allowed[gain.argmax()]
                threshold[node] = best[gain.argmax()]
            left = self.x[here, feature[node]] <= threshold[node]
            at[int(tree.left[node])], at[int(tree.right[node])] = (
                here[left],
                here[~left],
            )
        nodes = np.arange(tree.n_nodes)
        return replace(
            tree,
            features=(*tree.features, *(Feature("locked") for _ in nodes)),
            feature=feature,
            threshold=np.where(tree.is_leaf, np.nan, threshold),
            missing_left=np.zeros(tree.n_nodes, dtype=bool),
            weights=None,
            leaf_weights=None,
            leaf_bias=None,
            between=None,
            missing_rows=None,
        )


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
