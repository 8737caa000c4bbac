"""Argmin tree: oblique splits, and which nodes are pruned is itself learned."""

from functools import partial

import numpy as np
import torch
from sklearn.utils import check_random_state

from treelab.learners.argmin.export import TreeExporter
from treelab.learners.argmin.fit import PathTraining, check_rows
from treelab.learners.argmin.network import ArgminTrees, RowTensors
from treelab.learners.argmin.path import (
    WithPath,
    chosen_path,
    drawn_row_scores,
    predictor_row_scores,
    with_origins,
)
from treelab.learners.argmin.settings import ArgminSettings
from treelab.learners.argmin.starts import random_splits
from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
)
from treelab.learners.common.device import resolve_device
from treelab.learners.common.spec import read_settings
from treelab.learners.common.target_scale import TargetScale
from treelab.ops.threads import one_thread


class _Argmin(WithPath, TableEstimator):
    """What the classifier and the regressor share."""

    def __init__(
        self,
        depth=ArgminSettings.depth,
        *,
        recipe=ArgminSettings.recipe,
        max_leaf_nodes=ArgminSettings.max_leaf_nodes,
        sparse_splits=ArgminSettings.sparse_splits,
        pruning_strength=ArgminSettings.pruning_strength,
        n_restarts=ArgminSettings.n_restarts,
        selection=ArgminSettings.selection,
        formulation=ArgminSettings.formulation,
        split=ArgminSettings.split,
        even_starts=ArgminSettings.even_starts,
        predictor=ArgminSettings.predictor,
        uses_x=ArgminSettings.uses_x,
        n_hidden_layers=ArgminSettings.n_hidden_layers,
        hidden_size=ArgminSettings.hidden_size,
        dropout=ArgminSettings.dropout,
        learning_rate=ArgminSettings.learning_rate,
        plateau=ArgminSettings.plateau,
        max_epochs=ArgminSettings.max_epochs,
        batch_size=ArgminSettings.batch_size,
        patience=ArgminSettings.patience,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
        self.recipe = recipe
        self.max_leaf_nodes = max_leaf_nodes
        self.sparse_splits = sparse_splits
        self.pruning_strength = pruning_strength
        self.n_restarts = n_restarts
        self.selection = selection
        self.formulation = formulation
        self.split = split
        self.even_starts = even_starts
        self.predictor = predictor
        self.uses_x = uses_x
        self.n_hidden_layers = n_hidden_layers
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.plateau = plateau
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.patience = patience
        self.random_state = random_state
        self.device = device

    @one_thread()  # sums that threads share differ in their last bits
    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Train a tree for each pruning strength, one after another, and choose one.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Numbers and categories, missing values allowed.
        y : array of shape (n_rows,)
        X_valid, y_valid : like X and y, optional
            Stop the training and choose the strength; held out of X if not given.
        callbacks : sequence of callable
            Called with a ``Progress`` after each epoch; True stops the training.

        Returns
        -------
        self
        """
        settings = read_settings(ArgminSettings, self)
        data = self._read(X, y, X_valid, y_valid, numbers="zscore")
        check_rows(settings, len(data.y))
        seed = int(check_random_state(self.random_state).randint(2**31))
        class_weight, scale = self._class_weight_or_scale(data.y)
        exporter = TreeExporter(data, settings, self.labels(), scale, class_weight)
        training = PathTraining(
            self._network(exporter, seed),
            settings,
            seed,
            snapshot=exporter.export,
            row_scores=partial(drawn_row_scores, exporter)
            if settings.reads_leaf
            else predictor_row_scores,
            callbacks=callbacks,
        )
        points = training.run(settings.max_leaf_nodes)
        restarts = [*zip(*(point.trees for point in points))]
        path, restart = chosen_path(exporter, restarts)
        start = exporter.export(training.starts[restart])
        self.model_, self.origin_ = with_origins(
            path,
            start,
            start="random",
            trained=settings.learning_rate > 0,
            simplified=bool(training.simplified[restart]),
            matrix=exporter.matrix,
            held_out="a fifth of the rows" if data.held_out else "validation rows",
        )
        if path.predictors[path.chosen] is None:  # the leaves predict
            self.model_ = self._with_probabilities(self.model_, data.frame, data.y)
        end, point = self.path_.tree, points[path.chosen]
        self.history_ = training.retain(point, restart, start, end)
        self.n_epochs_ = int(self.history_["epoch"].iloc[-1])
        return self

    def _network(self, exporter: TreeExporter, seed: int) -> ArgminTrees:
        """The untrained network, on the device with its rows."""
        settings, data = exporter.settings, exporter.data
        device = resolve_device(self.device)
        generator = torch.Generator().manual_seed(seed)

        def rows_of(x: np.ndarray, y: np.ndarray) -> RowTensors:
            if exporter.class_weight is not None:
                return RowTensors.of(x, y, exporter.class_weight[y], device)
            target = exporter.scale.standardise(y).astype(np.float32)
            return RowTensors.of(x, target, np.ones(len(y)), device)

        rows = rows_of(data.X, data.y)
        return ArgminTrees(
            settings,
            rows,
            rows_of(data.X_valid, data.y_valid),
            data.n_outputs,
            splits=random_splits(
                rows.x,
                settings.n_restarts,
                settings.depth,
                settings.even_starts,
                generator,
            ),
            generator=generator,
        )

    def _class_weight_or_scale(self, y) -> tuple[np.ndarray | None, TargetScale | None]:
        """Weights of classes, or the scale of values."""
        raise NotImplementedError


class ArgminTreeClassifier(_Argmin, TableClassifier):
    """Classification by a tree of oblique splits that learns which nodes to prune.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a penalty on activity, the pruning strength, prunes
    nodes. The tree predicts by its leaves, each by the training rows that reach it; or,
    as in the paper, by a predictor that reads how far the row passes each node.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before pruning, 1 to 8.
    recipe : {"treelab", "paper"}, default="treelab"
        "paper" follows the paper's first version and its settings in appendix A.3.
    max_leaf_nodes : int or None, default=None
        Leaves of the trees at the most, at least 2: the least active splits go, and
        training goes on. None sets no limit.
    sparse_splits : bool, default=True
        Whether splits do without every column, and trees without every split, that
        they can leave out without loss on validation rows.
    pruning_strength : float or ascending sequence of float
        Penalty on activity (lambda), at least 0, for a batch of rows: a node whose
        rows pass it by less than half of it, in all, is emptied. Each strength of a
        sequence goes on from the one before. Default: eight strengths from 0 to 1,000.
    n_restarts : int, default=8
        Trees trained at the first strength, from random splits of their own; that with
        the best validation score goes on to the other strengths.
    selection : {"one_standard_error", "best"}, default="one_standard_error"
        Which strength is chosen: that of the smallest tree whose validation score is
        within one standard error of the best, or that of the best validation loss.
    formulation : {"ridge", "preference"}, default="ridge"
        Cost of activity: the paper's final program, or that of its first version,
        where each node learns a preference.
    split : {"linear", "elu"}, default="linear"
        Split score: the weighted sum of the features, or ELU of it.
    even_starts : {"median", "mean"}, default="median"
        First splits send half of the rows that reach them to either side, or, as in
        the paper, those above and below their mean score.
    predictor : {"leaf", "auto", "linear", "mlp"}, default="leaf"
        "leaf": the tree that is drawn predicts, each leaf by its training rows.
        "linear" and "mlp" are models on top of the tree, which no drawing shows:
        ``path_`` holds both, and ``tree_`` is refused. "auto" retains a linear one
        where it predicts validation rows better by more than one standard error.
    uses_x : bool, default=False
        Whether a linear or mlp predictor reads the features as well.
    n_hidden_layers : int, default=1
        Hidden layers of the mlp, 1 to 5, with ELU between them.
    hidden_size : int, default=64
        Units of each hidden layer.
    dropout : float, default=0.0
        Fraction of hidden units dropped at each training step, 0 to 0.95.
    learning_rate : float, default=0.02
        Of quasi-hyperbolic Adam, at least 0.
    plateau : int, default=10
        Epochs without a better validation loss before the learning rate is cut by 10.
    max_epochs : int, default=200
        Passes over the training rows, at least 1.
    batch_size : int, default=512
        Rows in a training step.
    patience : int, default=30
        Epochs without a better validation loss, at any strength, before training ends.
    class_weight : None, "balanced" or dict of label to weight, default=None
        Weight of a row of each class.
    random_state : int, RandomState instance or None, default=None
        Seeds the first splits, the batches, the dropout and the rows held out.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    path_ : PruningPath
        The trees of all strengths, their predictors and their scores.
    tree_ : Tree
        The tree of the chosen strength, thresholds in the units of ``X``; it predicts
        as the model does, and is refused where a predictor on top does.
    pruning_strength_ : float
        The chosen strength.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the chosen tree came about.
    history_ : DataFrame
        Losses of the chosen tree from its start, epoch 0, to its end, in nats.
    n_epochs_ : int
        Epochs that the chosen tree was trained.
    """

    def __init__(
        self,
        depth=ArgminSettings.depth,
        *,
        recipe=ArgminSettings.recipe,
        max_leaf_nodes=ArgminSettings.max_leaf_nodes,
        sparse_splits=ArgminSettings.sparse_splits,
        pruning_strength=ArgminSettings.pruning_strength,
        n_restarts=ArgminSettings.n_restarts,
        selection=ArgminSettings.selection,
        formulation=ArgminSettings.formulation,
        split=ArgminSettings.split,
        even_starts=ArgminSettings.even_starts,
        predictor=ArgminSettings.predictor,
        uses_x=ArgminSettings.uses_x,
        n_hidden_layers=ArgminSettings.n_hidden_layers,
        hidden_size=ArgminSettings.hidden_size,
        dropout=ArgminSettings.dropout,
        learning_rate=ArgminSettings.learning_rate,
        plateau=ArgminSettings.plateau,
        max_epochs=ArgminSettings.max_epochs,
        batch_size=ArgminSettings.batch_size,
        patience=ArgminSettings.patience,
        class_weight=ArgminSettings.class_weight,
        random_state=None,
        device="auto",
    ):
        super().__init__(
            depth,
            recipe=recipe,
            max_leaf_nodes=max_leaf_nodes,
            sparse_splits=sparse_splits,
            pruning_strength=pruning_strength,
            n_restarts=n_restarts,
            selection=selection,
            formulation=formulation,
            split=split,
            even_starts=even_starts,
            predictor=predictor,
            uses_x=uses_x,
            n_hidden_layers=n_hidden_layers,
            hidden_size=hidden_size,
            dropout=dropout,
            learning_rate=learning_rate,
            plateau=plateau,
            max_epochs=max_epochs,
            batch_size=batch_size,
            patience=patience,
            random_state=random_state,
            device=device,
        )
        self.class_weight = class_weight

    def _class_weight_or_scale(self, y):
        """Each class has a weight."""
        return self._class_weights(y), None


class ArgminTreeRegressor(_Argmin, TableRegressor):
    """Regression by a tree of oblique splits that learns which nodes to prune.

    Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
    differentiation", ICML 2021, arXiv:2010.04627.

    Every node has an activity, found by an optimisation problem inside the network
    and differentiated through; a penalty on activity, the pruning strength, prunes
    nodes. The tree predicts by its leaves, each by the training rows that reach it; or,
    as in the paper, by a predictor that reads how far the row passes each node.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before pruning, 1 to 8.
    recipe : {"treelab", "paper"}, default="treelab"
        "paper" follows the paper's first version and its settings in appendix A.3.
    max_leaf_nodes : int or None, default=None
        Leaves of the trees at the most, at least 2: the least active splits go, and
        training goes on. None sets no limit.
    sparse_splits : bool, default=True
        Whether splits do without every column, and trees without every split, that
        they can leave out without loss on validation rows.
    pruning_strength : float or ascending sequence of float
        Penalty on activity (lambda), at least 0, for a batch of rows: a node whose
        rows pass it by less than half of it, in all, is emptied. Each strength of a
        sequence goes on from the one before. Default: eight strengths from 0 to 1,000.
    n_restarts : int, default=8
        Trees trained at the first strength, from random splits of their own; that with
        the best validation score goes on to the other strengths.
    selection : {"one_standard_error", "best"}, default="one_standard_error"
        Which strength is chosen: that of the smallest tree whose validation score is
        within one standard error of the best, or that of the best validation loss.
    formulation : {"ridge", "preference"}, default="ridge"
        Cost of activity: the paper's final program, or that of its first version,
        where each node learns a preference.
    split : {"linear", "elu"}, default="linear"
        Split score: the weighted sum of the features, or ELU of it.
    even_starts : {"median", "mean"}, default="median"
        First splits send half of the rows that reach them to either side, or, as in
        the paper, those above and below their mean score.
    predictor : {"leaf", "auto", "linear", "mlp"}, default="leaf"
        "leaf": the tree that is drawn predicts, each leaf by its training rows.
        "linear" and "mlp" are models on top of the tree, which no drawing shows:
        ``path_`` holds both, and ``tree_`` is refused. "auto" retains a linear one
        where it predicts validation rows better by more than one standard error.
    uses_x : bool, default=False
        Whether a linear or mlp predictor reads the features as well.
    n_hidden_layers : int, default=1
        Hidden layers of the mlp, 1 to 5, with ELU between them.
    hidden_size : int, default=64
        Units of each hidden layer.
    dropout : float, default=0.0
        Fraction of hidden units dropped at each training step, 0 to 0.95.
    learning_rate : float, default=0.02
        Of quasi-hyperbolic Adam, at least 0.
    plateau : int, default=10
        Epochs without a better validation loss before the learning rate is cut by 10.
    max_epochs : int, default=200
        Passes over the training rows, at least 1.
    batch_size : int, default=512
        Rows in a training step.
    patience : int, default=30
        Epochs without a better validation loss, at any strength, before training ends.
    random_state : int, RandomState instance or None, default=None
        Seeds the first splits, the batches, the dropout and the rows held out.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    path_ : PruningPath
        The trees of all strengths, their predictors and their scores.
    tree_ : Tree
        The tree of the chosen strength, thresholds in the units of ``X``; it predicts
        as the model does, and is refused where a predictor on top does.
    pruning_strength_ : float
        The chosen strength.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity that the splits on each column of ``X`` remove, as a fraction of all.
    origin_ : Origin
        How the chosen tree came about.
    history_ : DataFrame
        Losses of the chosen tree from its start, epoch 0, to its end, in variances
        of ``y``.
    n_epochs_ : int
        Epochs that the chosen tree was trained.
    """

    def _class_weight_or_scale(self, y):
        """Values are standardised."""
        return None, TargetScale.of(y)
