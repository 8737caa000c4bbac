"""GRANDE: an ensemble of hard trees, each with a say that depends on the row."""

import numpy as np
import torch

from treelab.learners.common.base import TableClassifier, TableRegressor
from treelab.learners.common.checks import check_choice, check_number
from treelab.learners.common.class_prior import best_lean
from treelab.learners.grande.fit import GrandeFit
from treelab.ops.losses import LOSSES, log_shares


class GrandeClassifier(GrandeFit, TableClassifier):
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
    starts : {"both", "forest", "boosted", "random"}, default="both"
        What training starts from: the trees of a random forest, boosted trees, half of
        each, or chance alone, as in the paper.
    n_folds : int, default=4
        Groups of trees. Each holds out another part of the rows to say when it is
        best, so that all rows are trained on; 1 holds out a fifth for all trees.
    feature_share : float, default=0.8
        Share of the columns that each tree may test.
    row_share : float, default=1.0
        Share of the training rows that each tree sees.
    dropout : float, default=0.0
        Share of the trees that each step leaves out, below 1.
    leaf_weights : bool, default=True
        A weight for each leaf; False has one for each tree, for comparison.
    loss : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
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
    cosine_decay : bool, default=True
        Warm up, then let the learning rates fall along a cosine.
    max_epochs : int, default=60
        Passes over the rows at the latest.
    max_steps : int, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=15
        Epochs without a better validation loss until training ends; on large tables
        as many as make up 1,000 steps, at least 3.
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
        starts="both",
        n_folds=4,
        feature_share=0.8,
        row_share=1.0,
        dropout=0.0,
        leaf_weights=True,
        loss="cross_entropy",
        focal_gamma=2.0,
        decision="softsign",
        selector="entmax15",
        learning_rate_index=0.03,
        learning_rate_values=0.03,
        learning_rate_leaf=0.03,
        learning_rate_weights=0.015,
        cosine_decay=True,
        max_epochs=60,
        max_steps=6000,
        patience=15,
        batch_size=128,
        class_weight="auto",
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.depth = depth
        self.starts = starts
        self.n_folds = n_folds
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

    def _weigh_classes(self, network, target):
        """Choose, by macro F1 on held-out rows, how far logits lean to rare classes."""
        n_classes = len(self.classes_)
        self._lean = np.zeros(n_classes)
        if not isinstance(self.class_weight, str) or self.class_weight != "auto":
            return
        rows = torch.cat(network.held_out).cpu().numpy()
        logits = torch.cat([log_shares(o) for o in network.valid_outputs()], 1)
        balanced = np.log(self._balanced_weights(target))  # (C,)
        power = best_lean(logits.double().cpu().numpy().T, target[rows], balanced)
        self._lean = power * balanced

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


class GrandeRegressor(GrandeFit, TableRegressor):
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
    starts : {"both", "forest", "boosted", "random"}, default="both"
        What training starts from: the trees of a random forest, boosted trees, half of
        each, or chance alone, as in the paper.
    n_folds : int, default=4
        Groups of trees. Each holds out another part of the rows to say when it is
        best, so that all rows are trained on; 1 holds out a fifth for all trees.
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
    cosine_decay : bool, default=True
        Warm up, then let the learning rates fall along a cosine.
    max_epochs : int, default=60
        Passes over the rows at the latest.
    max_steps : int, default=6000
        Steps of gradient descent at the latest; ends training on large tables.
    patience : int, default=15
        Epochs without a better validation loss until training ends; on large tables
        as many as make up 1,000 steps, at least 3.
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
        starts="both",
        n_folds=4,
        feature_share=0.8,
        row_share=1.0,
        dropout=0.0,
        leaf_weights=True,
        decision="softsign",
        selector="entmax15",
        learning_rate_index=0.03,
        learning_rate_values=0.03,
        learning_rate_leaf=0.03,
        learning_rate_weights=0.015,
        cosine_decay=True,
        max_epochs=60,
        max_steps=6000,
        patience=15,
        batch_size=128,
        random_state=None,
        device="auto",
    ):
        self.n_estimators = n_estimators
        self.depth = depth
        self.starts = starts
        self.n_folds = n_folds
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

    def _weigh_classes(self, network, target):
        """There are no classes."""

    def _scaled_target(self, target, train_target):
        """Standardise by the training rows; a constant target only moves to 0."""
        self._center = float(train_target.mean())
        self._scale = float(train_target.std()) or 1.0
        return ((target - self._center) / self._scale).astype(np.float32)

    def _leaf_values(self, value):
        """Back into the units of the target."""
        return self._center + self._scale * value
