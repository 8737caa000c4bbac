"""GRANDE: an ensemble of hard trees, each with a say that depends on the row."""

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.data.encode import to_float32
from treelab.learners.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.device import resolve_device
from treelab.learners.schedule import CosineDecay
from treelab.learners.tree_choice import macro_f1
from treelab.learners.weighted_trees import WeightedTreesNetwork
from treelab.ops.decide import SOFT
from treelab.ops.losses import LOSSES, log_shares
from treelab.ops.select import chosen_split
from treelab.training.loop import train
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.tree import Tree

BALANCE = (0.0, 0.5, 1.0)  # powers of balanced class weights that "auto" tries
FEWEST_COLUMNS = 5  # a tree's share of the columns is never fewer, where there are


class _Grande:
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
        data = self._read(X, y, X_valid, y_valid, numbers="quantile")
        seed = int(check_random_state(self.random_state).randint(2**31))
        generator = torch.Generator(device).manual_seed(seed)
        network = self._network(data, device, generator)
        result = self._train(network, data, generator, callbacks)
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


class GrandeClassifier(_Grande, TableClassifier):
    """Ensemble of hard, axis-aligned trees, trained end to end and weighted by row.

    Every tree has a weight at each of its leaves; for each row, a softmax over the
    trees makes shares of them, so different rows are decided by different trees.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Parameters
    ----------
    n_estimators : int, default=512
        Trees.
    depth : int, default=5
        Splits on every path of a tree, 1 to 10.
    feature_share : float, default=0.8
        Share of the columns that each tree may test.
    row_share : float, default=1.0
        Share of the training rows that each tree sees.
    dropout : float, default=0.0
        Share of the trees that each step leaves out, below 1.
    leaf_weights : bool, default=True
        A weight for each leaf; False has one for each tree, for comparison.
    loss : {"cross_entropy", "focal", "poly"}, default="cross_entropy"
        See ``treelab.ops.losses.class_loss``.
    focal_gamma : float, default=2.0
        Of the focal loss.
    decision : {"softsign", "logistic", "entmoid"}, default="softsign"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float
        Of the features' preferences and of the thresholds (standard normal scores).
    learning_rate_leaf, learning_rate_weights : float
        Of the leaves' logits and of their weights.
    cosine_decay : bool, default=False
        Warm up, then let the learning rates fall along a cosine.
    max_epochs : int, default=250
        Passes over the rows at the latest.
    max_steps : int, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=25
        Epochs without a better validation loss until training ends.
    batch_size : int, default=128
        Rows a step.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        What a row of each class counts. "auto" trains with equal weights, then moves
        all leaves' logits as equal, balanced, or in-between weights (the square root
        of balanced) would, whichever has the best macro F1 on validation.
    random_state : int, RandomState instance or None, default=None
        Seeds starts, subsets and batches; an int gives the same ensemble every time
        on the CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

    Attributes
    ----------
    ensemble_ : WeightedTrees
        The fitted ensemble, thresholds in the units of ``X``.
    history_ : DataFrame
        Epoch, training and validation loss (nats), seconds.
    """

    def __init__(
        self,
        n_estimators=512,
        *,
        depth=5,
        feature_share=0.8,
        row_share=1.0,
        dropout=0.0,
        leaf_weights=True,
        loss="cross_entropy",
        focal_gamma=2.0,
        decision="softsign",
        selector="entmax15",
        learning_rate_index=0.01,
        learning_rate_values=0.01,
        learning_rate_leaf=0.01,
        learning_rate_weights=0.005,
        cosine_decay=False,
        max_epochs=250,
        max_steps=6000,
        patience=25,
        batch_size=128,
        class_weight="auto",
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.depth = depth
        self.feature_share = feature_share
        self.row_share = row_share
        self.dropout = dropout
        self.leaf_weights = leaf_weights
        self.loss = loss
        self.focal_gamma = focal_gamma
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.learning_rate_weights = learning_rate_weights
        self.cosine_decay = cosine_decay
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def _check_settings(self):
        """Refuse settings out of range before any work is done."""
        super()._check_settings()
        check_choice("loss", self.loss, LOSSES)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("auto", "balanced"))
        check_number("focal_gamma", self.focal_gamma, minimum=0)

    def _loss_settings(self) -> dict:
        """What the loss needs to know."""
        return {"loss": self.loss, "focal_gamma": self.focal_gamma}

    def _row_weight(self, target, train_target):
        """Weight of each row, by its class."""
        if isinstance(self.class_weight, str) and self.class_weight == "auto":
            return np.ones(len(target))
        return self._class_weights(train_target)[target]

    def _weigh_classes(self, network, data):
        """Choose, by macro F1 on validation, how far logits lean to rare classes."""
        n_classes = len(self.classes_)
        self._lean = np.zeros(n_classes)
        if not isinstance(self.class_weight, str) or self.class_weight != "auto":
            return
        if len(data.y_valid) == 0:
            return
        counts = np.maximum(np.bincount(data.y, minlength=n_classes), 1)
        balanced = np.log(len(data.y) / (n_classes * counts))  # (C,)
        logits = log_shares(network.valid_output()).cpu().numpy().T  # (m, C)
        best = -1.0
        for power in BALANCE:
            told = (logits + power * balanced).argmax(1)
            cell = data.y_valid * n_classes + told
            counted = np.bincount(cell, minlength=n_classes**2)
            score = float(macro_f1(counted.reshape(n_classes, n_classes)))
            if score > best:
                best, self._lean = score, power * balanced

    def _scaled_target(self, target, train_target):
        """Class codes stay as they are."""
        return target

    def _leaf_values(self, value):
        """Logits (..., C), leaning to rare classes as far as was chosen.

        The shares of the trees sum to one, so what is added to every leaf is added to
        the answer.
        """
        lean = self._lean
        if value.shape[-1] == 1 and len(lean) == 2:
            lean = lean[1:] - lean[:1]
        return value + lean


class GrandeRegressor(_Grande, TableRegressor):
    """Ensemble of hard, axis-aligned regression trees, weighted by row.

    Every tree has a weight at each of its leaves; for each row, a softmax over the
    trees makes shares of them, so different rows are decided by different trees. The
    target is standardised.

    Source: Marton, Ludtke, Bartelt and Stuckenschmidt, "GRANDE: Gradient-Based
    Decision Tree Ensembles for Tabular Data", ICLR 2024, arXiv:2309.17130.

    Parameters
    ----------
    n_estimators : int, default=512
        Trees.
    depth : int, default=5
        Splits on every path of a tree, 1 to 10.
    feature_share : float, default=0.8
        Share of the columns that each tree may test.
    row_share : float, default=1.0
        Share of the training rows that each tree sees.
    dropout : float, default=0.0
        Share of the trees that each step leaves out, below 1.
    leaf_weights : bool, default=True
        A weight for each leaf; False has one for each tree, for comparison.
    decision : {"softsign", "logistic", "entmoid"}, default="softsign"
        Whose gradient a hard decision takes.
    selector : {"entmax15", "softmax"}, default="entmax15"
        Whose gradient the choice of a feature takes.
    learning_rate_index, learning_rate_values : float
        Of the features' preferences and of the thresholds (standard normal scores).
    learning_rate_leaf, learning_rate_weights : float
        Of the leaves' values (standard deviations of the target) and of their weights.
    cosine_decay : bool, default=False
        Warm up, then let the learning rates fall along a cosine.
    max_epochs : int, default=250
        Passes over the rows at the latest.
    max_steps : int, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=25
        Epochs without a better validation loss until training ends.
    batch_size : int, default=128
        Rows a step.
    random_state : int, RandomState instance or None, default=None
        Seeds starts, subsets and batches; an int gives the same ensemble every time
        on the CPU.
    device : str, default="auto"
        Where to train: "cpu", "cuda", "cuda:N"; "auto" takes CUDA where it is.

    Attributes
    ----------
    ensemble_ : WeightedTrees
        The fitted ensemble, thresholds in the units of ``X``.
    history_ : DataFrame
        Epoch, training and validation loss (variances of the target), seconds.
    """

    def __init__(
        self,
        n_estimators=512,
        *,
        depth=5,
        feature_share=0.8,
        row_share=1.0,
        dropout=0.0,
        leaf_weights=True,
        decision="softsign",
        selector="entmax15",
        learning_rate_index=0.01,
        learning_rate_values=0.01,
        learning_rate_leaf=0.01,
        learning_rate_weights=0.005,
        cosine_decay=False,
        max_epochs=250,
        max_steps=6000,
        patience=25,
        batch_size=128,
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.depth = depth
        self.feature_share = feature_share
        self.row_share = row_share
        self.dropout = dropout
        self.leaf_weights = leaf_weights
        self.decision = decision
        self.selector = selector
        self.learning_rate_index = learning_rate_index
        self.learning_rate_values = learning_rate_values
        self.learning_rate_leaf = learning_rate_leaf
        self.learning_rate_weights = learning_rate_weights
        self.cosine_decay = cosine_decay
        self.max_epochs = max_epochs
        self.max_steps = max_steps
        self.patience = patience
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    def _loss_settings(self) -> dict:
        """Squared error has no settings."""
        return {}

    def _row_weight(self, target, train_target):
        """Rows count alike."""
        return np.ones(len(target))

    def _weigh_classes(self, network, data):
        """There are no classes."""

    def _scaled_target(self, target, train_target):
        """Standardise by the training rows; a constant target only moves to 0."""
        self._center = float(train_target.mean())
        self._scale = float(train_target.std()) or 1.0
        return ((target - self._center) / self._scale).astype(np.float32)

    def _leaf_values(self, value):
        """Back into the units of the target."""
        return self._center + self._scale * value
