"""How GradTree learns: folds, depths and restarts side by side, one tree chosen."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.common.base import TableEstimator
from treelab.learners.common.device import resolve_device
from treelab.learners.common.objective import Objective
from treelab.learners.common.rows import FoldedRows, to_rows
from treelab.learners.common.spec import read_settings
from treelab.learners.gradtree.distilled_trees import distill_trees
from treelab.learners.gradtree.folded_table import (
    FoldedTable,
    fold_table,
    selection_for,
)
from treelab.learners.gradtree.full_data_trees import (
    FullDataTrees,
    Trees,
    full_data_trees,
)
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import MAX_COLUMNS, StartPlan, start_batch
from treelab.learners.gradtree.tree_batch import TreeBatch
from treelab.learners.gradtree.tree_choice import choose_tree
from treelab.training.checkpoints import BestCheckpoints
from treelab.training.events import Callback, Monitor
from treelab.training.loop import TrainingPlan, TrainResult, steps_per_epoch, train
from treelab.training.schedule import cosine_decay
from treelab.trees.midpoints import with_midpoint_thresholds
from treelab.trees.pruning.simplify import simplify
from treelab.trees.tree import Tree

EVALUATED_STEPS = 10  # about so many between two measurements of the validation loss


class GradTreeFit(TableEstimator):
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
            More rows to select by. Without them a fifth of the rows is held out, or
            every row once, in folds.
        callbacks : sequence of callable
            Called with a ``Progress`` now and then; returning True stops training,
            and the best tree so far is used.
        """
        settings = read_settings(GradTreeSettings, self)
        device = resolve_device(self.device)
        data = self._read(X, y, X_valid, y_valid, numbers="quantile")
        seeds = check_random_state(self.random_state).randint(2**31, size=4).tolist()
        generator = torch.Generator(device).manual_seed(seeds[0])
        table = fold_table(data, settings, seed=seeds[1])
        objective = self._objective(settings, table.y[: table.n_train])
        export = partial(self._export, table, objective)
        batch, full_data = start_trees(
            table, objective, settings, generator, seed=seeds[2]
        )
        result, self.history_ = train_batch(
            batch,
            settings,
            generator,
            callbacks,
            snapshot=lambda: export(batch, batch.leader(), 0),
        )
        distilled = None
        if result.reason != "callback":
            distilled = distill(table, batch.rows, settings, seed=seeds[3])
        choice = choose_tree(batch, result.best_loss, full_data, distilled)
        self.selection_ = table.selection
        self.candidates_ = choice.table
        self.start_ = choice.batch.candidates[choice.tree].start
        self.model_ = export(choice.batch, choice.tree, choice.weighting)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, thresholds in the units of ``X``."""
        return self.model_

    def _hold_out(self, target):
        """Hold no rows out for good where folds take turns."""
        settings = read_settings(GradTreeSettings, self)
        if selection_for(settings, len(target)) == "cv":
            rows = np.arange(len(target))
            return rows, rows[:0]
        return super()._hold_out(target)

    def _export(
        self,
        table: FoldedTable,
        objective: Objective,
        batch: Trees,
        tree: int,
        weighting: int,
    ) -> Tree:
        """Rewrite one candidate in the user's columns and units, its leaves refitted.

        The leaves are refitted, the thresholds centred, and the nodes' numbers taken,
        on every row that the selection did not set aside.
        """
        frame, target = table.refit_rows()
        encoder = table.data.encoder
        # Encoded as at prediction time: cross-fitted categories serve training alone.
        encoded = np.concatenate(
            [to_float32(encoder.transform(frame)), table.made_rows()]
        )
        x = torch.tensor(encoded, device=batch.rows.x.device)
        feature, threshold = batch.splits(tree)
        raw, missing_left = encoder.axis_splits(feature, threshold)
        exported = Tree.complete(
            encoder.features_,
            feature,
            raw,
            missing_left,
            self._leaf_values(objective, batch.refitted_values(tree, x, weighting)),
            classes=self.labels(),
            notes=(*batch.notes, *self._notes(objective, weighting)),
        )
        exported = exported.with_rows(frame, self._decode_target(target))
        return self._merge(with_midpoint_thresholds(simplify(exported)))

    def _objective(self, settings: GradTreeSettings, y: np.ndarray) -> Objective:
        """What is learned from training targets ``y`` (n_train,)."""
        raise NotImplementedError

    def _leaf_values(self, objective, value: np.ndarray) -> np.ndarray:
        """Leaf values (L, C) as they are exported."""
        raise NotImplementedError

    def _notes(self, objective, weighting: int) -> tuple[str, ...]:
        """Note what is special about a weighting of the rows."""
        return ()

    def _merge(self, tree: Tree) -> Tree:
        """Merge leaves that predict the same, where that is wanted."""
        return tree


def start_trees(
    table: FoldedTable,
    objective: Objective,
    settings: GradTreeSettings,
    generator: torch.Generator,
    *,
    seed: int,
) -> tuple[TreeBatch, FullDataTrees | None]:
    """Lay out the batch to be trained and, to cross-validate, greedy trees of all rows.

    Parameters
    ----------
    table : FoldedTable
    objective : Objective
    settings : GradTreeSettings
    generator : torch.Generator
        On the device to train on; draws the random starts.
    seed : int
        Seeds the greedy trees.
    """
    rows = to_rows(
        table.x,
        table.y,
        table.fold,
        n_train=table.n_train,
        objective=objective,
        device=generator.device,
    )
    plan = StartPlan.of(settings, table.n_folds, seed)
    batch = start_batch(rows, table.y, plan, objective, settings, generator)
    if table.selection == "holdout":
        return batch, None
    return batch, full_data_trees(batch, table.y, plan, generator)


def train_batch(
    batch: TreeBatch,
    settings: GradTreeSettings,
    generator: torch.Generator,
    callbacks: Sequence[Callback],
    *,
    snapshot: Callable[[], Tree],
) -> tuple[TrainResult, pd.DataFrame]:
    """Train all candidates; on return each is at its best, its start included.

    Returns
    -------
    result : TrainResult
        Its ``best_loss`` includes the starts.
    history : DataFrame
        See ``Monitor.history_frame``.
    """
    n_train = batch.rows.n_train
    batch_size = min(settings.batch_size, n_train)
    steps = steps_per_epoch(n_train, batch_size)
    max_epochs = min(settings.max_epochs, -(-settings.max_steps // steps))
    optimizer = torch.optim.Adam(
        [
            {"params": [*batch.logits], "lr": settings.learning_rate_index},
            {"params": [*batch.threshold], "lr": settings.learning_rate_values},
            {"params": [*batch.leaf_value], "lr": settings.learning_rate_leaf},
        ],
        fused=True,
    )
    plan = TrainingPlan(
        n_rows=n_train,
        batch_size=batch_size,
        max_epochs=max_epochs,
        patience=settings.patience,
        evaluate_every=max(1, round(EVALUATED_STEPS / steps)),
        n_averaged=settings.averaged_checkpoints,
    )
    monitor = Monitor(max_epochs, callbacks, snapshot=snapshot)
    start = BestCheckpoints(batch)
    loss_at_start = batch.valid_loss().clone()
    result = train(
        batch,
        optimizer,
        plan,
        generator=generator,
        monitor=monitor,
        scheduler=cosine_decay(optimizer, max_epochs * steps),
    )
    result.warn_if_diverged()
    start.restore(loss_at_start <= result.best_loss)
    result.best_loss = torch.minimum(result.best_loss, loss_at_start)
    return result, monitor.history_frame()


def distill(
    table: FoldedTable, rows: FoldedRows, settings: GradTreeSettings, *, seed: int
) -> FullDataTrees | None:
    """Distil trees from a forest, where they are wanted.

    With two classes they were measured to add nothing.
    """
    wanted = settings.distilled_trees and rows.n_classes > 2
    if not wanted or table.selection == "holdout":
        return None
    return distill_trees(
        rows,
        table.y,
        max_depth=settings.max_depth,
        max_columns=MAX_COLUMNS,
        seed=seed,
    )
