"""Argmin tree: oblique splits, and which nodes are pruned is itself learned."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.learners.argmin.export import TreeExporter
from treelab.learners.argmin.fit import check_rows, train_path
from treelab.learners.argmin.network import ArgminTrees, RowTensors
from treelab.learners.argmin.origins import held_out_words, with_origins
from treelab.learners.argmin.path import WithPath, chosen_path, drawn_row_scores
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.sparse import network_row_scores
from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.device import resolve_device
from treelab.learners.common.estimator import estimator
from treelab.learners.common.spec import read_settings
from treelab.learners.common.target_scale import TargetScale
from treelab.ops.threads import one_thread


@dataclass(frozen=True)
class _Targets:
    """What a network learns.

    ``y``, ``weight`` and their validation twins (n_rows,); ``scale`` of values.
    ``class_weight`` (n_classes,). ``loss_scale`` multiplies the squared error, which
    then has the target's squared unit; None trains on classes.
    """

    y: np.ndarray
    y_valid: np.ndarray
    weight: np.ndarray
    weight_valid: np.ndarray
    scale: TargetScale
    loss_scale: float | None
    class_weight: np.ndarray | None = None


class _Argmin(ArgminSettings, WithPath, TableEstimator):
    """What the classifier and the regressor share."""

    @one_thread()  # sums that threads share differ in their last bits
    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Train one tree for each pruning strength, all together, and choose one.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Numbers and categories, missing values allowed.
        y : array of shape (n_rows,)
        X_valid, y_valid : like X and y, optional
            Stop the training and choose the strength; held out of X if not given.
        callbacks : sequence of callable
            Called with a ``Progress`` after each epoch; True stops the training.

        Returns
        -------
        self
        """
        settings = read_settings(self)
        data = self._read(X, y, X_valid, y_valid, numbers="zscore")
        check_rows(settings, len(data.y))
        targets = self._targets(data)
        seed = int(check_random_state(self.random_state).randint(2**31))
        exporter = TreeExporter(
            data, settings, self.labels(), targets.scale, targets.class_weight
        )
        trained = train_path(
            self._network(settings, data, targets, seed),
            settings,
            seed,
            max_leaf_nodes=settings.max_leaf_nodes,
            snapshot=exporter.export,
            row_scores=partial(drawn_row_scores, exporter)
            if settings.reads_leaf
            else network_row_scores,
            callbacks=callbacks,
        )
        path = chosen_path(exporter, trained.trees)
        starts = [exporter.export(tree) for tree in trained.starts]
        self.model_, self.origin_ = with_origins(
            path,
            starts,
            trained,
            start="random",
            matrix=exporter.matrix,
            held_out=held_out_words(data),
        )
        if path.predictors[path.chosen] is None:  # the leaves predict
            self.model_ = self._with_probabilities(self.model_, data.frame, data.y)
        start, end = starts[path.chosen], self.path_.tree
        self.history_ = trained.retain(path.chosen, start, end)
        self.n_epochs_ = int(self.history_["epoch"].iloc[-1])
        return self

    def _network(
        self, settings: ArgminSettings, data: TrainingData, targets: _Targets, seed: int
    ) -> ArgminTrees:
        """The untrained network of all strengths, on the device with its rows."""
        device = resolve_device(self.device)
        return ArgminTrees(
            settings,
            RowTensors.of(data.X, targets.y, targets.weight, device),
            RowTensors.of(data.X_valid, targets.y_valid, targets.weight_valid, device),
            data.n_outputs,
            loss_scale=targets.loss_scale,
            generator=torch.Generator().manual_seed(seed),
        )

    def _targets(self, data: TrainingData) -> _Targets:
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
        Losses of the chosen tree from its start, epoch 0, to its end, in nats.
    n_epochs_ : int
        Epochs that the chosen tree was trained.
    """

    def _targets(self, data: TrainingData) -> _Targets:
        """Class codes, each row with the weight of its class."""
        weights = self._class_weights(data.y)
        return _Targets(
            data.y,
            data.y_valid,
            weights[data.y],
            weights[data.y_valid],
            scale=TargetScale(),
            loss_scale=None,
            class_weight=weights,
        )


@estimator
class ArgminTreeRegressor(_Argmin, TableRegressor):
    """Regression by a tree of oblique splits that learns which nodes to prune.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a penalty on activity, the pruning strength, prunes
    nodes. The tree predicts by its leaves, each by the training rows that reach it; or,
    as in the paper, by a predictor that reads how far the row passes each node.

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
        Losses of the chosen tree from its start, epoch 0, to its end, in variances
        of ``y``.
    n_epochs_ : int
        Epochs that the chosen tree was trained.
    """

    def _targets(self, data: TrainingData) -> _Targets:
        """Standardised values, all rows of weight 1."""
        scale = TargetScale.of(data.y)
        return _Targets(
            scale.standardise(data.y).astype(np.float32),
            scale.standardise(data.y_valid).astype(np.float32),
            np.ones(len(data.y)),
            np.ones(len(data.y_valid)),
            scale=scale,
            loss_scale=1.0,
        )
