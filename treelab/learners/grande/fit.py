"""How GRANDE learns: sub-ensembles of trees, stopped by validation, then exported."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelab.evaluation.ensembles.estimator_weights import mean_estimator_weights
from treelab.evaluation.explanations.importance import by_column, ensemble_importances
from treelab.learners.common.base import TableEstimator, TrainingData
from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.constrained.setting import constraints_of
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import FEWEST_ROWS
from treelab.learners.common.origin import (
    Origin,
    changed_splits_of_trees,
    feature_spread,
    with_origin,
)
from treelab.learners.common.spec import read_settings
from treelab.learners.grande.constrained.columns import (
    forbid_by_level,
    offered_columns,
)
from treelab.learners.grande.constrained.keeping import (
    Keeper,
    kept_trees,
    output_signs,
)
from treelab.learners.grande.distillation import distilled_targets
from treelab.learners.grande.export import export_ensemble
from treelab.learners.grande.fold_encoding import (
    FoldedTable,
    fold_table,
    table_of_all_rows,
)
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.objective import Objective
from treelab.learners.grande.rows import to_rows
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.starts import (
    draw_columns,
    greedy_starts,
    normal_starts,
    random_starts,
)
from treelab.learners.grande.training import Course, train_network
from treelab.training.events import TRAINING, Monitor
from treelab.trees.constraints.constraints import Constraints
from treelab.trees.constraints.keeping import with_note
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import Tree

ON_FOLDS, ON_ALL_ROWS = "training on folds", "training on all rows"
ONE_HOT_MAX = 10  # category columns of up to so many categories become 0 and 1


class GrandeFit(GrandeSettings, TableEstimator):
    """What the classifier and the regressor share."""

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Raw table: numbers, categories and missing values.
        y : array-like of shape (n_rows,)
            Target.
        X_valid, y_valid : optional
            Rows for early stopping; without them folds of the rows are held out in
            turn, and the ensemble is then trained on all rows.
        callbacks : sequence of callable
            Called with a ``Progress`` now and then; returning True stops training,
            and the best ensemble so far is used.
        """
        settings = read_settings(self)
        device = resolve_device(self.device)
        data = self._read(
            X, y, X_valid, y_valid, numbers="quantile", one_hot_max=ONE_HOT_MAX
        )
        self.constraints_ = constraints_of(self, data.frame)
        if self.constraints_.monotone:  # a row may not move to other trees
            settings = replace(settings, leaf_weights=False)
        seeds = check_random_state(self.random_state).randint(2**31, size=3).tolist()
        generator = torch.Generator(device).manual_seed(seeds[0])
        table = fold_table(data, self._n_folds(), task=self._task(), seed=seeds[1])
        make = partial(
            make_network,
            objective=self._objective(settings, data.y),
            settings=settings,
            generator=generator,
            seed=seeds[2],
        )
        trained = self._train_on_folds(make, table, settings, callbacks, data)
        self._retain(trained, settings, data)
        return self

    def _train_on_folds(
        self, make, table: FoldedTable, settings, callbacks, data: TrainingData
    ) -> "TrainedTrees":
        """Train with rows held out; where folds take turns, again on all rows."""
        network = make(table)
        start = self._export(network, table, network.objective)
        takes_turns = table.n_folds > 1
        initial_predictions = None
        if takes_turns and settings.distillation:
            initial_predictions = held_out_predictions(network)
        max_epochs = Course.of(settings, table.n_train).max_epochs
        monitor = Monitor(
            2 * max_epochs if takes_turns else max_epochs,
            callbacks,
            snapshot=partial(self._heaviest_tree, network, table, data),
            stage=ON_FOLDS if takes_turns else TRAINING,
        )
        result = train_network(
            network,
            settings,
            network.generator,
            monitor,
            keeper=self._keeper(network, table),
        )
        self.held_out_predictions_ = held_out_predictions(network)
        objective = self._calibrated_objective(settings, network)
        end = self._export(network, table, objective)
        self.history_ = monitor.history_frame()
        trained = TrainedTrees(start, end, table.n_folds)
        if not takes_turns or result.reason == "callback":
            return trained
        n_epochs = int(result.best_epoch.max())
        targets = None
        if initial_predictions is not None and n_epochs:
            targets = distilled_targets(
                objective,
                data.y,
                initial_predictions,
                self.held_out_predictions_,
                settings.distillation,
            )
        return self._train_on_all_rows(
            make,
            settings,
            monitor,
            data,
            objective,
            on_folds=trained,
            n_epochs=n_epochs,
            targets=targets,
        )

    def _train_on_all_rows(
        self, make, settings, monitor, data, objective, *, on_folds, n_epochs, targets
    ) -> "TrainedTrees":
        """Train one ensemble on the rows of all folds; ``on_folds`` where that fails.

        ``targets`` replace those of the rows, where they are not None.
        """
        table = table_of_all_rows(data)
        network = make(table)
        start = self._export(network, table, network.objective)
        if targets is not None:
            network.target = torch.as_tensor(targets, device=network.target.device)
        if n_epochs:
            snapshot = partial(self._heaviest_tree, network, table, data)
            monitor = monitor.next_stage(ON_ALL_ROWS, n_epochs, snapshot=snapshot)
            result = train_network(
                network,
                settings,
                network.generator,
                monitor,
                n_epochs=n_epochs,
                keeper=self._keeper(network, table),
            )
            self.history_ = monitor.history_frame()
            if result.reason == "nan":
                return on_folds
        return replace(
            on_folds,
            start=start,
            end=self._export(network, table, objective),
            is_refitted=True,
            distillation=0.0 if targets is None else settings.distillation,
        )

    def _retain(self, trained: "TrainedTrees", settings, data: TrainingData) -> None:
        """Set the model, of the trees that decide some training row, and its origin."""
        kept = kept_trees(trained.end, data.frame, self.constraints_)
        trained = replace(trained, end=kept)
        weights = mean_estimator_weights(trained.end, data.frame)
        deciding = np.flatnonzero(weights > 0)
        start, end = trained.start.only(deciding), trained.end.only(deciding)
        n_trees = trained.end.n_estimators
        self.origin_ = origin_of(start, end, settings, trained, data)
        if len(deciding) < n_trees:
            note = (
                f"{len(deciding):,} of {n_trees:,} trees have weight on some training "
                "row; the others were left out."
            )
            end = replace(end, notes=(*end.notes, note))
        if trained.distillation:
            note = (
                f"On all rows {trained.distillation:.0%} of the loss followed what the "
                "initial trees predicted of rows held out, which was clearly better "
                "than what trained ones did."
            )
            end = replace(end, notes=(*end.notes, note))
        end = with_note(end.with_rows(data.frame), self.constraints_)
        self.model_ = with_origin(end, self.origin_)
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

    def _n_folds(self) -> int:
        """Folds that take turns at being held out."""
        return read_settings(self).n_folds

    def _hold_out(self, target):
        """Hold no rows out for good where folds take turns."""
        if self._n_folds() == 1 or len(target) < max(FEWEST_ROWS, self._n_folds()):
            return super()._hold_out(target)
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _export(self, network, table: FoldedTable, objective) -> WeightedTrees:
        """Rewrite the ensemble in the user's columns and units."""
        return export_ensemble(network, table.encoder, objective, self.labels())

    def _keeper(self, network, table: FoldedTable) -> Keeper | None:
        """Return what keeps splits and leaves within the constraints, if anything."""
        asked = self.constraints_
        if not asked.monotone and asked.min_samples_leaf == 1:
            return None
        rules = ColumnRules.of(asked, table.encoder.features_, self.labels())
        signs = output_signs(asked, self.labels(), network.rows.n_outputs)
        return Keeper(network, rules, signs)

    def _heaviest_tree(self, network, table: FoldedTable, data: TrainingData) -> Tree:
        """The tree with the largest mean weight on training rows, as training goes."""
        ensemble = self._export(network, table, network.objective)
        estimator = int(ensemble.estimator_weights(data.frame).mean(0).argmax())
        return ensemble.estimator(estimator, data.frame, self._decode_target(data.y))

    def _objective(self, settings: GrandeSettings, y: np.ndarray) -> Objective:
        """What is learned from training targets ``y`` (n_train,)."""
        raise NotImplementedError

    def _calibrated_objective(
        self, settings: GrandeSettings, network: WeightedTreesNetwork
    ) -> Objective:
        """The trained network's objective, calibrated on the rows it holds out."""
        raise NotImplementedError


@dataclass(frozen=True)
class TrainedTrees:
    """An ensemble before and after training.

    Attributes
    ----------
    start, end : WeightedTrees
        Of the same trees.
    n_folds : int
        Folds that took turns at being held out; 1 where they did not.
    is_refitted : bool
        Whether it was trained on the rows of all folds, and not on each without one.
    distillation : float
        Share of the loss that followed the initial trees' predictions, 0 where none.
    """

    start: WeightedTrees
    end: WeightedTrees
    n_folds: int
    is_refitted: bool = False
    distillation: float = 0.0


def make_network(
    table: FoldedTable,
    *,
    objective: Objective,
    settings: GrandeSettings,
    generator: torch.Generator,
    seed: int,
) -> WeightedTreesNetwork:
    """Lay out the trees of all folds and give each its initial splits and leaves.

    Each fold has as many trees as the ensemble: what it says of them holds for it.

    Parameters
    ----------
    table : FoldedTable
    objective : Objective
    settings : GrandeSettings
    generator : torch.Generator
        On the device to train on; draws parameters.
    seed : int
        Draws the trees' features, and seeds the greedy ensembles.
    """
    rows = to_rows(
        table.x,
        table.y,
        table.fold,
        n_train=table.n_train,
        objective=objective,
        device=generator.device,
    )
    random = np.random.RandomState(seed)
    n_trees = settings.n_estimators
    offered = [own for own in table.columns_by_fold for _ in range(n_trees)]
    rules, fraction = None, settings.selected_variables
    constraints = Constraints.read(settings.constraints)
    if constraints.limits_splits:
        features = table.encoder.features_
        rules = ColumnRules.of(constraints, features, None)
        offered = offered_columns(offered, rules, rows, settings.depth, random)
        # Every level finds a column that it allows.
        fraction = 1.0 if constraints.allowed else fraction
    columns = draw_columns(offered, fraction, random)
    if settings.init in ("random", "normal"):
        draw = random_starts if settings.init == "random" else normal_starts
        starts = draw(rows, columns, depth=settings.depth, generator=generator)
    else:
        starts = greedy_starts(
            settings.init,
            rows,
            columns,
            n_folds=table.n_folds,
            depth=settings.depth,
            generator=generator,
            random=random,
        )
    if rules is not None:
        logits = forbid_by_level(starts.logits, starts.columns, rules)
        starts = replace(starts, logits=logits)
    return WeightedTreesNetwork(
        rows, starts, objective, settings, n_folds=table.n_folds, generator=generator
    )


def origin_of(
    start: WeightedTrees,
    end: WeightedTrees,
    settings: GrandeSettings,
    trained: TrainedTrees,
    data: TrainingData,
) -> Origin:
    """Count over the trees that stay which splits training changed."""
    rates = (
        settings.learning_rate_index,
        settings.learning_rate_values,
        settings.learning_rate_leaf,
        settings.learning_rate_weights,
    )
    matrix = feature_matrix(end.features, data.frame)
    held_out = "validation rows"
    if trained.n_folds > 1:
        held_out = f"the rows that each of {trained.n_folds} sub-ensembles held out"
        if trained.is_refitted:
            held_out = f"the rows held out of {trained.n_folds} folds in turn"
    elif data.held_out:
        held_out = "a fifth of the rows"
    return Origin(
        "random" if settings.init == "normal" else settings.init,
        trained=any(rate > 0 for rate in rates),
        n_splits=end.feature.size,
        n_changed=changed_splits_of_trees(start, end, feature_spread([*matrix.T])),
        held_out=held_out,
    )


@torch.no_grad()
def held_out_predictions(network: WeightedTreesNetwork) -> np.ndarray:
    """Predict each training row by the sub-ensemble that holds it out.

    Returns
    -------
    ndarray of shape (n_train, n_classes or 1)
        Class probabilities, or values in the unit of the target; NaN for a row that
        every tree was trained on.
    """
    n_train, n_classes = network.rows.n_train, network.rows.n_classes
    predictions = np.full((n_train, max(n_classes, 1)), np.nan)
    for output, held_out in zip(network.valid_outputs(), network.held_out):
        rows = held_out.cpu().numpy()
        trained = rows < n_train
        predicted = network.objective.predict(output).t().double().cpu().numpy()
        predictions[rows[trained]] = predicted[trained]
    return predictions
