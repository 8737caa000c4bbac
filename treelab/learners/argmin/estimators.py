"""Argmin tree: oblique splits, and which nodes are pruned is itself learned."""

from functools import partial

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.learners.argmin.fit import (
    PathTraining,
    TreeExporter,
    WithPath,
    chosen_path,
    row_scores,
)
from treelab.learners.argmin.network import ArgminTrees, RowTensors
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.starts import random_splits
from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.settings import estimator
from treelab.learners.common.target import TargetScale
from treelab.ops.threads import one_thread
from treelab.training.device import resolve_device


class _Argmin(ArgminSettings, WithPath, TableEstimator):
    """What the classifier and the regressor share.

    Attributes
    ----------
    path_ : PruningPath
        The trees of all strengths, their predictors and their scores.
    tree_ : Tree
        The tree of the chosen strength, thresholds in the units of ``X``; it predicts
        as the model does, and is refused where a predictor on top does.
    pruning_strength_ : float
        The chosen strength.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the chosen tree came about.
    history_ : DataFrame
        Losses of the chosen tree from its start, epoch 0, to its end, in nats or in
        variances of ``y``.
    n_epochs_ : int
        Epochs that the chosen tree was trained.
    """

    _threads = staticmethod(one_thread)  # sums that they share differ in last bits

    def _encoding(self, settings):
        """Numbers in standard deviations, as in the paper."""
        return {"numbers": "zscore"}

    def _learn(self, data, settings, callbacks):
        """Train a tree for each pruning strength, one after another, and choose one."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        class_weight, scale = self._class_weight_or_scale(data)
        exporter = TreeExporter(data, settings, self.labels(), scale, class_weight)
        training = PathTraining(
            self._network(exporter, seed),
            seed,
            snapshot=exporter.export,
            row_scores=partial(row_scores, data=data) if settings.reads_leaf else None,
            callbacks=callbacks,
        )
        training.run()
        restarts = [*zip(*(point.trees for point in training.points))]
        path, restart = chosen_path(exporter, restarts)
        if not path.has_predictor:  # the leaves predict
            path = self._with_certainty(path, data.rows)
        how = {"start": "random", "held_out": data.validation}
        self._retain(path, training, restart, exporter, **how)

    def _network(self, exporter: TreeExporter, seed: int) -> ArgminTrees:
        """The untrained network, on the device with its rows."""
        settings, data = exporter.settings, exporter.data
        device = resolve_device(self.device)
        generator = torch.Generator().manual_seed(seed)

        def rows_of(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> RowTensors:
            if exporter.class_weight is not None:
                return RowTensors.of(x, y, weight * exporter.class_weight[y], device)
            target = exporter.scale.standardise(y).astype(np.float32)
            return RowTensors.of(x, target, weight, device)

        rows = rows_of(data.X, data.y, data.row_weight)
        return ArgminTrees(
            settings,
            rows,
            rows_of(data.X_valid, data.y_valid, data.row_weight_valid),
            data.n_outputs,
            splits=random_splits(
                rows.x,
                settings.n_restarts,
                settings.depth,
                settings.even_starts,
                generator,
            ),
            generator=generator,
        )

    def _class_weight_or_scale(
        self, data: TrainingData
    ) -> tuple[np.ndarray | None, TargetScale]:
        """Weights of classes, or the scale of values."""
        raise NotImplementedError


@estimator
class ArgminTreeClassifier(_Argmin, TableClassifier):
    """Classification by a tree of oblique splits that learns which nodes to prune.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a penalty on activity, the pruning strength, prunes
    nodes. The tree predicts by its leaves, each by the training rows that reach it; or,
    as in the paper, by a predictor that reads how far the row passes each node.
    """

    def _class_weight_or_scale(self, data):
        """Each class has a weight."""
        return self._class_weights(data.y, data.weight), TargetScale()


@estimator
class ArgminTreeRegressor(_Argmin, TableRegressor):
    """Regression by a tree of oblique splits that learns which nodes to prune.

    As `ArgminTreeClassifier`, on a standardised target.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.
    """

    def _class_weight_or_scale(self, data):
        """Values are standardised."""
        return None, TargetScale.of(data.y)
