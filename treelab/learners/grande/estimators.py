"""GRANDE: an ensemble of hard trees, weighted for each row by the leaves it reaches."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelab.evaluation.ensembles import mean_estimator_weights
from treelab.evaluation.importance import by_column, ensemble_importances
from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.folds import FEWEST_ROWS, assign_folds
from treelab.learners.common.objective import (
    ClassObjective,
    Objective,
    RegressionObjective,
)
from treelab.learners.common.origin import with_origin
from treelab.learners.common.settings import constraints_of, estimator, read_settings
from treelab.learners.grande.fit import (
    AS_TRAINED,
    Calibration,
    calibrate,
    export_ensemble,
    held_out_predictions,
    kept_trees,
    measured_move,
    origin_of,
    plan_of,
    train_network,
)
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.settings import (
    MAX_DECIDERS,
    GrandeRegressionSettings,
    GrandeSettings,
)
from treelab.learners.grande.starts import begin_network
from treelab.training.device import resolve_device
from treelab.training.events import TRAINING, Monitor
from treelab.trees.constraints import votes, with_note
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

ON_FOLDS, ON_ALL_ROWS = "training on folds", "training on all rows"
ONE_HOT_MAX = 10  # category columns of up to so many categories become 0 and 1


class GrandeEstimator(GrandeSettings, TableEstimator):
    """What the classifier and the regressor share.

    Attributes
    ----------
    ensemble_ : WeightedTrees
        The fitted ensemble, thresholds in the units of ``X``.
    held_out_predictions_ : ndarray of shape (n_rows, n_outputs)
        Class probabilities, or the value, of each training row, by the sub-ensemble
        that holds it out, calibrated as ``predict``'s are; NaN for rows that all trees
        were trained on.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Variance that the splits on each column of ``X`` make in what the trees
        predict, as a fraction of all.
    origin_ : Origin
        How the ensemble came about.
    history_ : DataFrame
        Epoch, 0 for the start, training and validation loss (nats, or variances of
        the target), seconds.
    """

    def _encoding(self, settings):
        """Categories of few values have a column for each."""
        return {"numbers": "quantile", "one_hot_max": ONE_HOT_MAX}

    def _learn(self, data, settings, callbacks):
        """Start and train; without validation rows folds say first when to end."""
        generator = torch.Generator(resolve_device(self.device))
        self.constraints_ = constraints_of(self, data.frame)
        if self.constraints_.monotone:  # a row may not move to other trees
            settings = replace(settings, leaf_weights=False)
        few_by_choice = settings.max_deciders == "auto"
        if few_by_choice:
            settings = replace(settings, max_deciders=MAX_DECIDERS)
        seeds = check_random_state(self.random_state).randint(2**31, size=3).tolist()
        begin = partial(
            begin_network,
            data=data,
            objective=self._objective(settings, data),
            settings=settings,
            generator=generator.manual_seed(seeds[0]),
            seed=seeds[2],
        )
        takes_turns = not len(data.y_valid)  # folds, at being held out
        held_out, fold = data.validation, None
        if takes_turns:
            n_folds = settings.n_folds
            fold = assign_folds(data.y, n_folds, seed=seeds[1], groups=data.groups)
            n_folds = int(fold.max()) + 1
            held_out = f"the rows that each of {n_folds} sub-ensembles held out"
        network = begin(fold)
        start = self._export(network, data)
        max_epochs = plan_of(settings, len(data.y))[0].max_epochs
        monitor = Monitor(
            2 * max_epochs if takes_turns else max_epochs,
            callbacks,
            snapshot=partial(self._heaviest_tree, network, data),
            stage=ON_FOLDS if takes_turns else TRAINING,
        )
        result = train_network(network, monitor, few_by_choice=few_by_choice)
        calibration = self._calibrate(settings, network)
        self.held_out_predictions_ = held_out_predictions(network, calibration)

        if takes_turns and result.reason != "callback":
            on_all_rows = begin(None)
            start_on_all_rows = self._export(on_all_rows, data)
            reason = ""
            if n_epochs := int(result.best_epoch.max()):
                snapshot = partial(self._heaviest_tree, on_all_rows, data)
                monitor = monitor.next_stage(ON_ALL_ROWS, n_epochs, snapshot=snapshot)
                reason = train_network(on_all_rows, monitor, n_epochs=n_epochs).reason
            if reason != "nan":
                network, start = on_all_rows, start_on_all_rows
                held_out = f"the rows held out of {n_folds} folds in turn"
        self.history_ = monitor.history_frame()

        end = kept_trees(
            self._export(network, data, calibration), data, self.constraints_
        )
        weights = mean_estimator_weights(end, data.frame, data.weight)
        deciding, n_trees = np.flatnonzero(weights > 0), end.n_estimators
        start, end = start.only(deciding), end.only(deciding)
        end = end.with_rows(data.frame, sample_weight=data.weight)
        self.origin_ = origin_of(start, end, settings, data, held_out)
        if len(deciding) < n_trees:
            note = (
                f"{len(deciding):,} of {n_trees:,} trees have weight on some training "
                "row; the others were left out."
            )
            end = replace(end, notes=(*end.notes, note))
        if few_by_choice and (end.max_deciders or 0) > MAX_DECIDERS:
            note = (
                f"Up to {end.max_deciders:,} trees decide a row: {MAX_DECIDERS} "
                "learned less than nine tenths as much, by log loss on held-out rows."
            )
            end = replace(end, notes=(*end.notes, note))
        self.model_ = with_origin(with_note(end, self.constraints_), self.origin_)
        self._tree_weights = weights[deciding]

    @property
    def ensemble_(self) -> WeightedTrees:
        """The fitted ensemble, thresholds in the units of ``X``."""
        return self.model_

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much of the predictions the splits on each column of ``X`` decide.

        (n_features_in_,), float64, a total of 1: ``ensemble_importances``, the trees
        weighted by their mean weights over the training rows.
        """
        check_is_fitted(self, "model_")
        importance = ensemble_importances(self.model_, self._tree_weights)
        columns = [feature.column for feature in self.model_.features]
        return by_column(
            self.columns_, pd.DataFrame({"column": columns, "importance": importance})
        )

    def _hold_out(self, target, groups):
        """Hold no rows out for good where folds take turns."""
        n_folds = read_settings(self).n_folds
        if n_folds == 1 or len(target) < max(FEWEST_ROWS, n_folds):
            return super()._hold_out(target, groups)
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _export(
        self,
        network: WeightedTreesNetwork,
        data: TrainingData,
        calibration: Calibration = AS_TRAINED,
    ) -> WeightedTrees:
        """Rewrite the ensemble in the user's columns and units."""
        return export_ensemble(network, data, self.labels(), calibration)

    def _heaviest_tree(self, network: WeightedTreesNetwork, data: TrainingData) -> Tree:
        """The tree with the largest mean weight on training rows, as training goes."""
        ensemble = self._export(network, data)
        weights = mean_estimator_weights(ensemble, data.frame, data.weight)
        tree = ensemble.estimator(int(weights.argmax()))
        return tree.with_rows(data.frame, self._decode_target(data.y), data.weight)

    def _objective(self, settings: GrandeSettings, data: TrainingData) -> Objective:
        """What is learned from the training rows."""
        raise NotImplementedError

    def _calibrate(
        self, settings: GrandeSettings, network: WeightedTreesNetwork
    ) -> Calibration:
        """Measure on the rows that a trained network holds out what it lacks."""
        raise NotImplementedError


@estimator
class GrandeClassifier(GrandeEstimator, TableClassifier):
    """Ensemble of hard, axis-aligned trees, trained end to end and weighted by row.

    Every tree has a weight at each of its leaves; for each row, an entmax over the
    trees turns the weights of the leaves it reaches into estimator weights, most of
    them zero, so that different trees decide different rows.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.
    """

    def _objective(self, settings, data):
        """Class codes under the class weights of the settings."""
        return ClassObjective(
            class_weights=self._training_weights(data),
            loss_kind=settings.loss,
            focal_gamma=settings.focal_gamma,
        )

    def _calibrate(self, settings, network):
        """Measure how sure to be, and how far to shift towards rare classes."""
        weights, by_cost = network.objective.class_weights, None
        if self.constraints_.class_costs:
            values, own = votes(self.constraints_, self.labels())
            by_cost = values * own[:, None] / max(own.max(), 1e-300)
        shifts = settings.class_weight == "auto" and by_cost is None
        found = calibrate(network, weights, shifts=shifts, votes=by_cost)
        if found.changes_class:
            how_sure = "as sure as held-out rows allow"
            notes = self._weights_note(found.decision_weights, how_sure)
            found = replace(found, notes=notes)
        return found


@estimator
class GrandeRegressor(GrandeRegressionSettings, GrandeEstimator, TableRegressor):
    """Ensemble of hard, axis-aligned regression trees, weighted by row.

    As `GrandeClassifier`, on a standardised target with squared error or another
    ``loss``. Of the losses of counts and amounts each leaf holds the logarithm of what
    it predicts, so that predictions are above 0.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.
    """

    def _objective(self, settings, data):
        """The target in standard deviations from its mean, by the training rows."""
        self._learn_loss(settings, data)
        return RegressionObjective(self._target_scale, self._scaled_loss)

    def _calibrate(self, settings, network):
        """Measure how far a quantile is from that of held-out rows."""
        if self._loss_of_rows.name != "quantile":
            return AS_TRAINED
        return measured_move(network, float(np.ravel(self._loss_of_rows.parameter)[0]))
