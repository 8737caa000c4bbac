"""CART: the greedy tree, scikit-learn's, exported as ours."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.cart.settings import CartSettings
from treelab.learners.common.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.common.spec import read_settings
from treelab.training.events import HISTORY, Progress, notify
from treelab.trees.pruning.simplify import simplify
from treelab.trees.tree import Tree


class _Cart:
    """What the classifier and the regressor share."""

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        min_samples_leaf=CartSettings.min_samples_leaf,
        ccp_alpha=CartSettings.ccp_alpha,
        class_weight=CartSettings.class_weight,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Grow the tree on ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Validation rows do not shape a greedy tree; they only give ``history_`` its
        validation loss. Without them the tree grows on every row.
        """
        started = time.monotonic()
        read_settings(CartSettings, self)
        data = self._read(X, y, X_valid, y_valid, numbers="none")
        grown = self._grower().fit(data.X.astype(np.float32), data.y)
        self.model_ = simplify(self._export(grown.tree_, data))
        losses = [
            self._loss(frame, target)
            for frame, target in (
                (data.frame, data.y),
                (data.frame_valid, data.y_valid),
            )
        ]
        seconds = time.monotonic() - started
        self.history_ = pd.DataFrame([(1, *losses, seconds, "")], columns=HISTORY)
        progress = Progress(1, 1, *losses, seconds, snapshot=lambda: self.model_)
        notify(callbacks, progress)  # there is nothing left to stop
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, thresholds in the units of ``X``."""
        return self.model_

    def _hold_out(self, target):
        """A greedy tree has no use for held-out rows; it grows on all of them."""
        rows = np.arange(len(target))
        return rows, rows

    def _export(self, grown, data: TrainingData) -> Tree:
        """Rewrite scikit-learn's arrays in the user's columns and units."""
        leaf = grown.children_left < 0
        feature = np.where(leaf, -1, grown.feature).astype(np.int32)
        threshold = np.full(grown.node_count, np.nan)
        missing_left = np.zeros(grown.node_count, dtype=bool)
        threshold[~leaf], missing_left[~leaf] = data.encoder.axis_splits(
            grown.feature[~leaf], grown.threshold[~leaf]
        )
        tree = Tree(
            features=data.encoder.features_,
            left=grown.children_left.astype(np.int32),
            right=grown.children_right.astype(np.int32),
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            value=grown.value[:, 0, :].astype(np.float64),
            n_rows=grown.n_node_samples.astype(np.int64),
            impurity=grown.impurity.astype(np.float64),
            classes=self.labels(),
        )
        # Grown on cross-fitted categories; the answers are those of the rows that
        # reach a leaf at prediction time. On numbers alone the two are the same.
        return with_leaf_means(
            tree.with_rows(data.frame, self._named(data.y)),
            data.frame,
            self._as_values(data.y),
            self._row_weights(data.y),
        )


def with_leaf_means(
    tree: Tree, frame: pd.DataFrame, values: np.ndarray, row_weights: np.ndarray
) -> Tree:
    """Let each leaf answer the weighted mean of ``values`` (n_rows, n_outputs)."""
    leaf = tree.apply(frame)
    total = np.bincount(leaf, row_weights, minlength=tree.n_nodes)
    mean = (
        np.stack(
            [
                np.bincount(leaf, row_weights * v, minlength=tree.n_nodes)
                for v in values.T
            ],
            axis=1,
        )
        / np.where(total > 0, total, 1)[:, None]
    )
    return replace(tree, value=np.where((total > 0)[:, None], mean, tree.value))


class CartClassifier(_Cart, TableClassifier):
    """Classification tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target rate.

    Parameters
    ----------
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None grows until leaves are pure.
    min_samples_leaf : int, default=1
        Training rows that every leaf keeps, at least 1.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: impurity that a leaf must save, at least 0.
    class_weight : None, "balanced" or dict of label to weight, default=None
        What a row of each class counts.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        One row: log loss on training and validation rows, seconds.
    """

    def _named(self, y):
        """Labels of class codes."""
        return self.classes_[y]

    def _as_values(self, y):
        """Class codes as rows of one 1 among 0, (n_rows, n_classes)."""
        return np.eye(len(self.classes_))[y]

    def _row_weights(self, y):
        """What each row counts, by its class."""
        return self._class_weights(y)[y]

    def _grower(self):
        """scikit-learn's tree with our settings."""
        weight = self.class_weight
        if isinstance(weight, dict):
            codes = {label: code for code, label in enumerate(self.classes_)}
            weight = {codes[label]: share for label, share in weight.items()}
        return DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            ccp_alpha=self.ccp_alpha,
            class_weight=weight,
            random_state=self.random_state,
        )

    def _loss(self, frame, target) -> float:
        """Log loss, in nats, of the exported tree; a pure wrong leaf costs 16."""
        proba = self.model_.predict_proba(frame)[np.arange(len(target)), target]
        return float(-np.log(np.maximum(proba, 1e-7)).mean())


class CartRegressor(_Cart, TableRegressor):
    """Regression tree grown greedily, one split after another.

    Source: Breiman, Friedman, Olshen and Stone, "Classification and Regression
    Trees", 1984, in scikit-learn's implementation. Missing numbers take the
    training median, categories their cross-fitted target mean.

    Parameters
    ----------
    max_depth : int or None, default=None
        Splits on the longest path, 1 to 30; None grows until leaves are pure.
    min_samples_leaf : int, default=1
        Training rows that every leaf keeps, at least 1.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning: variance that a leaf must save, at least 0.
    random_state : int, RandomState instance or None, default=None
        Breaks ties between equally good splits.
    device : str, default="auto"
        Accepted for the common interface; a greedy tree is grown on the CPU.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, thresholds in the units of ``X``.
    history_ : DataFrame
        One row: squared error on training and validation rows, seconds.
    """

    def __init__(
        self,
        max_depth=CartSettings.max_depth,
        *,
        min_samples_leaf=CartSettings.min_samples_leaf,
        ccp_alpha=CartSettings.ccp_alpha,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state
        self.device = device

    def _named(self, y):
        """The target needs no names."""
        return y

    def _as_values(self, y):
        """The target as a column, (n_rows, 1)."""
        return y[:, None]

    def _row_weights(self, y):
        """Every row counts the same."""
        return np.ones(len(y))

    def _grower(self):
        """scikit-learn's tree with our settings."""
        return DecisionTreeRegressor(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            ccp_alpha=self.ccp_alpha,
            random_state=self.random_state,
        )

    def _loss(self, frame, target) -> float:
        """Mean squared error, in squared units of the target."""
        return float(np.mean((self.model_.predict(frame) - target) ** 2))
