"""GRANDE: an ensemble of hard trees, weighted for each row by the leaves it reaches."""

from dataclasses import replace

import numpy as np
import torch

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.class_prior import best_weight_power
from treelab.learners.common.constrained.setting import growing_weights
from treelab.learners.common.estimator import estimator
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.grande.calibration import measured_scale
from treelab.learners.grande.fit import GrandeFit
from treelab.learners.grande.objective import ClassObjective, RegressionObjective
from treelab.ops.losses import log_proba
from treelab.trees.constraints.keeping import cost_matrix

LEAST_WEIGHT = 1e-9  # of a class, whose logarithm is taken


@estimator
class GrandeClassifier(GrandeFit, TableClassifier):
    """Ensemble of hard, axis-aligned trees, trained end to end and weighted by row.

    Every tree has a weight at each of its leaves; for each row, an entmax over the
    trees turns the weights of the leaves it reaches into estimator weights, most of
    them zero, so that different trees decide different rows.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Attributes
    ----------
    ensemble_ : WeightedTrees
        The fitted ensemble, thresholds in the units of ``X``.
    held_out_predictions_ : ndarray of shape (n_rows, n_classes)
        Class probabilities of each training row, by the sub-ensemble that holds it
        out; NaN for rows that all trees were trained on.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Variance that the splits on each column of ``X`` make in what the trees
        predict, as a fraction of all.
    origin_ : Origin
        How the ensemble came about.
    history_ : DataFrame
        Epoch, 0 for the start, training and validation loss (nats), seconds.
    """

    def _objective(self, settings, y):
        """Class codes under the class weights of the settings; not calibrated yet."""
        weights = np.ones(len(self.classes_))
        if self.constraints_.class_costs:
            weights = growing_weights(cost_matrix(self.constraints_, self.labels()), y)
        elif settings.class_weight == "balanced":
            weights = self._balanced_weights(y)
        elif settings.class_weight != "auto":
            weights = self._class_weights(y)
        return ClassObjective(
            class_weights=weights[:, None],
            logit_shift=np.zeros(len(weights)),
            loss_kind=settings.loss,
            focal_gamma=settings.focal_gamma,
        )

    def _calibrated_objective(self, settings, network):
        """Measure on held-out rows how sure to be, and which weights choose the class.

        Trained probabilities are those of rows weighted by class. The weights stay in
        the choice of the class, as does a shift towards rare classes, by macro F1.
        """
        target = network.rows.target.cpu().numpy()
        rows = torch.cat(network.held_out).cpu().numpy()
        log_p = torch.cat([log_proba(o) for o in network.valid_outputs()], 1)
        log_p = log_p.double().cpu().numpy().T  # (n, C)
        weights = network.objective.class_weights[:, 0]
        trained = np.log(np.maximum(weights, LEAST_WEIGHT))
        more = np.zeros(len(trained))  # for rare classes, logarithms as all here
        if settings.class_weight == "auto" and not self.constraints_.class_costs:
            balanced = np.log(self._balanced_weights(target))  # (C,)
            power = best_weight_power(log_p, target[rows], balanced)
            more = power * balanced
        prior = -np.log(self._balanced_weights(target)) - np.log(len(trained))
        scale = measured_scale(log_p - trained - prior, target[rows], prior)
        shift = prior - scale * (prior + trained)
        decisive = scale * more - shift
        return replace(
            network.objective,
            logit_scale=scale,
            logit_shift=shift,
            decision_weights=np.exp(decisive - decisive.max()),
        )


@estimator
class GrandeRegressor(GrandeFit, TableRegressor):
    """Ensemble of hard, axis-aligned regression trees, weighted by row.

    Every tree has a weight at each of its leaves; for each row, an entmax over the
    trees turns the weights of the leaves it reaches into estimator weights, most of
    them zero, so that different trees decide different rows. The target is
    standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Attributes
    ----------
    ensemble_ : WeightedTrees
        The fitted ensemble, thresholds in the units of ``X``.
    held_out_predictions_ : ndarray of shape (n_rows, 1)
        Value of each training row, by the sub-ensemble that holds it out; NaN for
        rows that all trees were trained on.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Variance that the splits on each column of ``X`` make in what the trees
        predict, as a fraction of all.
    origin_ : Origin
        How the ensemble came about.
    history_ : DataFrame
        Epoch, 0 for the start, training and validation loss (variances of the
        target), seconds.
    """

    def _objective(self, settings, y):
        """The target in standard deviations from its mean, by the training rows."""
        return RegressionObjective(TargetScale.of(y))

    def _calibrated_objective(self, settings, network):
        """There are no classes to calibrate."""
        return network.objective
