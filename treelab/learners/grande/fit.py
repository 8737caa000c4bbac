"""Between start and export: how long GRANDE trains, and how few trees decide meanwhile.

That few trees decide is ours: leaf weights are concentrated, and the number of trees
that may decide falls, over the first epochs. So is learning at rates that follow from
the length of the training.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from treelab.data.split import some_rows
from treelab.learners.common.base import TrainingData
from treelab.learners.common.greedy import ColumnRules
from treelab.learners.common.objective import Objective, RegressionObjective
from treelab.learners.common.origin import (
    Origin,
    changed_splits_of_trees,
    feature_spread,
)
from treelab.learners.common.target import loss_note
from treelab.learners.grande.calibration import Calibration, Move
from treelab.learners.grande.constraints import forbid_by_level, offered_columns
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.rows import Rows
from treelab.learners.grande.settings import GrandeSettings
from treelab.learners.grande.starts import draw_columns, draw_starts
from treelab.ops.losses import log_proba
from treelab.ops.select import chosen_split
from treelab.training.events import Monitor
from treelab.training.loop import (
    BestCheckpoints,
    TrainingPlan,
    TrainResult,
    cosine_decay,
    train,
)
from treelab.trees.constraints import Constraints
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix

CONCENTRATING = 0.15  # of the epochs, at the beginning: fewer and fewer trees decide
FEWEST_IN_VAIN = 3  # epochs of patience on the largest tables
WARM_UP = 0.05  # of the steps
MOST_SCALED = 3.0  # times that short trainings raise the learning rates at most


def begin_network(
    fold: np.ndarray | None,
    *,
    data: TrainingData,
    objective: Objective,
    settings: GrandeSettings,
    generator: torch.Generator,
    seed: int,
) -> WeightedTreesNetwork:
    """Give the trees of every sub-ensemble their columns, initial splits and leaves.

    Each sub-ensemble has as many trees as the model: what it says of them holds for it.

    Parameters
    ----------
    fold, data, objective
        See ``Rows.of``.
    settings : GrandeSettings
    generator : torch.Generator
        On the device to train on; draws parameters.
    seed : int
        Draws the trees' features, and seeds the greedy ensembles.
    """
    rows = Rows.of(data, fold, objective, generator.device)
    random = np.random.RandomState(seed)
    every_column = np.arange(rows.x.shape[1])
    offered = [every_column] * (rows.n_folds * settings.n_estimators)
    rules, fraction = None, settings.selected_variables
    constraints = Constraints.read(settings.constraints)
    if constraints.limits_splits:
        rules = ColumnRules.of(constraints, data.encoder.features_, None)
        offered = offered_columns(offered, rules, rows, settings.depth, random)
        # Every level finds a column that it allows.
        fraction = 1.0 if constraints.allowed else fraction
    starts = draw_starts(
        settings.init,
        rows,
        draw_columns(offered, fraction, random),
        objective,
        depth=settings.depth,
        least=constraints.min_samples_leaf,
        generator=generator,
        random=random,
    )
    if rules is not None:
        logits = forbid_by_level(starts.logits, starts.columns, rules)
        starts = replace(starts, logits=logits)
    return WeightedTreesNetwork(rows, starts, objective, settings, generator)


@dataclass(frozen=True)
class Course:
    """Batches and epochs of a training; that on folds and that on all rows share it."""

    batch_size: int
    n_steps: int  # steps an epoch
    max_epochs: int
    patience: int  # epochs without a better validation loss until training ends
    # The first that may be retained: as few trees as shall be decide by then.
    first_epoch: int

    @property
    def most_steps(self) -> int:
        """Steps that the training takes at most."""
        return self.max_epochs * self.n_steps

    @classmethod
    def of(cls, settings: GrandeSettings, n_rows: int) -> "Course":
        """Plan the training on so many rows."""
        batch_size = min(settings.batch_size, n_rows)
        n_steps = max(1, round(n_rows / batch_size))
        max_epochs, patience = settings.max_epochs, settings.patience
        if settings.max_steps is not None:
            max_epochs = min(max_epochs, -(-settings.max_steps // n_steps))
        if settings.patience_steps is not None:
            in_vain = max(FEWEST_IN_VAIN, -(-settings.patience_steps // n_steps))
            patience = min(patience, in_vain)
        first_epoch = 1
        if settings.concentration > 1 or settings.max_deciders is not None:
            first_epoch = math.ceil(CONCENTRATING * max_epochs)
        return cls(batch_size, n_steps, max_epochs, patience, first_epoch)


class Concentration:
    """Lets fewer and fewer trees decide a row, beside the network's learning rates.

    From 1 the concentration grows by the same factor each step, and from all trees the
    number of those that may decide falls by one, so that no tree is left without any
    weight before it has learned.

    Parameters
    ----------
    network : WeightedTreesNetwork
    last : float
        What the concentration grows to.
    max_deciders : int or None
        What the number of trees falls to; None: all may decide.
    n_steps : int
        Steps until then.
    learning_rates : LRScheduler, optional
        Its ``step`` is called, too.
    """

    def __init__(
        self,
        network: WeightedTreesNetwork,
        last: float,
        max_deciders: int | None,
        n_steps: int,
        learning_rates: Any = None,
    ):
        self.network = network
        self.last = last
        self.max_deciders = max_deciders
        self.n_steps = n_steps
        self.learning_rates = learning_rates
        self._done = 0

    def step(self) -> None:
        """Take one step."""
        if self.learning_rates is not None:
            self.learning_rates.step()
        if self._done < self.n_steps:
            self._done += 1
            self.network.concentration.data.fill_(self.last**self._part)
            self._limit_deciders()

    @property
    def _part(self) -> float:
        """How much of the steps is done."""
        return self._done / self.n_steps

    def _limit_deciders(self) -> None:
        """Set how many trees may decide after the steps so far; at first all."""
        if self.max_deciders is not None and self._done:
            n_trees = self.network.logits.shape[1]
            share = min(self.max_deciders / n_trees, 1.0)
            self.network.max_deciders = round(n_trees * share**self._part)

    def state_dict(self) -> dict:
        """State for a checkpoint."""
        rates = self.learning_rates
        own = {} if rates is None else {"learning_rates": rates.state_dict()}
        return {"done": self._done, **own}

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state; the concentration itself is a parameter."""
        self._done = saved["done"]
        self._limit_deciders()
        if self.learning_rates is not None:
            self.learning_rates.load_state_dict(saved["learning_rates"])


def train_network(
    network: WeightedTreesNetwork, monitor: Monitor, *, n_epochs: int | None = None
) -> TrainResult:
    """Train until validation no longer improves, or for a number of epochs.

    With a softmax of all trees initial ones that predict something count, too;
    otherwise too many of them would decide yet.

    Parameters
    ----------
    network : WeightedTreesNetwork
        Its generator draws the batches.
    monitor : Monitor
    n_epochs : int, optional
        So many, of a course that is planned as without it; nothing is validated.

    Returns
    -------
    TrainResult
        Its best epoch is 0 where the start is retained.
    """
    settings = network.settings
    course = Course.of(settings, network.rows.n_train)
    scale = learning_rate_scale(settings.learning_rate_steps, course.most_steps)
    rates = {
        network.logits: settings.learning_rate_index,
        network.threshold: settings.learning_rate_values,
        network.leaf_value: settings.learning_rate_leaf,
        network.leaf_weight: settings.learning_rate_weights,
    }
    groups = [{"params": [of], "lr": scale * rate} for of, rate in rates.items()]
    optimizer = torch.optim.Adam(groups, fused=True)
    learning_rates = None
    if settings.cosine_decay:
        learning_rates = cosine_decay(optimizer, course.most_steps, warm_up=WARM_UP)
    start, loss_at_start = BestCheckpoints(network), None
    if n_epochs is None:
        loss_at_start = _report_start(network, course.batch_size, monitor)
    result = train(
        network,
        optimizer,
        TrainingPlan(
            n_rows=network.rows.n_train,
            batch_size=course.batch_size,
            max_epochs=n_epochs or course.max_epochs,
            patience=course.patience,
            n_averaged=settings.n_averaged,
            first_epoch=course.first_epoch,
            validates=n_epochs is None,
        ),
        generator=network.generator,
        monitor=monitor,
        scheduler=Concentration(
            network,
            settings.concentration,
            settings.max_deciders,
            course.first_epoch * course.n_steps,
            learning_rates,
        ),
    )
    result.warn_if_diverged()
    may_stay = (
        settings.weighting == "softmax"
        and settings.max_deciders is None
        and settings.init != "normal"
    )
    if loss_at_start is not None and may_stay:
        as_begun = loss_at_start <= result.best_loss
        start.restore(as_begun)
        result.best_epoch[as_begun] = 0
    return result


def learning_rate_scale(meant_for: int | None, n_steps: int) -> float:
    """Factor of learning rates that are meant for another number of steps.

    A step of Adam is about as long as its learning rate, whatever the gradient, so
    the noise of so many adds up to their square root times the rate; the factor keeps
    that sum the same for small tables and for large ones. For the same epochs in
    batches of another size it is the square root rule of Malladi et al., "On the SDEs
    and Scaling Rules for Adaptive Gradient Algorithms", arXiv:2205.10287.

    Parameters
    ----------
    meant_for : int or None
        Steps; None: any.
    n_steps : int
        That the training takes at most.
    """
    if meant_for is None:
        return 1.0
    return min(MOST_SCALED, math.sqrt(meant_for / n_steps))


@torch.no_grad()
def _report_start(
    network: WeightedTreesNetwork, batch_size: int, monitor: Monitor
) -> torch.Tensor:
    """Report the losses before the first step; return that of validation, (G,)."""
    drawn = some_rows(network.rows.n_train, batch_size)
    rows = torch.as_tensor(drawn, device=network.logits.device)
    train_loss, valid_loss = network.batch_loss(rows), network.valid_loss()
    monitor.report(0, train_loss.cpu().numpy(), valid_loss.cpu().numpy())
    return valid_loss


@torch.no_grad()
def held_out_predictions(network: WeightedTreesNetwork) -> np.ndarray:
    """Predict each training row by the sub-ensemble that holds it out.

    Returns
    -------
    ndarray of shape (n_train, n_classes or 1)
        Class probabilities, or values in the unit of the target; NaN for a row that
        every tree was trained on.
    """
    n_train, objective = network.rows.n_train, network.objective
    predictions = np.full((n_train, max(objective.n_classes, 1)), np.nan)
    for output, held_out in zip(network.valid_outputs(), network.held_out):
        rows = held_out.cpu().numpy()
        if isinstance(objective, RegressionObjective):
            predicted = objective.scale.restore(output)
        else:
            predicted = log_proba(output).exp()
        trained = rows < n_train
        predictions[rows[trained]] = predicted.t().double().cpu().numpy()[trained]
    return predictions


@torch.no_grad()
def export_ensemble(
    network: WeightedTreesNetwork,
    data: TrainingData,
    classes: tuple | None,
    calibration: Calibration | Move | None = None,
) -> WeightedTrees:
    """Rewrite the network's trees in the user's columns and units.

    ``classes`` are the caller's labels; None for regression.
    """
    columns = network.columns
    _, feature, threshold = chosen_split(
        network.logits.flatten(0, 1),
        network.threshold.flatten(0, 1),
        None if columns is None else columns.flatten(0, 1),
    )
    tested = feature.cpu().numpy()  # (E, N)
    raw, missing_left = data.encoder.axis_splits(
        tested.ravel(), threshold.cpu().numpy().ravel()
    )
    leaf = network.leaves().double().cpu().numpy()  # (E, L, C + 1)
    value, loss = leaf[..., :-1], None
    notes: tuple[str, ...] = ()
    if calibration is not None:
        value, notes = calibration.of_leaves(value), calibration.notes
    if isinstance(network.objective, RegressionObjective):
        scale = network.objective.scale
        value = scale.restore(value)
        loss = network.objective.loss_of_rows.scaled(scale.scale)
        if not loss.is_squared:
            notes = (loss_note(loss), *notes)
    return WeightedTrees(
        data.encoder.features_,
        tested,
        raw.reshape(tested.shape),
        missing_left.reshape(tested.shape),
        value,
        leaf[..., -1],
        classes=classes,
        class_weights=None if calibration is None else calibration.decision_weights,
        weighting=network.settings.weighting,
        max_deciders=network.max_deciders,
        notes=notes,
        loss=None if loss is None or loss.is_squared else loss,
    )


def origin_of(
    start: WeightedTrees,
    end: WeightedTrees,
    settings: GrandeSettings,
    data: TrainingData,
    held_out: str,
) -> Origin:
    """Count over the trees that stay which splits training changed."""
    rates = (
        settings.learning_rate_index,
        settings.learning_rate_values,
        settings.learning_rate_leaf,
        settings.learning_rate_weights,
    )
    matrix = feature_matrix(end.features, data.frame)
    return Origin(
        "random" if settings.init == "normal" else settings.init,
        trained=any(rate > 0 for rate in rates),
        n_splits=int(end.divides.sum()),  # as the run's size counts them
        n_changed=changed_splits_of_trees(start, end, feature_spread([*matrix.T])),
        held_out=held_out,
    )
