"""GET and GET-Linear: one tree with oblique splits, all trained together."""

import math
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from sklearn.utils import check_random_state

from treelab.learners.base import TableClassifier, TableRegressor, TrainingData
from treelab.learners.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.learners.device import resolve_device
from treelab.learners.get_export import centred, to_tree
from treelab.learners.get_network import GetNetwork, HardTrees, Rows
from treelab.learners.get_starts import starting_splits
from treelab.training.loop import HISTORY, train
from treelab.trees.tree import Tree

STAGES = (("soft splits", 5.0, 25.0), ("hard splits", 50.0, 150.0))  # scale factors
STEPS = {"quick": 300, "standard": 1500, "thorough": 5000}  # gradient steps a stage
KEPT_SHARE = 1 / 3  # of the starts goes on to the next stage
EVALUATIONS = 15  # looks at the hard loss in a stage
WARM_UP = 0.1  # share of a stage in which the learning rate rises
WEIGHT_DECAY = 1e-4


@dataclass
class _Best:
    """The best hard tree found so far, by its loss on the validation rows."""

    trees: HardTrees
    loss: float


class _Get:
    """What the classifier and the regressor share."""

    def fit(self, X, y, *, X_valid=None, y_valid=None, callbacks=()):
        """Learn from ``X`` (n_rows, n_columns), ``y`` (n_rows,); return self.

        Parameters
        ----------
        X_valid, y_valid : DataFrame and array-like, optional
            Rows that choose among the starts and steps; without them a fifth of
            ``X`` is held out for that.
        callbacks : sequence of callable
            Hear each ``Progress``; answering True stops, and the best tree is kept.
        """
        started = time.monotonic()
        self._check()
        data = self._read(X, y, X_valid, y_valid, numbers="minmax")
        seed = check_random_state(self.random_state).randint(2**31)
        rng = np.random.default_rng(seed)
        rows, valid = self._rows(data)
        self._train(data, rows, valid, rng, list(callbacks), started)
        return self

    @property
    def tree_(self) -> Tree:
        """The fitted tree, in the columns and units of ``X``."""
        return self.model_

    def _check(self):
        """Refuse settings out of range."""
        check_between("depth", self.depth, 1, 12)
        check_at_least("n_starts", self.n_starts, 1)
        check_choice("budget", self.budget, tuple(STEPS))
        check_at_least("batch_size", self.batch_size, 1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("learning_rate_leaves", self.learning_rate_leaves, above=0)
        check_number("l1", self.l1, minimum=0)
        if self.max_epochs is not None:
            check_at_least("max_epochs", self.max_epochs, 1)

    def _train(self, data, rows, valid, rng, callbacks, started):
        """Train the stages; each begins with the best starts of the one before."""
        device = rows.device
        linear = self._linear()
        splits = starting_splits(
            rows.x,
            rows.y,
            self.depth,
            self.n_starts,
            rng,
            classes=rows.n_classes > 0,
            weight=rows.weight,
        )
        trees = HardTrees.fit(*splits, rows, linear=linear)
        losses = valid.loss(trees.answers(valid.x))
        best = _Best(trees.take(np.argmin(losses)), float(losses.min()))
        generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
        epochs = self._epochs(len(rows.x))
        history = []
        for stage, (name, low, high) in enumerate(STAGES):
            scale_factor = rng.uniform(low, high, len(trees.weights))
            network = GetNetwork(trees, scale_factor, rows, valid, self.l1)
            optimizer = self._optimizer(network)
            schedule = _schedule(optimizer, epochs[stage] * _batches(rows, self))
            result = train(
                network,
                optimizer,
                n_rows=len(rows.x),
                batch_size=self.batch_size,
                max_epochs=epochs[stage],
                patience=epochs[stage],
                generator=generator,
                callbacks=callbacks,
                snapshot=lambda network=network: self._snapshot(network, data),
                after_step=schedule.step,
                evaluate_every=max(1, epochs[stage] // EVALUATIONS),
                stage=name,
                epoch_offset=sum(epochs[:stage]),
                total_epochs=sum(epochs),
                started=started,
            )
            history += result.history
            trees = network.hard_trees()
            loss = result.best_loss.cpu().numpy()
            if loss.min() < best.loss:
                best = _Best(trees.take(np.argmin(loss)), float(loss.min()))
            if result.reason == "callback":
                break
            n_kept = max(1, round(KEPT_SHARE * len(loss)))
            trees = trees.take(np.argsort(loss, kind="stable")[:n_kept])
        self.history_ = pd.DataFrame(history, columns=HISTORY)
        self.model_ = self._export(best.trees, data)

    def _epochs(self, n_rows: int) -> list[int]:
        """Epochs of each stage: as many as the budget's steps need, or as set."""
        batches = max(1, math.ceil(n_rows / self.batch_size))
        wanted = math.ceil(STEPS[self.budget] / batches)
        if self.max_epochs is None:
            return [wanted] * len(STAGES)
        first = math.ceil(self.max_epochs / 2)
        return [first, max(1, self.max_epochs - first)]

    def _optimizer(self, network):
        """AdamW, its own learning rate for the leaves."""
        return torch.optim.AdamW(
            [
                {
                    "params": [network.weights, network.threshold],
                    "lr": self.learning_rate,
                },
                {"params": [network.leaf_value], "lr": self.learning_rate_leaves},
            ],
            weight_decay=WEIGHT_DECAY,
        )

    def _snapshot(self, network: GetNetwork, data: TrainingData) -> Tree:
        """The best start of the moment as a Tree."""
        trees = network.hard_trees()
        loss = network.valid.loss(trees.answers(network.valid.x))
        return self._export(trees.take(np.argmin(loss)), data)

    def _export(self, trees: HardTrees, data: TrainingData) -> Tree:
        """Write the tree for the user, its leaves recomputed from the rows."""
        # Categories were cross-fitted for training; prediction sees their plain rates.
        x = data.encoder.transform(data.frame)
        rows = self._as_rows(data, x, data.y, torch.device("cpu"))
        trees = centred(trees, rows.x)
        trees = HardTrees.fit(
            trees.weights, trees.threshold, rows, linear=trees.linear is not None
        )
        return to_tree(
            trees,
            data.encoder,
            data.frame,
            data.y if self.labels() is None else self.classes_[data.y],
            classes=self.labels(),
            **self._target_units(data),
        )

    def _rows(self, data: TrainingData) -> tuple[Rows, Rows]:
        """Training and validation rows as the trees see them."""
        device = resolve_device(self.device)
        return (
            self._as_rows(data, data.X, data.y, device),
            self._as_rows(data, data.X_valid, data.y_valid, device),
        )

    def _as_rows(self, data, x, y, device) -> Rows:
        raise NotImplementedError

    def _target_units(self, data) -> dict[str, float]:
        raise NotImplementedError


def _batches(rows: Rows, settings) -> int:
    """Steps an epoch takes at most."""
    return max(1, math.ceil(len(rows.x) / settings.batch_size))


def _schedule(optimizer, n_steps: int):
    """Learning rate that rises, then falls along a cosine to almost nothing."""

    def factor(step: int) -> float:
        risen = min(1.0, (step + 1) / max(1.0, WARM_UP * n_steps))
        fallen = 0.5 * (1 + math.cos(math.pi * min(1.0, step / n_steps)))
        return risen * (fallen + 1e-3)

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


class GetClassifier(_Get, TableClassifier):
    """Classification tree with oblique splits, trained as a whole by gradients.

    Each split weighs several columns. Splits begin soft and become hard in two stages;
    several starts train side by side, and the one whose hard tree does best on the
    validation rows is kept. Leaves hold the class shares of the rows that reach them.

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003; classification is ours.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before empty branches are pruned, from 1 to 12.
    n_starts : int, default=10
        Trees trained side by side, at least 1. The first begin as greedy trees.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How many gradient steps each stage takes.
    max_epochs : int or None, default=None
        Passes over the training rows in all stages together; None: as the budget says.
    batch_size : int, default=512
        Rows a gradient step sees.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves.
    l1 : float, default=0.0
        Price of a unit of absolute split weight, at least 0; columns in [0, 1].
    class_weight : None, "balanced" or dict of label to weight, default=None
        What a row of each class counts.
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
        epoch, train_loss (soft), valid_loss (hard), both in nats, seconds, stage.
    """

    def __init__(
        self,
        depth=4,
        *,
        n_starts=10,
        budget="standard",
        max_epochs=None,
        batch_size=512,
        learning_rate=0.02,
        learning_rate_leaves=0.05,
        l1=0.0,
        class_weight=None,
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
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device

    def _linear(self) -> bool:
        """Leaves of a classifier are constant."""
        return False

    def _as_rows(self, data, x, y, device):
        """Rows with class codes, weighted by class."""
        weight = self._class_weights(data.y)[y]
        return Rows(x, y, weight, data.n_outputs, device)

    def _target_units(self, data):
        """Class shares need no unit."""
        return {}


class GetRegressor(_Get, TableRegressor):
    """Regression tree with oblique splits, trained as a whole by gradients.

    Each split weighs several columns. Splits begin soft and become hard in two stages;
    several starts train side by side, and the one whose hard tree does best on the
    validation rows is kept. A leaf answers with one value, or with a formula fitted by
    ridge regression to the rows that reach it (GET-Linear).

    Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
    arXiv:2411.17003.

    Parameters
    ----------
    depth : int, default=4
        Splits on every path before empty branches are pruned, from 1 to 12.
    n_starts : int, default=10
        Trees trained side by side, at least 1. The first begin as greedy trees.
    leaves : {"constant", "linear"}, default="constant"
        What a leaf answers. Linear leaves with too few rows stay constant, which the
        tree's notes tell.
    budget : {"quick", "standard", "thorough"}, default="standard"
        How many gradient steps each stage takes.
    max_epochs : int or None, default=None
        Passes over the training rows in all stages together; None: as the budget says.
    batch_size : int, default=512
        Rows a gradient step sees.
    learning_rate, learning_rate_leaves : float, default=0.02, 0.05
        Highest step size of the splits, and of the leaves (of the standardised target).
    l1 : float, default=0.0
        Price of a unit of absolute split weight, at least 0; columns in [0, 1].
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
        epoch, train_loss (soft), valid_loss (hard), both as shares of the target's
        variance, seconds, stage.
    """

    def __init__(
        self,
        depth=4,
        *,
        n_starts=10,
        leaves="constant",
        budget="standard",
        max_epochs=None,
        batch_size=512,
        learning_rate=0.02,
        learning_rate_leaves=0.05,
        l1=0.0,
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
        self.random_state = random_state
        self.device = device

    def _linear(self) -> bool:
        """Whether leaves hold formulas."""
        check_choice("leaves", self.leaves, ("constant", "linear"))
        return self.leaves == "linear"

    def _as_rows(self, data, x, y, device):
        """Rows with the target standardised by the training rows."""
        units = self._target_units(data)
        y = (y - units["target_mean"]) / units["target_scale"]
        return Rows(x, y, np.ones(len(y)), 0, device)

    def _target_units(self, data):
        """Mean and deviation of the training target."""
        spread = float(data.y.std())
        return {
            "target_mean": float(data.y.mean()),
            "target_scale": spread if spread > 0 else 1.0,
        }
