"""GET and GET-Linear: one tree with oblique splits, all trained together."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import torch

from treelab.learners.common.base import (
    TableClassifier,
    TableEstimator,
    TableRegressor,
    TrainingData,
)
from treelab.learners.common.class_prior import best_weight_power
from treelab.learners.common.device import resolve_device
from treelab.learners.common.spec import read_settings
from treelab.learners.common.target_scale import TargetScale
from treelab.learners.get.export import to_tree, with_centred_thresholds
from treelab.learners.get.fit import FitContext, fit_tree
from treelab.learners.get.reports import Reports
from treelab.learners.get.rows import (
    MIN_PROBABILITY,
    ClassTarget,
    NumberTarget,
    Rows,
    join_rows,
)
from treelab.learners.get.settings import FitPlan, GetSettings
from treelab.learners.get.trees import HardTrees
from treelab.training.events import Monitor
from treelab.trees.tree import Tree

DISTILLED_NOTE = (
    "This tree was distilled from a bagging ensemble of trees of its own kind; the "
    "ensemble is not saved, and the tree predicts alone."
)


class _Get(TableEstimator):
    """What the classifier and the regressor share."""

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X_valid, y_valid : DataFrame and array-like, optional
            Rows that choose among starts, steps and depths. Without them a fifth of
            ``X`` is held out for that, and joins the others at the end, when the
            leaves are computed.
        callbacks : sequence of callable
            Called with each ``Progress``; returning True stops with the best tree so
            far.
        """
        started = time.monotonic()
        settings = self._checked_settings()
        data = self._read(X, y, X_valid, y_valid, numbers="minmax")
        plan = FitPlan.of(settings, len(data.y))
        target = self._target(data)
        device = resolve_device(self.device)
        rows = target.rows(data.X, data.y, device)
        valid = target.rows(data.X_valid, data.y_valid, device)
        export = partial(self._export, data=data)
        monitor = Monitor(plan.total_epochs, callbacks, started=started)
        reports = Reports(monitor, partial(export, target=target), plan)
        rng = np.random.default_rng(self._draw_seed())
        all_rows = join_rows(rows, valid) if data.held_out else rows
        tree, soft_rows = fit_tree(
            FitContext(rows, valid, plan, rng, reports), all_rows
        )
        self.history_ = monitor.history_frame()
        target = self._with_chosen_weights(target, tree, data, valid)
        self.model_ = export(tree, target=target, soft_rows=soft_rows)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, in the columns and units of ``X``."""
        return self.model_

    def _checked_settings(self) -> GetSettings:
        """Return the parameters, or refuse those out of range."""
        return read_settings(GetSettings, self)

    def _export(
        self,
        trees: HardTrees,
        *,
        data: TrainingData,
        target: ClassTarget | NumberTarget,
        soft_rows: Rows | None = None,
    ) -> Tree:
        """Write the tree for the user, its leaves recomputed from all rows.

        Parameters
        ----------
        trees : HardTrees
            A batch of one tree.
        data : TrainingData
            Rows that were held out join the others.
        target : ClassTarget or NumberTarget
        soft_rows : Rows, optional
            The same rows with soft targets, then synthetic ones, for the leaves of a
            distilled tree.
        """
        frame, y = data.frame, data.y
        # Categories were cross-fitted for training; prediction sees their plain rates.
        x = data.encoder.transform(frame)
        if data.held_out:
            frame = pd.concat([frame, data.frame_valid])
            y = np.concatenate([y, data.y_valid])
            x = np.concatenate([x, data.X_valid])
        rows = target.rows(x, y, torch.device("cpu"))
        notes = self._notes(target)
        if soft_rows is not None:
            rows = soft_rows.with_table_features(x)
            notes = (*notes, DISTILLED_NOTE)
        return to_tree(
            with_centred_thresholds(trees, x).refit(rows),
            data.encoder,
            frame,
            self._decode_target(y),
            classes=self.labels(),
            scale=target.scale,
            notes=notes,
        )

    def _target(self, data: TrainingData) -> ClassTarget | NumberTarget:
        """What the tree is trained to predict."""
        raise NotImplementedError

    def _with_chosen_weights(self, target, trees: HardTrees, data, valid: Rows):
        """Choose the weights of the classes in the leaves, where validation may."""
        return target

    def _notes(self, target) -> tuple[str, ...]:
        """What a reader of the tree must know."""
        return ()


class GetClassifier(_Get, TableClassifier):
    """Classification tree with oblique splits, trained as a whole by gradients.

    Each split tests a weighted sum of features. Splits start soft and become hard in
    two stages; several starts train side by side, and the best hard tree on the
    validation rows is taken. Leaves hold the class probabilities of their rows.

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003. Classification is ours, and so is that trained trees are grown
    on greedily, pruned on the validation rows and made sparse.

    Parameters
    ----------
    max_depth : int or "auto", default="auto"
        Most splits on a path, from 1 to 12; "auto" sets it by the number of rows. In
        both cases the tree is pruned on the validation rows.
    n_starts : int, default=10
        Trees trained side by side, at least 1: N_start of the paper. The first is
        initialised from CART, others from greedy oblique trees.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: gradient steps, trees that are grown, rounds of polish.
        "quick" takes about a tenth of the time of "standard".
    max_epochs : int or None, default=None
        Passes over the training rows before the tree is grown and polished; None: by
        the budget.
    batch_size : int, default=512
        Rows of a gradient step.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves.
    l1 : float, default=0.0
        L1 penalty on the weights of the splits, at least 0; columns in [0, 1].
    polish : bool, default=True
        Whether every subtree is trained once more by itself, and taken where it
        improves.
    sparse_tolerance : float, default=0.002
        Fraction of the explained loss that may be lost, on the training and on the
        validation rows, by leaving columns out of the splits, at least 0.
    loss : {"cross_entropy", "brier"}, default="cross_entropy"
        What training minimises and validation compares by.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        Weight of a row of each class. "auto" trains with equal weights and then shifts
        the leaves to that power of the balanced ones, from 0 to 1.5, which has the
        best macro F1 on the validation rows.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts, the batches and the rows held out; with an int every fit
        gives the same tree.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), both in nats (or
        Brier's), seconds, stage.
    """

    def __init__(
        self,
        max_depth=GetSettings.max_depth,
        *,
        n_starts=GetSettings.n_starts,
        budget=GetSettings.budget,
        max_epochs=GetSettings.max_epochs,
        batch_size=GetSettings.batch_size,
        learning_rate=GetSettings.learning_rate,
        learning_rate_leaves=GetSettings.learning_rate_leaves,
        l1=GetSettings.l1,
        polish=GetSettings.polish,
        sparse_tolerance=GetSettings.sparse_tolerance,
        loss=GetSettings.loss,
        class_weight=GetSettings.class_weight,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.n_starts = n_starts
        self.budget = budget
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_leaves = learning_rate_leaves
        self.l1 = l1
        self.polish = polish
        self.sparse_tolerance = sparse_tolerance
        self.loss = loss
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def _target(self, data):
        """Class codes, weighted by class."""
        weights = np.ones(len(self.classes_))
        if not self._chooses_weights():
            weights = self._class_weights(data.y)
        return ClassTarget(weights, self.loss)

    def _with_chosen_weights(self, target, trees, data, valid):
        """Choose the power of balanced weights by macro F1 on the validation rows."""
        if not self._chooses_weights():
            return target
        balanced = self._balanced_weights(data.y)
        probability = np.maximum(trees.predict(valid.x)[0], MIN_PROBABILITY)
        power = best_weight_power(np.log(probability), valid.y, np.log(balanced))
        weights = balanced**power
        return replace(target, class_weight=weights / weights[data.y].mean())

    def _chooses_weights(self) -> bool:
        """Whether validation chooses the weights of the classes."""
        return isinstance(self.class_weight, str) and self.class_weight == "auto"

    def _notes(self, target):
        """What a row of each class weighs."""
        return self._weights_note(target.class_weight)


class GetRegressor(_Get, TableRegressor):
    """Regression tree with oblique splits, trained as a whole by gradients.

    Each split tests a weighted sum of features. Splits start soft and become hard in
    two stages; several starts train side by side, and the best hard tree on the
    validation rows is taken. A leaf predicts one value (GET), or by a ridge regression
    on the rows that reach it (GET-Linear).

    A tree with linear leaves is distilled from a bagging ensemble of such trees, which
    is not saved: the soft target of a row is half its own value and half its
    out-of-bag prediction, and synthetic rows have the ensemble's predictions. The
    budget "quick" does without.

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003. Distillation is ours, and so is that trained trees are grown on
    greedily, pruned on the validation rows and made sparse.

    Parameters
    ----------
    max_depth : int or "auto", default="auto"
        Most splits on a path, from 1 to 12; "auto" sets it by the number of rows. In
        both cases the tree is pruned on the validation rows.
    n_starts : int, default=10
        Trees trained side by side, at least 1: N_start of the paper. The first is
        initialised from CART, others from greedy oblique trees.
    leaves : {"constant", "linear"}, default="constant"
        What a leaf predicts with. Linear leaves with too few rows stay constant; the
        tree's notes count them.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: gradient steps, trees that are grown, rounds of polish.
        "quick" takes about a tenth of the time of "standard".
    max_epochs : int or None, default=None
        Passes over the training rows before the tree is grown and polished; None: by
        the budget.
    batch_size : int, default=512
        Rows of a gradient step.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves (of the standardised target).
    l1 : float, default=0.0
        L1 penalty on the weights of the splits, at least 0; columns in [0, 1].
    polish : bool, default=True
        Whether every subtree is trained once more by itself, and taken where it
        improves.
    sparse_tolerance : float, default=0.002
        Fraction of the explained loss that may be lost, on the training and on the
        validation rows, by leaving columns out of the splits, at least 0.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts, the batches and the rows held out; with an int every fit
        gives the same tree.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), both as fractions
        of the target's variance, seconds, stage.
    """

    def __init__(
        self,
        max_depth=GetSettings.max_depth,
        *,
        n_starts=GetSettings.n_starts,
        leaves=GetSettings.leaves,
        budget=GetSettings.budget,
        max_epochs=GetSettings.max_epochs,
        batch_size=GetSettings.batch_size,
        learning_rate=GetSettings.learning_rate,
        learning_rate_leaves=GetSettings.learning_rate_leaves,
        l1=GetSettings.l1,
        polish=GetSettings.polish,
        sparse_tolerance=GetSettings.sparse_tolerance,
        random_state=None,
        device="auto",
    ):
        self.max_depth = max_depth
        self.n_starts = n_starts
        self.leaves = leaves
        self.budget = budget
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_leaves = learning_rate_leaves
        self.l1 = l1
        self.polish = polish
        self.sparse_tolerance = sparse_tolerance
        self.random_state = random_state
        self.device = device

    def _target(self, data):
        """Values, standardised by the training rows."""
        return NumberTarget(TargetScale.of(data.y))
