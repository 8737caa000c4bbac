"""How GRANDE learns: sub-ensembles of trees, stopped by validation, then exported."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.learners.common.base import TableEstimator, TrainingData
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import FEWEST_ROWS
from treelab.learners.common.origin import (
    Origin,
    changed_splits_of_trees,
    feature_spread,
    with_origin,
)
from treelab.learners.common.spec import read_settings
from treelab.learners.grande.export import export_ensemble
from treelab.learners.grande.fold_encoding import FoldedTable, fold_table
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
from treelab.training.checkpoints import BestCheckpoints
from treelab.training.events import Callback, Monitor
from treelab.training.loop import TrainingPlan, train
from treelab.training.schedule import cosine_decay
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import Tree

ONE_HOT_MAX = 10  # category columns of up to so many categories become 0 and 1


class GrandeFit(TableEstimator):
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
            Rows for early stopping; without them every row is held out by one
            sub-ensemble of the trees and trained on by the others.
        callbacks : sequence of callable
            Called with a ``Progress`` now and then; returning True stops training,
            and the best ensemble so far is used.
        """
        settings = read_settings(GrandeSettings, self)
        device = resolve_device(self.device)
        data = self._read(
            X, y, X_valid, y_valid, numbers="quantile", one_hot_max=ONE_HOT_MAX
        )
        seeds = check_random_state(self.random_state).randint(2**31, size=3).tolist()
        generator = torch.Generator(device).manual_seed(seeds[0])
        table = fold_table(data, self._n_folds(), task=self._task(), seed=seeds[1])
        network = make_network(
            table,
            self._objective(settings, data.y),
            settings,
            generator=generator,
            seed=seeds[2],
        )
        start = self._export(network, table, network.objective)
        snapshot = partial(self._highest_weighted_estimator, network, table, data)
        self.history_ = train_network(network, settings, generator, callbacks, snapshot)
        self.held_out_predictions_ = held_out_predictions(network)
        objective = self._shifted_objective(settings, network)
        end = self._export(network, table, objective).with_rows(data.frame)
        self.origin_ = origin_of(start, end, settings, table.n_folds, data)
        self.model_ = with_origin(end, self.origin_)
        return self

    @property
    def ensemble_(self) -> WeightedTrees:
        """The fitted ensemble, thresholds in the units of ``X``."""
        return self.model_

    def _n_folds(self) -> int:
        """Folds that take turns at being held out: each needs a tree."""
        settings = read_settings(GrandeSettings, self)
        return min(settings.n_folds, settings.n_estimators)

    def _hold_out(self, target):
        """Hold no rows out for good where folds take turns."""
        if self._n_folds() == 1 or len(target) < max(FEWEST_ROWS, self._n_folds()):
            return super()._hold_out(target)
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _export(self, network, table: FoldedTable, objective) -> WeightedTrees:
        """Rewrite the ensemble in the user's columns and units."""
        return export_ensemble(network, table.encoder, objective, self.labels())

    def _highest_weighted_estimator(
        self, network, table: FoldedTable, data: TrainingData
    ) -> Tree:
        """The tree with the largest mean weight on training rows, as training goes."""
        ensemble = self._export(network, table, network.objective)
        estimator = int(ensemble.estimator_weights(data.frame).mean(0).argmax())
        return ensemble.estimator(estimator, data.frame, self._decode_target(data.y))

    def _objective(self, settings: GrandeSettings, y: np.ndarray) -> Objective:
        """What is learned from training targets ``y`` (n_train,)."""
        raise NotImplementedError

    def _shifted_objective(
        self, settings: GrandeSettings, network: WeightedTreesNetwork
    ) -> Objective:
        """The trained network's objective, classes shifted where that scores better."""
        raise NotImplementedError


def make_network(
    table: FoldedTable,
    objective: Objective,
    settings: GrandeSettings,
    *,
    generator: torch.Generator,
    seed: int,
) -> WeightedTreesNetwork:
    """Lay out the trees of all folds and give each its initial splits and leaves.

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
    trees_per_fold = -(-settings.n_estimators // table.n_folds)
    offered = [own for own in table.columns_by_fold for _ in range(trees_per_fold)]
    columns = draw_columns(offered, settings.selected_variables, random)
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
    return WeightedTreesNetwork(
        rows, starts, objective, settings, n_folds=table.n_folds, generator=generator
    )


def train_network(
    network: WeightedTreesNetwork,
    settings: GrandeSettings,
    generator: torch.Generator,
    callbacks: Sequence[Callback],
    snapshot: Callable[[], Tree],
) -> pd.DataFrame:
    """Train until validation no longer improves; the initial trees count too.

    They do not in the paper's recipe.

    Returns
    -------
    DataFrame
        One row an epoch; see ``training.events.HISTORY``.
    """
    n_rows = network.rows.n_train
    batch_size = min(settings.batch_size, n_rows)
    optimizer = torch.optim.Adam(
        [
            {"params": [network.logits], "lr": settings.learning_rate_index},
            {"params": [network.threshold], "lr": settings.learning_rate_values},
            {"params": [network.leaf_value], "lr": settings.learning_rate_leaf},
            {"params": [network.leaf_weight], "lr": settings.learning_rate_weights},
        ],
        fused=True,
    )
    steps = max(1, round(n_rows / batch_size))  # an epoch
    max_epochs, patience = settings.max_epochs, settings.patience
    if settings.max_steps is not None:
        max_epochs = min(max_epochs, -(-settings.max_steps // steps))
    if settings.patience_steps is not None:
        patience = min(patience, max(3, -(-settings.patience_steps // steps)))
    scheduler = None
    if settings.cosine_decay:
        scheduler = cosine_decay(optimizer, max_epochs * steps, warm_up=0.05)
    monitor = Monitor(max_epochs, callbacks, snapshot=snapshot)
    start = BestCheckpoints(network)
    loss_at_start = network.valid_loss()
    monitor.report(0, *_losses_at_start(network, batch_size))
    result = train(
        network,
        optimizer,
        TrainingPlan(
            n_rows=n_rows,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            n_averaged=settings.n_averaged,
        ),
        generator=generator,
        monitor=monitor,
        scheduler=scheduler,
    )
    result.warn_if_diverged()
    if settings.recipe != "paper":
        start.restore(loss_at_start <= result.best_loss)
    return monitor.history_frame()


@torch.no_grad()
def _losses_at_start(
    network: WeightedTreesNetwork, batch_size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Training loss, of a batch, and validation loss before the first step, (G,)."""
    rows = torch.arange(batch_size, device=network.logits.device)
    losses = network.batch_loss(rows), network.valid_loss()
    train_loss, valid_loss = (loss.cpu().numpy() for loss in losses)
    return train_loss, valid_loss


def origin_of(
    start: WeightedTrees,
    end: WeightedTrees,
    settings: GrandeSettings,
    n_folds: int,
    data: TrainingData,
) -> Origin:
    """Count over all trees which splits training changed."""
    rates = (
        settings.learning_rate_index,
        settings.learning_rate_values,
        settings.learning_rate_leaf,
        settings.learning_rate_weights,
    )
    matrix = feature_matrix(end.features, data.frame)
    held_out = "validation rows"
    if n_folds > 1:
        held_out = f"the rows that each of {n_folds} sub-ensembles held out"
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
