"""How GRANDE learns: one network of trees, stopped by validation, exported."""

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.common.base import TrainingData
from treelab.learners.common.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.common.device import resolve_device
from treelab.learners.common.folds import assign_folds
from treelab.learners.common.tree_batch import Rows
from treelab.learners.grande.group_encoding import GroupEncoder
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.starts import (
    STARTS,
    draw_columns,
    greedy_starts,
    random_starts,
)
from treelab.ops.decide import SOFT
from treelab.ops.losses import log_shares
from treelab.ops.select import chosen_split
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, train
from treelab.training.schedule import cosine_decay
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

PATIENT_STEPS = 1_000  # training ends after so many steps in vain, or 3 epochs
ONE_HOT_MAX = 10  # category columns of up to so many categories become 0 and 1


class GrandeFit:
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
            Rows that say when to stop; without them every row is held out by one
            group of the trees and trained on by the others.
        callbacks : sequence of callable
            Hear a ``Progress`` now and then; answering True stops training, and the
            best ensemble so far is kept.
        """
        self._check_settings()
        self._lean = np.zeros(1)  # none while training
        device = resolve_device(self.device)
        self.n_groups_ = 1
        data = self._read(
            X, y, X_valid, y_valid, numbers="quantile", one_hot_max=ONE_HOT_MAX
        )
        random = check_random_state(self.random_state)
        generator = torch.Generator(device).manual_seed(int(random.randint(2**31)))
        rows, target = self._rows(data, device, seed=int(random.randint(2**31)))
        network = self._network(rows, generator, seed=int(random.randint(2**31)))
        self._train(network, data, generator, callbacks)
        self.held_out_answers_ = self._held_out_answers(network)
        self._weigh_classes(network, target)
        self.model_ = self._export(network, data).with_rows(
            data.frame, self._told(data.y)
        )
        return self

    @torch.no_grad()
    def _held_out_answers(self, network) -> np.ndarray:
        """What the group that did not see a training row says of it, (n, C)."""
        n_train = network.rows.n_train
        told = np.full((n_train, max(network.rows.n_classes, 1)), np.nan)
        for output, rows in zip(network.valid_outputs(), network.held_out):
            if network.rows.n_classes:
                output = log_shares(output).exp()  # (C, m)
            rows = rows.cpu().numpy()
            trained = rows < n_train
            told[rows[trained]] = output.t().double().cpu().numpy()[trained]
        return told

    @property
    def ensemble_(self) -> WeightedTrees:
        """The fitted ensemble, thresholds in the units of ``X``."""
        return self.model_

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        check_at_least("n_estimators", self.n_estimators, 1)
        check_at_least("n_folds", self.n_folds, 1)
        check_choice("starts", self.starts, STARTS)
        check_between("depth", self.depth, 1, 10)
        check_number("feature_share", self.feature_share, above=0, maximum=1)
        check_number("row_share", self.row_share, above=0, maximum=1)
        check_number("dropout", self.dropout, minimum=0, maximum=0.95)
        check_choice("leaf_weights", self.leaf_weights, (True, False))
        check_choice("decision", self.decision, SOFT)
        check_choice("selector", self.selector, ("entmax15", "softmax"))
        check_choice("cosine_decay", self.cosine_decay, (True, False))
        for part in ("index", "values", "leaf", "weights"):
            name = f"learning_rate_{part}"
            check_number(name, getattr(self, name), above=0)
        for name in ("max_epochs", "max_steps", "patience", "batch_size"):
            check_at_least(name, getattr(self, name), 1)

    def _hold_out(self, target):
        """Hold no rows out for good where folds take turns."""
        n_groups = min(self.n_folds, self.n_estimators)
        if n_groups == 1 or len(target) < max(10, n_groups):
            return super()._hold_out(target)
        self.n_groups_ = n_groups
        rows = np.arange(len(target))
        return rows, rows[:0]

    def _rows(self, data: TrainingData, device, *, seed) -> tuple[Rows, np.ndarray]:
        """Put the table on the device and say which group holds out which row."""
        target = np.concatenate([data.y, data.y_valid])
        fold = np.repeat([-1, 0], [len(data.y), len(data.y_valid)])
        self._encoder = data.encoder
        x = np.concatenate([data.X, data.X_valid])
        self._offered = [np.arange(x.shape[1])] * self.n_groups_
        if self.n_groups_ > 1:
            fold = assign_folds(target, self.n_groups_, seed=seed)
            if data.encoder.target_encoded_:
                self._encoder = GroupEncoder(data.encoder, task=self._task(), seed=seed)
                x = self._encoder.fit_transform(data.frame, data.X, data.y, fold)
                self._offered = self._encoder.own
        weight = self._row_weight(target, data.y)[:, None]
        scaled = torch.tensor(self._scaled_target(target, data.y), device=device)
        rows = Rows(
            x=torch.tensor(to_float32(x), device=device),
            target=scaled,
            truth=scaled,
            weight=torch.tensor(weight, dtype=torch.float32, device=device),
            fold=torch.tensor(fold, device=device),
            n_train=len(data.y),
            n_classes=0 if self.labels() is None else len(self.labels()),
        )
        return rows, target

    def _network(self, rows: Rows, generator, *, seed) -> WeightedTreesNetwork:
        """Build the untrained ensemble."""
        random = np.random.RandomState(seed)
        n_groups = self.n_groups_
        of_a_group = -(-self.n_estimators // n_groups)
        offered = [own for own in self._offered for _ in range(of_a_group)]
        columns = draw_columns(offered, self.feature_share, random)
        x = rows.x[: rows.n_train]
        if self.starts == "random":
            starts = random_starts(
                x,
                columns,
                depth=self.depth,
                n_outputs=rows.n_outputs,
                generator=generator,
            )
        else:
            fold = rows.fold[: rows.n_train].cpu().numpy()
            weight = rows.weight[: rows.n_train, 0].double().cpu().numpy()
            starts = greedy_starts(
                self.starts,
                x,
                rows.target[: rows.n_train].cpu().numpy(),
                weight * (fold != np.arange(n_groups)[:, None]),
                columns,
                depth=self.depth,
                n_classes=rows.n_classes,
                generator=generator,
                random=random,
            )
        return WeightedTreesNetwork(
            rows,
            starts,
            n_groups=n_groups,
            n_trees=self.n_estimators,
            row_share=self.row_share,
            dropout=self.dropout,
            leaf_weights=self.leaf_weights,
            generator=generator,
            soft=self.decision,
            transform=self.selector,
            **self._loss_settings(),
        )

    def _train(self, network, data: TrainingData, generator, callbacks):
        """Train until validation no longer improves; the start counts too."""
        n_rows = len(data.y)
        batch_size = min(self.batch_size, n_rows)
        optimizer = torch.optim.Adam(
            [
                {"params": [network.logits], "lr": self.learning_rate_index},
                {"params": [network.threshold], "lr": self.learning_rate_values},
                {"params": [network.leaf_value], "lr": self.learning_rate_leaf},
                {"params": [network.weight], "lr": self.learning_rate_weights},
            ],
            fused=True,
        )
        steps = max(1, round(n_rows / batch_size))  # an epoch
        max_epochs = min(self.max_epochs, -(-self.max_steps // steps))
        scheduler = None
        if self.cosine_decay:
            scheduler = cosine_decay(optimizer, max_epochs * steps, warm_up=0.05)
        monitor = Monitor(
            max_epochs,
            callbacks,
            snapshot=lambda: self._representative(network, data),
        )
        at_start = network.state()
        loss_at_start = network.valid_loss()
        result = train(
            network,
            optimizer,
            TrainingPlan(
                n_rows=n_rows,
                batch_size=batch_size,
                max_epochs=max_epochs,
                patience=min(self.patience, max(3, -(-PATIENT_STEPS // steps))),
            ),
            generator=generator,
            monitor=monitor,
            scheduler=scheduler,
        )
        result.warn_if_diverged()
        self.history_ = monitor.history_frame()
        network.reset(at_start, loss_at_start <= result.best_loss)

    def _export(self, network: WeightedTreesNetwork, data) -> WeightedTrees:
        """Rewrite the ensemble in the user's columns and units."""
        columns = network.columns
        _, feature, threshold = chosen_split(
            network.logits.flatten(0, 1),
            network.threshold.flatten(0, 1),
            None if columns is None else columns.flatten(0, 1),
        )
        trees = slice(self.n_estimators)
        feature = feature[trees].cpu().numpy()
        threshold = threshold[trees].detach().cpu().numpy()
        raw, missing_left = self._encoder.axis_splits(
            feature.ravel(), threshold.ravel()
        )
        leaf = network.packed()[trees].detach().double().cpu().numpy()
        value, weight = leaf[..., :-1], leaf[..., -1]
        return WeightedTrees(
            self._encoder.features_,
            feature,
            raw.reshape(feature.shape),
            missing_left.reshape(feature.shape),
            self._leaf_values(value),
            weight,
            classes=self.labels(),
        )

    def _representative(self, network, data: TrainingData) -> Tree:
        """The estimator with the largest mean weight on training rows, as a tree."""
        ensemble = self._export(network, data)
        heaviest = int(ensemble.estimator_weights(data.frame).mean(0).argmax())
        return ensemble.estimator(heaviest, data.frame, self._told(data.y))

    def _told(self, target: np.ndarray) -> np.ndarray:
        """The target in the caller's own labels."""
        return target if self.labels() is None else self.classes_[target]
