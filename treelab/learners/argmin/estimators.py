"""Argmin tree: oblique splits, and which nodes live is itself learned."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.learners.argmin.export import TreeWriter, candidates
from treelab.learners.argmin.fit import STRENGTHS, check_common, check_rows, fit_trees
from treelab.learners.argmin.network import ArgminTrees, Rows
from treelab.learners.argmin.path import pruning_path
from treelab.learners.common.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.common.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.common.device import resolve_device
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

PREDICTORS = ("linear", "mlp", "leaf")


@dataclass(frozen=True)
class _Targets:
    """What a network learns: targets, row weights, and the unit that targets are in.

    ``y``, ``weight`` and their validation twins (n_rows,); ``center`` is the value that
    0 stands for and ``scale`` the length of 1, in units of the table's target.
    """

    y: np.ndarray
    y_valid: np.ndarray
    weight: np.ndarray
    weight_valid: np.ndarray
    center: float = 0.0
    scale: float = 1.0


class _Argmin:
    """What the classifier and the regressor share."""

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
            Hear a ``Progress`` after each epoch; True asks to stop.

        Returns
        -------
        self
        """
        started = time.monotonic()
        strengths = self._check_settings()
        device = resolve_device(self.device)
        data = self._read(X, y, X_valid, y_valid, numbers="zscore")
        check_rows(self.depth, len(data.y))
        targets = self._targets(data)
        network, generator = self._build(data, targets, strengths, device)
        writer = TreeWriter(
            data,
            self.labels(),
            center=targets.center,
            scale=targets.scale,
            reads_leaf=self.predictor == "leaf",
            uses_x=self.uses_x,
        )
        result, self.history_ = fit_trees(
            network,
            self,
            generator,
            snapshot=lambda leader: writer.write(candidates(network)[leader])[0],
            callbacks=callbacks,
            started=started,
        )
        self.n_epochs_ = result.epochs
        self.model_ = pruning_path(
            strengths,
            [writer.write(one) for one in candidates(network)],
            data,
            self.labels(),
            network.n_nodes,
            self.split,
        )
        return self

    @property
    def path_(self) -> PruningPath:
        """The trees of all strengths, the chosen one among them."""
        return self.model_

    @property
    def tree_(self) -> Tree:
        """The tree of the chosen strength, in the units of ``X``."""
        return self.model_.trees[self.model_.chosen]

    @property
    def pruning_strength_(self) -> float:
        """The chosen strength."""
        return float(self.model_.strengths[self.model_.chosen])

    def _check_settings(self) -> np.ndarray:
        """Refuse settings out of range; return the strengths, (E,)."""
        check_choice("split", self.split, ("linear", "elu"))
        check_choice("predictor", self.predictor, PREDICTORS)
        check_choice("uses_x", self.uses_x, (False, True))
        if self.uses_x and self.predictor == "leaf":
            raise ValueError(
                "uses_x=True needs predictor='linear' or 'mlp': a constant in each "
                "leaf cannot read the row."
            )
        check_between("n_hidden_layers", self.n_hidden_layers, 1, 5)
        check_at_least("hidden_size", self.hidden_size, 1)
        check_number("dropout", self.dropout, minimum=0, maximum=0.95)
        return check_common(self)

    def _build(self, data: TrainingData, targets: _Targets, strengths, device):
        """The network of all strengths with the data on it, and its generator."""
        seed = int(check_random_state(self.random_state).randint(2**31))

        def rows(x, y, weight) -> Rows:
            x = torch.tensor(x.T.astype(np.float32), device=device)
            weight = torch.tensor(weight, dtype=torch.float32, device=device)
            return Rows(x.contiguous(), torch.tensor(y, device=device), weight)

        hidden = ()
        if self.predictor == "mlp":
            hidden = (self.hidden_size,) * self.n_hidden_layers
        network = ArgminTrees(
            torch.tensor(strengths, dtype=torch.float32, device=device),
            self.depth,
            rows(data.X, targets.y, targets.weight),
            rows(data.X_valid, targets.y_valid, targets.weight_valid),
            data.n_outputs,
            loss_scale=None if self.labels() is not None else targets.scale**2,
            batch_size=min(self.batch_size, len(targets.y)),
            formulation=self.formulation,
            hidden=hidden,
            reads_leaf=self.predictor == "leaf",
            uses_x=self.uses_x,
            dropout=self.dropout,
            split=self.split,
            generator=torch.Generator().manual_seed(seed),
        )
        return network, torch.Generator(device).manual_seed(seed)


class ArgminTreeClassifier(_Argmin, TableClassifier):
    """Classification by a tree of oblique splits that learns which nodes live.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a price on activity, the pruning strength, takes nodes
    away. A predictor answers from the traversal: how far the row passes each node.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before pruning, 1 to 8.
    pruning_strength : float or ascending sequence of float
        Price of activity (lambda), at least 0, for a batch of rows. All strengths of
        a sequence train as one batch; the chosen one has the smallest tree whose
        validation score is within one standard error of the best. Default: ten
        strengths from 0 to 10,000.
    formulation : {"ridge", "preference"}, default="ridge"
        What activity costs: the paper's final program, or that of its first version,
        where each node learns a preference.
    split : {"linear", "elu"}, default="linear"
        What the traversal counts at a split: the weighted sum itself, or ELU of it.
    predictor : {"linear", "mlp", "leaf"}, default="linear"
        What answers. "leaf" tells every row of a leaf the same, so that the tree that
        is drawn predicts alone.
    uses_x : bool, default=False
        Whether a linear or mlp predictor reads the row itself as well.
    n_hidden_layers : int, default=1
        Hidden layers of the mlp, 1 to 5, with ELU between them.
    hidden_size : int, default=64
        Units of each hidden layer.
    dropout : float, default=0.0
        Share of hidden units left out at each step, 0 to 0.95.
    learning_rate : float, default=0.02
        Of quasi-hyperbolic Adam; cut by 10 when the validation loss stays.
    max_epochs : int, default=200
        Passes over the training rows, at least 1.
    batch_size : int, default=512
        Rows a step.
    patience : int, default=30
        Epochs without a better validation loss, at any strength, before training ends.
    class_weight : None, "balanced" or dict of label to weight, default=None
        What a row of each class counts.
    random_state : int, RandomState instance or None, default=None
        Seeds the first splits, the batches and the rows held out.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    path_ : PruningPath
        The trees of all strengths, their predictors and their scores.
    tree_ : Tree
        The tree of the chosen strength, thresholds in the units of ``X``.
    pruning_strength_ : float
        The chosen strength.
    history_ : DataFrame
        Losses of the leading strength after each epoch, in nats.
    n_epochs_ : int
        Epochs trained.
    """

    def __init__(
        self,
        depth=4,
        *,
        pruning_strength=STRENGTHS,
        formulation="ridge",
        split="linear",
        predictor="linear",
        uses_x=False,
        n_hidden_layers=1,
        hidden_size=64,
        dropout=0.0,
        learning_rate=0.02,
        max_epochs=200,
        batch_size=512,
        patience=30,
        class_weight=None,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.pruning_strength = pruning_strength
        self.formulation = formulation
        self.split = split
        self.predictor = predictor
        self.uses_x = uses_x
        self.n_hidden_layers = n_hidden_layers
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def _targets(self, data: TrainingData) -> _Targets:
        """Class codes, each row as heavy as its class."""
        weights = self._class_weights(data.y)
        return _Targets(data.y, data.y_valid, weights[data.y], weights[data.y_valid])


class ArgminTreeRegressor(_Argmin, TableRegressor):
    """Regression by a tree of oblique splits that learns which nodes live.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a price on activity, the pruning strength, takes nodes
    away. A predictor answers from the traversal: how far the row passes each node.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before pruning, 1 to 8.
    pruning_strength : float or ascending sequence of float
        Price of activity (lambda), at least 0, for a batch of rows. All strengths of
        a sequence train as one batch; the chosen one has the smallest tree whose
        validation score is within one standard error of the best. Default: ten
        strengths from 0 to 10,000.
    formulation : {"ridge", "preference"}, default="ridge"
        What activity costs: the paper's final program, or that of its first version,
        where each node learns a preference.
    split : {"linear", "elu"}, default="linear"
        What the traversal counts at a split: the weighted sum itself, or ELU of it.
    predictor : {"linear", "mlp", "leaf"}, default="linear"
        What answers. "leaf" tells every row of a leaf the same, so that the tree that
        is drawn predicts alone.
    uses_x : bool, default=False
        Whether a linear or mlp predictor reads the row itself as well.
    n_hidden_layers : int, default=1
        Hidden layers of the mlp, 1 to 5, with ELU between them.
    hidden_size : int, default=64
        Units of each hidden layer.
    dropout : float, default=0.0
        Share of hidden units left out at each step, 0 to 0.95.
    learning_rate : float, default=0.02
        Of quasi-hyperbolic Adam; cut by 10 when the validation loss stays.
    max_epochs : int, default=200
        Passes over the training rows, at least 1.
    batch_size : int, default=512
        Rows a step.
    patience : int, default=30
        Epochs without a better validation loss, at any strength, before training ends.
    random_state : int, RandomState instance or None, default=None
        Seeds the first splits, the batches and the rows held out.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    path_ : PruningPath
        The trees of all strengths, their predictors and their scores.
    tree_ : Tree
        The tree of the chosen strength, thresholds in the units of ``X``.
    pruning_strength_ : float
        The chosen strength.
    history_ : DataFrame
        Losses of the leading strength after each epoch, in squared units of ``y``.
    n_epochs_ : int
        Epochs trained.
    """

    def __init__(
        self,
        depth=4,
        *,
        pruning_strength=STRENGTHS,
        formulation="ridge",
        split="linear",
        predictor="linear",
        uses_x=False,
        n_hidden_layers=1,
        hidden_size=64,
        dropout=0.0,
        learning_rate=0.02,
        max_epochs=200,
        batch_size=512,
        patience=30,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.pruning_strength = pruning_strength
        self.formulation = formulation
        self.split = split
        self.predictor = predictor
        self.uses_x = uses_x
        self.n_hidden_layers = n_hidden_layers
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def _targets(self, data: TrainingData) -> _Targets:
        """Standardised targets, all rows equal."""
        center, scale = float(data.y.mean()), float(data.y.std()) or 1.0
        return _Targets(
            ((data.y - center) / scale).astype(np.float32),
            ((data.y_valid - center) / scale).astype(np.float32),
            np.ones(len(data.y)),
            np.ones(len(data.y_valid)),
            center,
            scale,
        )
