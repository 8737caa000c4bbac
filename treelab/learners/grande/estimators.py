"""GRANDE: an ensemble of hard trees, weighted for each row by the leaves it reaches."""

from dataclasses import replace

import numpy as np
import torch

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.class_prior import best_weight_power
from treelab.learners.common.constrained.setting import growing_weights
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.grande.calibration import measured_scale
from treelab.learners.grande.fit import GrandeFit
from treelab.learners.grande.objective import ClassObjective, RegressionObjective
from treelab.learners.grande.settings import GrandeSettings
from treelab.ops.losses import log_proba
from treelab.trees.constraints.keeping import cost_matrix

LEAST_WEIGHT = 1e-9  # of a class, whose logarithm is taken


class GrandeClassifier(GrandeFit, TableClassifier):
    """Ensemble of hard, axis-aligned trees, trained end to end and weighted by row.

    Every tree has a weight at each of its leaves; for each row, an entmax over the
    trees turns the weights of the leaves it reaches into estimator weights, most of
    them zero, so that different trees decide different rows.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Parameters
    ----------
    n_estimators : int, default=256
        Trees.
    recipe : {"treelab", "paper"}, default="treelab"
        "paper" trains as the paper's appendix C has it.
    depth : int, default=5
        Splits on every path of a tree, 1 to 10.
    init : {"both", "forest", "boosted", "random", "normal"}, default="both"
        Trees that training starts from: a random forest's, boosted ones, half of each;
        random ones, thresholds from the rows; or every parameter small and normal.
    n_folds : int, default=4
        Folds of the training rows, each held out by a sub-ensemble of as many trees to
        find how long to train; one ensemble is then trained on all rows for as long.
        1 holds out a fifth of the rows for good.
    selected_variables : float, default=0.8
        Fraction of the features that each tree may test, above 0 up to 1.
    data_fraction : float, default=1.0
        Fraction of the training rows that each tree sees, above 0 up to 1.
    dropout : float, default=0.0
        Fraction of the trees that each step leaves out, up to 0.95.
    leaf_weights : bool, default=True
        A weight for each leaf; False has one for each tree, for comparison, and so do
        monotone columns, since else a row may move to trees that predict less.
    loss : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma : float, default=2.0
        Focusing parameter of the focal loss, at least 0.
    weighting : {"entmax15", "softmax"}, default="entmax15"
        What turns the weights of the leaves that a row reaches into estimator weights:
        entmax gives most trees an exact zero, the paper's softmax none.
    concentration : float, default=2.4
        Leaf weights are multiplied by this, from 1 growing over the first epochs, at
        least 1; the higher, the fewer trees decide a row.
    max_deciders : int or None, default=20
        Trees of highest weight that decide a row at most; None: all may.
    entropy_penalty : float, default=0.001
        Added to the loss of a row for each nat of its estimator weights' entropy (of
        Renyi, order 2); the higher, the fewer trees decide a row.
    distillation : float, default=0.5
        Share of the loss on all rows that follows what initial trees predicted of rows
        held out, where that beats trained ones by three standard errors; 0: labels.
    decision : {"softsign", "logistic", "entmoid"}, default="softsign"
        Differentiable split function whose gradient a hard split takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float, default=0.03
        For the feature selectors and for the thresholds (standard normal scores).
    learning_rate_leaf, learning_rate_weights : float, default=0.03, 0.015
        For the leaves' logits and for their weights.
    learning_rate_steps : int or None, default=500
        Steps that these rates are meant for: a training of more has lower ones, of
        fewer higher ones, by the ratio's square root, at most threefold; None: as set.
    cosine_decay : bool, default=True
        Whether learning rates warm up, then fall along a cosine.
    n_averaged : int, default=10
        The mean of so many of the best checkpoints is taken where it is better; in
        the training on all rows that of the last epochs.
    max_epochs : int, default=60
        Passes over the rows at the latest.
    max_steps : int or None, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=15
        Epochs without a lower validation loss until training ends.
    patience_steps : int or None, default=1000
        On large tables training ends after as many epochs in vain as make up so many
        steps, 3 at least; None waits for all epochs of the patience.
    batch_size : int, default=128
        Rows in each step.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        Weight of a row of each class. "auto" trains with equal weights, then shifts
        all leaves' logits as equal, balanced, or in-between weights (powers of the
        balanced ones) would, whichever has the best macro F1 on held-out rows.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: columns by level, together on a path, at
        most so many in all; costs of errors weigh classes by what they sum up to.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial trees, subsets and batches; an int gives the same ensemble
        every time on the CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

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

    def __init__(
        self,
        n_estimators=GrandeSettings.n_estimators,
        *,
        recipe=GrandeSettings.recipe,
        depth=GrandeSettings.depth,
        init=GrandeSettings.init,
        n_folds=GrandeSettings.n_folds,
        selected_variables=GrandeSettings.selected_variables,
        data_fraction=GrandeSettings.data_fraction,
        dropout=GrandeSettings.dropout,
        leaf_weights=GrandeSettings.leaf_weights,
        weighting=GrandeSettings.weighting,
        concentration=GrandeSettings.concentration,
        max_deciders=GrandeSettings.max_deciders,
        entropy_penalty=GrandeSettings.entropy_penalty,
        distillation=GrandeSettings.distillation,
        loss=GrandeSettings.loss,
        focal_gamma=GrandeSettings.focal_gamma,
        decision=GrandeSettings.decision,
        selector=GrandeSettings.selector,
        learning_rate_index=GrandeSettings.learning_rate_index,
        learning_rate_values=GrandeSettings.learning_rate_values,
        learning_rate_leaf=GrandeSettings.learning_rate_leaf,
        learning_rate_weights=GrandeSettings.learning_rate_weights,
        learning_rate_steps=GrandeSettings.learning_rate_steps,
        cosine_decay=GrandeSettings.cosine_decay,
        n_averaged=GrandeSettings.n_averaged,
        max_epochs=GrandeSettings.max_epochs,
        max_steps=GrandeSettings.max_steps,
        patience=GrandeSettings.patience,
        patience_steps=GrandeSettings.patience_steps,
        batch_size=GrandeSettings.batch_size,
        class_weight=GrandeSettings.class_weight,
        constraints=GrandeSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.recipe = recipe
        self.depth = depth
        self.init = init
        self.n_folds = n_folds
        self.selected_variables = selected_variables
        self.data_fraction = data_fraction
        self.dropout = dropout
        self.leaf_weights = leaf_weights
        self.weighting = weighting
        self.concentration = concentration
        self.max_deciders = max_deciders
        self.entropy_penalty = entropy_penalty
        self.distillation = distillation
        self.loss = loss
        self.focal_gamma = focal_gamma
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.learning_rate_weights = learning_rate_weights
        self.learning_rate_steps = learning_rate_steps
        self.cosine_decay = cosine_decay
        self.n_averaged = n_averaged
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.patience_steps = patience_steps
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

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


class GrandeRegressor(GrandeFit, TableRegressor):
    """Ensemble of hard, axis-aligned regression trees, weighted by row.

    Every tree has a weight at each of its leaves; for each row, an entmax over the
    trees turns the weights of the leaves it reaches into estimator weights, most of
    them zero, so that different trees decide different rows. The target is
    standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Parameters
    ----------
    n_estimators : int, default=256
        Trees.
    recipe : {"treelab", "paper"}, default="treelab"
        "paper" trains as the paper's appendix C has it.
    depth : int, default=5
        Splits on every path of a tree, 1 to 10.
    init : {"both", "forest", "boosted", "random", "normal"}, default="both"
        Trees that training starts from: a random forest's, boosted ones, half of each;
        random ones, thresholds from the rows; or every parameter small and normal.
    n_folds : int, default=4
        Folds of the training rows, each held out by a sub-ensemble of as many trees to
        find how long to train; one ensemble is then trained on all rows for as long.
        1 holds out a fifth of the rows for good.
    selected_variables : float, default=0.8
        Fraction of the features that each tree may test, above 0 up to 1.
    data_fraction : float, default=1.0
        Fraction of the training rows that each tree sees, above 0 up to 1.
    dropout : float, default=0.0
        Fraction of the trees that each step leaves out, up to 0.95.
    leaf_weights : bool, default=True
        A weight for each leaf; False has one for each tree, for comparison, and so do
        monotone columns, since else a row may move to trees that predict less.
    weighting : {"entmax15", "softmax"}, default="entmax15"
        What turns the weights of the leaves that a row reaches into estimator weights:
        entmax gives most trees an exact zero, the paper's softmax none.
    concentration : float, default=2.4
        Leaf weights are multiplied by this, from 1 growing over the first epochs, at
        least 1; the higher, the fewer trees decide a row.
    max_deciders : int or None, default=20
        Trees of highest weight that decide a row at most; None: all may.
    entropy_penalty : float, default=0.001
        Added to the loss of a row for each nat of its estimator weights' entropy (of
        Renyi, order 2); the higher, the fewer trees decide a row.
    distillation : float, default=0.5
        Share of the loss on all rows that follows what initial trees predicted of rows
        held out, where that beats trained ones by three standard errors; 0: labels.
    decision : {"softsign", "logistic", "entmoid"}, default="softsign"
        Differentiable split function whose gradient a hard split takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Transformation whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float, default=0.03
        For the feature selectors and for the thresholds (standard normal scores).
    learning_rate_leaf, learning_rate_weights : float, default=0.03, 0.015
        For the leaves' values (in standard deviations of the target) and for their
        weights.
    learning_rate_steps : int or None, default=500
        Steps that these rates are meant for: a training of more has lower ones, of
        fewer higher ones, by the ratio's square root, at most threefold; None: as set.
    cosine_decay : bool, default=True
        Whether learning rates warm up, then fall along a cosine.
    n_averaged : int, default=10
        The mean of so many of the best checkpoints is taken where it is better; in
        the training on all rows that of the last epochs.
    max_epochs : int, default=60
        Passes over the rows at the latest.
    max_steps : int or None, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=15
        Epochs without a lower validation loss until training ends.
    patience_steps : int or None, default=1000
        On large tables training ends after as many epochs in vain as make up so many
        steps, 3 at least; None waits for all epochs of the patience.
    batch_size : int, default=128
        Rows in each step.
    constraints : Constraints, dict or None, default=None
        What must hold on every possible row: columns by level, together on a path, at
        most so many in all.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial trees, subsets and batches; an int gives the same ensemble
        every time on the CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

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

    def __init__(
        self,
        n_estimators=GrandeSettings.n_estimators,
        *,
        recipe=GrandeSettings.recipe,
        depth=GrandeSettings.depth,
        init=GrandeSettings.init,
        n_folds=GrandeSettings.n_folds,
        selected_variables=GrandeSettings.selected_variables,
        data_fraction=GrandeSettings.data_fraction,
        dropout=GrandeSettings.dropout,
        leaf_weights=GrandeSettings.leaf_weights,
        weighting=GrandeSettings.weighting,
        concentration=GrandeSettings.concentration,
        max_deciders=GrandeSettings.max_deciders,
        entropy_penalty=GrandeSettings.entropy_penalty,
        distillation=GrandeSettings.distillation,
        decision=GrandeSettings.decision,
        selector=GrandeSettings.selector,
        learning_rate_index=GrandeSettings.learning_rate_index,
        learning_rate_values=GrandeSettings.learning_rate_values,
        learning_rate_leaf=GrandeSettings.learning_rate_leaf,
        learning_rate_weights=GrandeSettings.learning_rate_weights,
        learning_rate_steps=GrandeSettings.learning_rate_steps,
        cosine_decay=GrandeSettings.cosine_decay,
        n_averaged=GrandeSettings.n_averaged,
        max_epochs=GrandeSettings.max_epochs,
        max_steps=GrandeSettings.max_steps,
        patience=GrandeSettings.patience,
        patience_steps=GrandeSettings.patience_steps,
        batch_size=GrandeSettings.batch_size,
        constraints=GrandeSettings.constraints,
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.recipe = recipe
        self.depth = depth
        self.init = init
        self.n_folds = n_folds
        self.selected_variables = selected_variables
        self.data_fraction = data_fraction
        self.dropout = dropout
        self.leaf_weights = leaf_weights
        self.weighting = weighting
        self.concentration = concentration
        self.max_deciders = max_deciders
        self.entropy_penalty = entropy_penalty
        self.distillation = distillation
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.learning_rate_weights = learning_rate_weights
        self.learning_rate_steps = learning_rate_steps
        self.cosine_decay = cosine_decay
        self.n_averaged = n_averaged
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.patience_steps = patience_steps
        self.batch_size = batch_size
        self.constraints = constraints
        self.random_state = random_state
        self.device = device

    def _objective(self, settings, y):
        """The target in standard deviations from its mean, by the training rows."""
        return RegressionObjective(TargetScale.of(y))

    def _calibrated_objective(self, settings, network):
        """There are no classes to calibrate."""
        return network.objective
