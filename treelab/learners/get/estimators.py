"""GET and GET-Linear: one tree with oblique splits, all trained together."""

import time
from functools import partial

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.learners.common.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.common.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.common.class_prior import best_weight_power
from treelab.learners.common.device import resolve_device
from treelab.learners.get.budget import BUDGETS, GetSettings
from treelab.learners.get.export import centred, to_tree
from treelab.learners.get.fit import fit_trees
from treelab.learners.get.trees import SMALLEST_SHARE, HardTrees, Rows, join
from treelab.training.events import HISTORY
from treelab.trees.tree import Tree

DEEPEST = 12
CLASS_LOSSES = ("cross_entropy", "brier")
TAUGHT = (
    "This tree also learned from what a bag of trees said of its rows; the bag was not "
    "kept, and this tree answers alone."
)


class _Get:
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
            Hear each ``Progress``; answering True stops, and the best tree is kept.
        """
        started = time.monotonic()
        self._check()
        self._joins = False  # held-out rows join the others at the end
        self._power = 0.0  # of balanced class weights, where these are chosen
        data = self._read(X, y, X_valid, y_valid, numbers="minmax")
        device = resolve_device(self.device)
        rows = self._as_rows(data, data.X, data.y, device)
        valid = self._as_rows(data, data.X_valid, data.y_valid, device)
        seed = check_random_state(self.random_state).randint(2**31)
        trees, history, taught = fit_trees(
            rows,
            valid,
            self._settings(rows),
            np.random.default_rng(seed),
            joins=self._joins,
            callbacks=list(callbacks),
            snapshot=partial(self._export, data=data),
            started=started,
        )
        self.history_ = pd.DataFrame(history, columns=HISTORY)
        self._weigh_classes(trees, data, valid)
        self.model_ = self._export(trees, data, taught)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, in the columns and units of ``X``."""
        return self.model_

    def _hold_out(self, target):
        """Hold rows out, and note whether any is in both parts, as in tiny tables."""
        rows, held_out = super()._hold_out(target)
        self._joins = not np.isin(held_out, rows).any()
        return rows, held_out

    def _check(self):
        """Refuse settings out of range."""
        if self.depth != "auto":
            check_between("depth", self.depth, 1, DEEPEST)
        check_at_least("n_starts", self.n_starts, 1)
        check_choice("budget", self.budget, tuple(BUDGETS))
        check_at_least("batch_size", self.batch_size, 1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("learning_rate_leaves", self.learning_rate_leaves, above=0)
        check_number("l1", self.l1, minimum=0)
        check_number("sparse_tolerance", self.sparse_tolerance, minimum=0)
        if self.max_epochs is not None:
            check_at_least("max_epochs", self.max_epochs, 1)

    def _settings(self, rows: Rows) -> GetSettings:
        """What the training needs to know."""
        depth = self.depth
        if depth == "auto":  # deep enough; validation prunes
            depth = int(np.clip(np.log2(max(2, len(rows.x) / 3)), 1, DEEPEST))
        return GetSettings(
            depth=depth,
            n_starts=self.n_starts,
            budget=BUDGETS[self.budget],
            max_epochs=self.max_epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            learning_rate_leaves=self.learning_rate_leaves,
            l1=self.l1,
            linear=self._linear(),
            polish=self.polish,
            sparse_tolerance=self.sparse_tolerance,
        )

    def _export(
        self, trees: HardTrees, data: TrainingData, taught: Rows | None = None
    ) -> Tree:
        """Write the tree for the user, its leaves recomputed from the rows.

        Or from what a bag of trees taught of the rows.
        """
        frame, y = data.frame, data.y
        cpu = torch.device("cpu")
        # Categories were cross-fitted for training; prediction sees their plain rates.
        rows = self._as_rows(data, data.encoder.transform(frame), y, cpu)
        if self._joins:
            rows = join(rows, self._as_rows(data, data.X_valid, data.y_valid, cpu))
            frame = pd.concat([frame, data.frame_valid])
            y = np.concatenate([y, data.y_valid])
        trees = centred(trees, rows.x)
        trees = trees.refit(rows if taught is None else taught.seen_as(rows.x))
        told = self._told_about(data)
        if taught is not None:
            told["notes"] = (*told.get("notes", ()), TAUGHT)
        return to_tree(
            trees,
            data.encoder,
            frame,
            y if self.labels() is None else self.classes_[y],
            classes=self.labels(),
            **told,
        )

    def _weigh_classes(self, trees: HardTrees, data: TrainingData, valid: Rows):
        """Choose what a row of each class counts in the leaves, where there is one."""

    def _linear(self) -> bool:
        raise NotImplementedError

    def _as_rows(self, data, x, y, device) -> Rows:
        raise NotImplementedError

    def _told_about(self, data) -> dict:
        raise NotImplementedError


class GetClassifier(_Get, TableClassifier):
    """Classification tree with oblique splits, trained as a whole by gradients.

    Each split weighs several columns. Splits begin soft and become hard in two stages;
    several starts train side by side, and the one whose hard tree does best on the
    validation rows is kept. Leaves hold the class shares of the rows that reach them.

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003; classification is ours.

    Parameters
    ----------
    depth : int or "auto", default="auto"
        Most splits on a path, from 1 to 12; "auto" lets the number of rows say. In
        both cases the validation rows prune what they do not support.
    n_starts : int, default=10
        Trees trained side by side, at least 1. The first begin as greedy trees.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: gradient steps, trees that are grown, rounds of polish.
    max_epochs : int or None, default=None
        Passes over the training rows before the tree is grown and polished; None: as
        the budget says.
    batch_size : int, default=512
        Rows a gradient step sees.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves.
    l1 : float, default=0.0
        Price of a unit of absolute split weight, at least 0; columns in [0, 1].
    polish : bool, default=True
        Whether every subtree is trained once more by itself, and kept where it gains.
    sparse_tolerance : float, default=0.002
        Share of what it explains that the tree may lose, on the training and on the
        validation rows, by leaving columns out of its splits, at least 0.
    loss : {"cross_entropy", "brier"}, default="cross_entropy"
        What training lowers and validation judges by.
    class_weight : "auto", None, "balanced" or dict of label to weight, default="auto"
        What a row of each class counts. "auto" trains with equal weights; the leaves
        answer with that power of the balanced ones, from 0 to 1.5, which has the best
        macro F1 on the validation rows.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts, the batches and the rows held out; an int gives the same
        tree every time.
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
        depth="auto",
        *,
        n_starts=10,
        budget="standard",
        max_epochs=None,
        batch_size=512,
        learning_rate=0.02,
        learning_rate_leaves=0.05,
        l1=0.0,
        polish=True,
        sparse_tolerance=0.002,
        loss="cross_entropy",
        class_weight="auto",
        random_state=None,
        device="auto",
    ):
        self.depth = depth
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

    def _linear(self) -> bool:
        """Leaves of a classifier are constant."""
        return False

    def _check(self):
        """Refuse settings out of range."""
        super()._check()
        check_choice("loss", self.loss, CLASS_LOSSES)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("auto", "balanced"))

    def _as_rows(self, data, x, y, device):
        """Rows with class codes, weighted by class."""
        weight = self._weights(data)[y]
        return Rows(x, y, weight, data.n_outputs, device, class_loss=self.loss)

    def _weights(self, data) -> np.ndarray:
        """What a row of each class counts (n_classes,), mean 1 over the rows."""
        if not self._chooses_weights():
            return self._class_weights(data.y)
        weights = self._balanced_weights(data.y) ** self._power
        return weights / weights[data.y].mean()

    def _weigh_classes(self, trees, data, valid):
        """Choose the power of balanced weights by macro F1 on the validation rows."""
        if self._chooses_weights():
            share = np.maximum(trees.answers(valid.x)[0], SMALLEST_SHARE)
            balanced = np.log(self._balanced_weights(data.y))
            self._power = best_weight_power(np.log(share), valid.y, balanced)

    def _chooses_weights(self) -> bool:
        """Whether validation chooses the weights of the classes."""
        return isinstance(self.class_weight, str) and self.class_weight == "auto"

    def _told_about(self, data):
        """What a row of each class counts."""
        return {"notes": self._weights_note(self._weights(data))}


class GetRegressor(_Get, TableRegressor):
    """Regression tree with oblique splits, trained as a whole by gradients.

    Each split weighs several columns. Splits begin soft and become hard in two stages;
    several starts train side by side, and the one whose hard tree does best on the
    validation rows is kept. A leaf answers with one value, or with a formula fitted by
    ridge regression to the rows that reach it (GET-Linear).

    A tree with formulas learns from a bag of such trees, each grown on its own draw of
    the rows, which is not kept: half of what the tree is told of a row is what those
    trees say that did not see it, and it is told of rows that the bag imagines as well.
    The budget "quick" does without.

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003.

    Parameters
    ----------
    depth : int or "auto", default="auto"
        Most splits on a path, from 1 to 12; "auto" lets the number of rows say. In
        both cases the validation rows prune what they do not support.
    n_starts : int, default=10
        Trees trained side by side, at least 1. The first begin as greedy trees.
    leaves : {"constant", "linear"}, default="constant"
        What a leaf answers. Linear leaves with too few rows stay constant, which the
        tree's notes tell.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How much is tried: gradient steps, trees that are grown, rounds of polish.
    max_epochs : int or None, default=None
        Passes over the training rows before the tree is grown and polished; None: as
        the budget says.
    batch_size : int, default=512
        Rows a gradient step sees.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves (of the standardised target).
    l1 : float, default=0.0
        Price of a unit of absolute split weight, at least 0; columns in [0, 1].
    polish : bool, default=True
        Whether every subtree is trained once more by itself, and kept where it gains.
    sparse_tolerance : float, default=0.002
        Share of what it explains that the tree may lose, on the training and on the
        validation rows, by leaving columns out of its splits, at least 0.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts, the batches and the rows held out; an int gives the same
        tree every time.
    device : str, default="auto"
        "auto", "cpu", "cuda" or "cuda:N".

    Attributes
    ----------
    tree_ : Tree
        The fitted tree, in the columns and units of ``X``.
    history_ : DataFrame
        epoch, train_loss (soft trees), valid_loss (hard trees), both as shares of
        the target's variance, seconds, stage.
    """

    def __init__(
        self,
        depth="auto",
        *,
        n_starts=10,
        leaves="constant",
        budget="standard",
        max_epochs=None,
        batch_size=512,
        learning_rate=0.02,
        learning_rate_leaves=0.05,
        l1=0.0,
        polish=True,
        sparse_tolerance=0.002,
        random_state=None,
        device="auto",
    ):
        self.depth = depth
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

    def _linear(self) -> bool:
        """Whether leaves hold formulas."""
        check_choice("leaves", self.leaves, ("constant", "linear"))
        return self.leaves == "linear"

    def _as_rows(self, data, x, y, device):
        """Rows with the target standardised by the training rows."""
        units = self._told_about(data)
        y = (y - units["target_mean"]) / units["target_scale"]
        return Rows(x, y, np.ones(len(y)), 0, device)

    def _told_about(self, data):
        """Mean and deviation of the training target."""
        spread = float(data.y.std())
        return {
            "target_mean": float(data.y.mean()),
            "target_scale": spread if spread > 0 else 1.0,
        }
