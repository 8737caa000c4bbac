"""How GRANDE learns: one network of trees, stopped by validation, exported."""

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.data.encode import to_float32
from treelab.learners.base import TrainingData
from treelab.learners.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.device import resolve_device
from treelab.learners.diverged import warn_if_diverged
from treelab.learners.schedule import CosineDecay
from treelab.learners.weighted_trees import WeightedTreesNetwork
from treelab.ops.decide import SOFT
from treelab.ops.select import chosen_split
from treelab.training.loop import train
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

ONE_HOT_MAX = 10  # category columns of up to so many categories become 0 and 1
FEWEST_COLUMNS = 5  # a tree's share of the columns is never fewer, where there are


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
            Rows that say when to stop; without them a fifth of the rows is held out.
        callbacks : sequence of callable
            Hear a ``Progress`` now and then; answering True stops training, and the
            best ensemble so far is kept.
        """
        self._check_settings()
        self._lean = np.zeros(1)  # none while training
        device = resolve_device(self.device)
        data = self._read(
            X, y, X_valid, y_valid, numbers="quantile", one_hot_max=ONE_HOT_MAX
        )
        seed = int(check_random_state(self.random_state).randint(2**31))
        generator = torch.Generator(device).manual_seed(seed)
        network = self._network(data, device, generator)
        result = self._train(network, data, generator, callbacks)
        warn_if_diverged(result)
        self.history_ = result.history_frame()
        self._weigh_classes(network, data)
        self.model_ = self._export(network, data).with_rows(
            data.frame, self._told(data.y)
        )
        return self

    @property
    def ensemble_(self) -> WeightedTrees:
        """The fitted ensemble, thresholds in the units of ``X``."""
        return self.model_

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        check_at_least("n_estimators", self.n_estimators, 1)
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

    def _network(self, data: TrainingData, device, generator) -> WeightedTreesNetwork:
        """Build the untrained ensemble with its rows on the device."""
        rows = []
        for x, y in ((data.X, data.y), (data.X_valid, data.y_valid)):
            weight = self._row_weight(y, data.y)
            rows += [
                torch.tensor(to_float32(x), device=device),
                torch.tensor(self._scaled_target(y, data.y), device=device),
                torch.tensor(weight, dtype=torch.float32, device=device),
            ]
        n_features = data.X.shape[1]
        n_columns = max(
            min(FEWEST_COLUMNS, n_features), round(self.feature_share * n_features)
        )
        return WeightedTreesNetwork(
            *rows,
            n_classes=0 if self.labels() is None else len(self.labels()),
            n_estimators=self.n_estimators,
            depth=self.depth,
            n_columns=n_columns,
            row_share=self.row_share,
            dropout=self.dropout,
            leaf_weights=self.leaf_weights,
            generator=generator,
            soft=self.decision,
            transform=self.selector,
            **self._loss_settings(),
        )

    def _train(self, network, data: TrainingData, generator, callbacks):
        """Train until validation no longer improves."""
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
        after_step = None
        if self.cosine_decay:
            after_step = CosineDecay(optimizer, max_epochs * steps, warm_up=0.05)
        return train(
            network,
            optimizer,
            n_rows=n_rows,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=self.patience,
            generator=generator,
            callbacks=callbacks,
            snapshot=lambda: self._representative(network, data),
            after_step=after_step,
        )

    def _export(self, network: WeightedTreesNetwork, data) -> WeightedTrees:
        """Rewrite the ensemble in the user's columns and units."""
        _, feature, threshold = chosen_split(
            network.logits, network.threshold, network.columns
        )
        feature, threshold = feature.cpu().numpy(), threshold.detach().cpu().numpy()
        raw, missing_left = data.encoder.axis_splits(feature.ravel(), threshold.ravel())
        value = network.leaf_value.detach().double().cpu().numpy()
        weight = network.leaf_weight()[..., 0].detach().double().cpu().numpy()
        return WeightedTrees(
            data.encoder.features_,
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
