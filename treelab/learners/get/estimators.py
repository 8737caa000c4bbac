"""GET and GET-Linear: one tree with oblique splits, all trained together."""

from dataclasses import replace

import numpy as np

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.class_prior import best_weight_power
from treelab.learners.common.estimator import estimator
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.get.base import CPU, GetEstimator
from treelab.learners.get.rows import MIN_PROBABILITY, Rows


@estimator
class GetClassifier(GetEstimator, TableClassifier):
    """Classification tree with oblique splits, trained as a whole by gradients.

    Each split tests a weighted sum of features. Splits start soft and become hard in
    stages; several starts train side by side, and the best hard tree on the validation
    rows is taken. Leaves hold the class probabilities of their rows.

    Source: Mao and Cao, arXiv:2411.17003. Classification is ours; ``docs/learners/get``
    lists what else differs.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, scored on the validation rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        What the tree began as, and what training changed.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), both in nats,
        seconds, stage.
    """

    def _set_target(self, data, settings):
        """Weight rows by class, alike where validation chooses the weights."""
        self._settings = settings
        self._weights = np.ones(len(self.classes_))
        if settings.class_weight is not None and not self._chooses_weights():
            self._weights = self._class_weights(data.y)

    def _rows(self, x, y, device=CPU):
        """Rows with class codes, weighted by class."""
        weight, n_classes = self._weights[y], len(self.classes_)
        return Rows(x, y, weight, n_classes, device)

    def _choose_class_weights(self, trees, data):
        """Choose the power of balanced weights by macro F1 on the validation rows."""
        if not self._chooses_weights():
            return
        balanced = self._balanced_weights(data.y)
        probability = np.maximum(trees.predict(data.X_valid)[0], MIN_PROBABILITY)
        power = best_weight_power(np.log(probability), data.y_valid, np.log(balanced))
        weights = balanced**power
        self._weights = weights / weights[data.y].mean()

    def _chooses_weights(self) -> bool:
        """Whether validation chooses the weights of the classes."""
        given = self._settings.class_weight
        return isinstance(given, str) and given == "auto"

    def _export(self, trees, rows, encoder, frame, y):
        """Write a tree whose nodes, splits too, predict weighted fractions."""
        tree = super()._export(trees, rows, encoder, frame, y)
        weighted = tree.class_counts * self._weights
        total = weighted.sum(axis=1, keepdims=True)
        inner = ~tree.is_leaf[:, None] & (total > 0)
        value = np.divide(weighted, total, out=tree.value.copy(), where=inner)
        return replace(tree, value=value, class_weights=self._weights)

    def _notes(self):
        """What a row of each class weighs."""
        return self._weights_note(self._weights)


@estimator
class GetRegressor(GetEstimator, TableRegressor):
    """Regression tree with oblique splits, trained as a whole by gradients.

    As ``GetClassifier``; a leaf predicts one value (GET), or by a ridge regression on
    the rows that reach it (GET-Linear).

    Source: Mao and Cao, arXiv:2411.17003; ``docs/learners/get`` lists what differs.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    path_ : SizePath
        The best tree at each number of leaves, scored on the validation rows.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        What the tree began as, and what training changed.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), both as fractions
        of the target's variance, seconds, stage.
    """

    def _set_target(self, data, settings):
        """Standardise by the training rows; the paper scales to [0, 1]."""
        self._target_scale = TargetScale.of(data.y)
        if settings.recipe == "paper":
            width = float(np.ptp(data.y)) or 1.0
            self._target_scale = TargetScale(float(data.y.min()), width)
        scaled = self._target_scale.standardise(data.y)
        self._loss_unit = float(scaled.var()) or 1.0

    def _rows(self, x, y, device=CPU):
        """Rows with scaled values, weighted alike."""
        scaled = self._target_scale.standardise(y)
        return Rows(x, scaled, np.ones(len(y)), 0, device, loss_unit=self._loss_unit)

    def _scale(self):
        """Scale of the leaves' values."""
        return self._target_scale
