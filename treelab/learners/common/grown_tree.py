"""Base of learners that grow one tree at once, with no epochs: CART, optimal trees."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pandas as pd

from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.origin import Origin, with_origin
from treelab.learners.common.spec import read_settings
from treelab.learners.common.target_scale import TargetScale
from treelab.training.events import Callback, Monitor
from treelab.trees.pruning import SizePath
from treelab.trees.statistics import check_target, with_leaves
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, read_features, sum_up


class Rows(Protocol):
    """Rows of a table that a tree is fitted to, and their encoded target."""

    @property
    def frame(self) -> pd.DataFrame:
        """As the caller gave them."""
        ...

    @property
    def y(self) -> np.ndarray:
        """Class codes, or values, (n_rows,)."""
        ...


class GrownTree(TableEstimator):
    """Base of estimators whose ``_grow`` returns trees of all training rows."""

    _start: str  # what the tree is grown or found by, a key of ``origin.STARTS``
    model_: Tree
    path_: SizePath
    history_: pd.DataFrame

    def fit(
        self, X, y, *, X_valid=None, y_valid=None, callbacks: Sequence[Callback] = ()
    ):
        """Grow the tree on ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Validation rows do not shape the tree; they only give ``history_`` its
        validation loss. (CART that is tuned takes them for training rows: it
        cross-validates.)
        """
        settings = read_settings(self)
        monitor = Monitor(1, callbacks, snapshot=lambda: self.model_)
        data = self._read(X, y, X_valid, y_valid, numbers="rank")
        path = self._search_path(data, settings, monitor)
        path = self._with_probabilities(path, data.frame, data.y)
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
        train_loss = self._loss(data.frame, data.y)
        valid_loss = math.nan
        if len(data.y_valid):
            valid_loss = self._loss(data.frame_valid, data.y_valid)
        monitor.report(1, train_loss, valid_loss)  # there is nothing left to stop
        self.history_ = monitor.history_frame()
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, thresholds in the units of ``X``."""
        return self.model_

    def _hold_out(self, target):
        """Hold no rows out: the tree grows on all of them."""
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _held_out(self, data: TrainingData, settings) -> str:
        """What was held out to select by, for the origin; "" for nothing."""
        return ""

    def _search_path(self, data: TrainingData, settings, monitor: Monitor) -> SizePath:
        """Return trees by size, in the user's columns and units."""
        return self._grow(data, settings, monitor)

    def _grow(self, data: TrainingData, settings, monitor: Monitor) -> SizePath:
        """Return trees by size, in the user's columns and the unit of ``data.y``.

        Work that takes long, as each fold of a cross-validation, may be a stage of the
        monitor's, so that a fit which was cut off goes on.
        """
        raise NotImplementedError

    def _with_rows(
        self, tree: Tree, data: Rows, class_weights: np.ndarray | None = None
    ) -> Tree:
        """Return a tree with the training rows, each node predicting their mean.

        Trees are grown on cross-fitted categories; nodes predict the means of the rows
        that reach them at prediction time. On numbers alone the two are the same.
        ``class_weights`` (n_classes,) are those of the settings where None.
        """
        matrix = read_features(tree, data.frame)
        leaf = leaf_of(tree, matrix)
        target = check_target(tree, len(leaf), self._decode_target(data.y))
        tree = with_leaves(tree, matrix, leaf, target)
        weights = self._row_weights(data.y)
        if class_weights is not None:
            weights = class_weights[data.y]
        weights = weights * self._vote_weights(data.y)
        tree = with_node_means(tree, leaf, self._values_of(data.y), weights)
        return replace(tree, class_weights=self._by_class(data.y, weights))

    def _values_of(self, y) -> np.ndarray:
        """What leaves average, (n_rows, n_outputs)."""
        raise NotImplementedError

    def _row_weights(self, y) -> np.ndarray:
        """Weight of each row, (n_rows,)."""
        raise NotImplementedError

    def _vote_weights(self, y) -> np.ndarray | float:
        """What each row's weight is multiplied by in the nodes; see ``votes``."""
        return 1.0

    def _by_class(self, y, weights) -> np.ndarray | None:
        """Weights of rows (n_rows,) by class, (n_classes,); None without classes."""
        return None

    def _loss(self, frame, target) -> float:
        """Mean loss of the exported tree."""
        raise NotImplementedError


class GrownClassifier(GrownTree, TableClassifier):
    """Base of classifiers that grow one tree at once."""

    def _values_of(self, y):
        """Class codes as indicators, (n_rows, n_classes)."""
        return np.eye(len(self.classes_))[y]

    def _row_weights(self, y):
        """Weight of each row, by its class."""
        return self._class_weights(y)[y]

    def _by_class(self, y, weights):
        """Every row of a class has the same; every class has a row."""
        by_class = np.ones(len(self.classes_))
        by_class[y] = weights
        return by_class

    def _loss(self, frame, target):
        """Log loss, in nats, of the exported tree; a pure wrong leaf costs 16."""
        proba = self.model_.predict_proba(frame)[np.arange(len(target)), target]
        return float(-np.log(np.maximum(proba, 1e-7)).mean())


class GrownRegressor(GrownTree, TableRegressor):
    """Base of regressors that grow one tree at once."""

    def _search_path(self, data, settings, monitor):
        """Search on the standardised target, then restore its unit."""
        self._target_scale = scale = TargetScale.rounded(data.y)
        path = self._grow(replace(data, y=scale.standardise(data.y)), settings, monitor)
        return replace(path, trees=tuple(map(scale.restore_tree, path.trees)))

    def _values_of(self, y):
        """The target as a column, (n_rows, 1)."""
        return y[:, None]

    def _row_weights(self, y):
        """Equal weights."""
        return np.ones(len(y))

    def _loss(self, frame, target):
        """Mean squared error, in squared units of the target."""
        return float(np.mean((self.model_.predict(frame) - target) ** 2))


def with_node_means(
    tree: Tree, leaf: np.ndarray, values: np.ndarray, row_weights: np.ndarray
) -> Tree:
    """Let each node predict the weighted mean of the rows that pass it.

    Parameters
    ----------
    tree : Tree
    leaf : int array of shape (n_rows,)
        Leaf that each row reaches.
    values : ndarray of shape (n_rows, n_outputs)
        What is averaged.
    row_weights : ndarray of shape (n_rows,)

    Returns
    -------
    Tree
        A node that no row passes is as it was.
    """
    columns = [row_weights, *(row_weights * values.T)]
    at_leaf = [np.bincount(leaf, column, tree.n_nodes) for column in columns]
    total, *sums = sum_up(tree, np.stack(at_leaf, axis=1)).T
    mean = np.stack(sums, axis=1) / np.where(total > 0, total, 1)[:, None]
    return replace(tree, value=np.where((total > 0)[:, None], mean, tree.value))
