"""Between start and export: how long GRANDE trains, and how few trees decide meanwhile.

That few trees decide is ours: leaf weights are concentrated, and the number of trees
that may decide falls, over the first epochs. So is learning at rates that follow from
the length of the training. Then come what held-out rows say of the trained ensemble,
its export to the user's units, and constraints, which exported trees keep for good.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from treelab.data.split import some_rows
from treelab.learners.common.base import TrainingData, best_weight_power
from treelab.learners.common.certainty import MOVED, quantile_of
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.origin import (
    Origin,
    changed_splits_of_trees,
    feature_spread,
)
from treelab.learners.common.target import loss_note
from treelab.learners.grande.network import WeightedTreesNetwork
from treelab.learners.grande.settings import GrandeSettings
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
from treelab.training.optimizers import Adam
from treelab.trees.constraints import Constraints, isotonic, node_boxes, output_of
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import feature_matrix
from treelab.trees.tree import Tree

# Training: its length, its rates, and how few trees decide.


CONCENTRATING = 0.15  # of the epochs, at the beginning: fewer and fewer trees decide
FEW_LEARN = 0.9  # of what more trees do, at least, or more decide
FEWEST_IN_VAIN = 3  # epochs of patience on the largest tables
WARM_UP = 0.05  # of the steps
MOST_SCALED = 3.0  # times that short trainings raise the learning rates at most


def plan_of(settings: GrandeSettings, n_rows: int) -> tuple[TrainingPlan, int]:
    """Plan the training on so many rows, on folds as on all; with the steps an epoch.

    Its first epoch is that by which as few trees decide as shall.
    """
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
    plan = TrainingPlan(
        n_rows,
        batch_size,
        max_epochs,
        patience,
        n_averaged=settings.n_averaged,
        first_epoch=first_epoch,
    )
    return plan, n_steps


class Concentration:
    """Lets fewer and fewer trees decide a row, beside the network's learning rates.

    Over so many steps the network's progress goes from 0 to 1, so that no tree is left
    without any weight before it has learned. Where it ends is the network's settings.
    """

    def __init__(
        self, network: WeightedTreesNetwork, n_steps: int, learning_rates: Any = None
    ):
        self.network, self.n_steps = network, n_steps
        self.learning_rates = learning_rates  # an LRScheduler, which steps, too
        self._done = 0

    def step(self) -> None:
        """Take one step."""
        if self.learning_rates is not None:
            self.learning_rates.step()
        if self._done < self.n_steps:
            self._done += 1
            self.network.progress.data.fill_(self._done / self.n_steps)
            self.network.limit_deciders()

    def state_dict(self) -> dict:
        """State for a checkpoint."""
        rates = self.learning_rates
        own = {} if rates is None else {"learning_rates": rates.state_dict()}
        return {"done": self._done, **own}

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state; the progress itself is a parameter."""
        self._done = saved["done"]
        self.network.limit_deciders()
        if self.learning_rates is not None:
            self.learning_rates.load_state_dict(saved["learning_rates"])


class ManyDeciders:
    """Saves the best epoch before as few trees decide as shall: it may be better.

    It is retained where few trees learn clearly less, by the log loss of held-out rows;
    not where more trees learn nothing, either.
    """

    def __init__(self, network: WeightedTreesNetwork, first_epoch: int):
        self.network, self.first_epoch = network, first_epoch
        self._epoch, self._best = 0, BestCheckpoints(network)

    def __call__(self, valid_loss: torch.Tensor) -> None:
        """Save an epoch that is the best so far."""
        self._epoch += 1
        if self._epoch < self.first_epoch:
            self._best.update(valid_loss, self._epoch)

    def restore_if_better(self, result: TrainResult) -> None:
        """Put the saved epoch back where few trees learn too little."""
        if not bool(self._best.epoch.all()):
            return
        few, by_few = BestCheckpoints(self.network), learned(self.network)
        self._best.restore()
        self.network.limit_deciders()
        by_many = learned(self.network)
        if by_many > 0 and by_few < FEW_LEARN * by_many:
            result.best_loss, result.best_epoch = self._best.loss, self._best.epoch
        else:
            few.restore()
            self.network.limit_deciders()

    def state_dict(self) -> dict:
        """State for a checkpoint."""
        return {"epoch": self._epoch, "best": self._best.state_dict()}

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state."""
        self._epoch = saved["epoch"]
        self._best.load_state_dict(saved["best"])


def train_network(
    network: WeightedTreesNetwork,
    monitor: Monitor,
    *,
    n_epochs: int | None = None,
    few_by_choice: bool = False,
) -> TrainResult:
    """Train until validation no longer improves, or for a number of epochs.

    With a softmax of all trees initial ones that predict something count, too;
    otherwise too many of them would decide yet. The best epoch is 0 where the start is
    retained. A training of ``n_epochs`` is planned as without them, and nothing is
    validated. With ``few_by_choice`` more trees decide where as few as shall learn
    clearly less.
    """
    settings = network.settings
    plan, n_steps = plan_of(settings, network.rows.n_train)
    most_steps = plan.max_epochs * n_steps
    scale = learning_rate_scale(settings.learning_rate_steps, most_steps)
    trained = network.logits, network.threshold, network.leaf_value, network.leaf_weight
    groups = [
        {"params": [own], "lr": scale * rate}
        for own, rate in zip(trained, settings.learning_rates)
    ]
    optimizer = Adam(groups, fused=True)
    learning_rates = None
    if settings.cosine_decay:
        learning_rates = cosine_decay(optimizer, most_steps, warm_up=WARM_UP)
    start, loss_at_start = BestCheckpoints(network), None
    if n_epochs is None:
        loss_at_start = _report_start(network, plan.batch_size, monitor)
    else:
        plan = replace(plan, max_epochs=n_epochs, validates=False)
    concentrating = plan.first_epoch * n_steps
    many = ManyDeciders(network, plan.first_epoch) if few_by_choice else None
    result = train(
        network,
        optimizer,
        plan,
        generator=network.generator,
        monitor=monitor,
        scheduler=Concentration(network, concentrating, learning_rates),
        after_epoch=many,
    )
    network.limit_deciders()
    result.warn_if_diverged()
    if many is not None:
        many.restore_if_better(result)
    is_softmax = settings.weighting == "softmax" and settings.max_deciders is None
    if loss_at_start is not None and is_softmax and settings.init != "normal":
        as_begun = loss_at_start <= result.best_loss
        start.restore(as_begun)
        result.best_epoch[as_begun] = 0
    return result


def learning_rate_scale(meant_for: int | None, n_steps: int) -> float:
    """Factor of learning rates that are meant for another number of steps; None: any.

    A step of Adam is about as long as its learning rate, whatever the gradient, so
    the noise of so many adds up to their square root times the rate; the factor keeps
    that sum the same for small tables and for large ones. For the same epochs in
    batches of another size it is the square root rule of Malladi et al., "On the SDEs
    and Scaling Rules for Adaptive Gradient Algorithms", arXiv:2205.10287.
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


# What held-out rows say: predictions, how sure to be, and which class to choose.
#
# Temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", ICML
# 2017, arXiv:1706.04599), around the frequencies of the classes instead of equal ones:
# log-odds against these are multiplied by one number. 0 predicts the frequencies, 1 the
# trained probabilities.


SCALES = (0.02, 5.0)  # that are searched; 0 itself would forget the classes
LEAST_WEIGHT = 1e-9  # of a class, whose logarithm is taken


@dataclass(frozen=True)
class Calibration:
    """What is done to the raw outputs of every leaf as it is exported.

    Estimator weights sum to one, so it is done to the ensemble's outputs.
    """

    scale: float = 1.0  # multiplies them: how sure the ensemble may be
    # (C,): then added, so that probabilities are those of the data.
    shift: np.ndarray | float = 0.0
    # See ``WeightedTrees.class_weights``.
    decision_weights: np.ndarray | None = None
    # Whether weights of classes choose another than the most probable one for some row.
    changes_class: bool = False
    notes: tuple[str, ...] = ()


AS_TRAINED = Calibration()


@torch.no_grad()
def held_out_predictions(
    network: WeightedTreesNetwork, calibration: Calibration
) -> np.ndarray:
    """Predict each training row by the sub-ensemble that holds it out, calibrated.

    Class probabilities (n_train, n_classes), or values (n_train, 1) in the unit of the
    target; NaN for a row that every tree was trained on.
    """
    n_train, objective = network.rows.n_train, network.objective
    predictions = np.full((n_train, max(objective.n_classes, 1)), np.nan)
    shift = torch.as_tensor(np.atleast_1d(calibration.shift))[:, None]
    for output, rows in zip(network.valid_outputs(), network.held_out):
        output = calibration.scale * output.double().cpu() + shift
        if isinstance(objective, RegressionObjective):
            predicted = objective.scale.restore(output)
        else:
            predicted = log_proba(output).exp()
        trained = rows < n_train
        at = rows[trained].cpu().numpy()
        predictions[at] = predicted[:, trained.cpu()].t().numpy()
    return predictions


def _held_out_rows(
    network: WeightedTreesNetwork,
) -> tuple[torch.Tensor, np.ndarray, np.ndarray | None]:
    """Raw outputs (C, n), target (n,) and weight of the rows that are held out."""
    rows = torch.cat(network.held_out).cpu().numpy()
    own = network.rows.own_weight
    target = network.rows.target.cpu().numpy()[rows]
    outputs = torch.cat(network.valid_outputs(), 1)
    return outputs, target, None if own is None else own[rows]


def learned(network: WeightedTreesNetwork) -> float:
    """How far the log loss of held-out rows is below that of the classes' frequencies.

    As calibrated, in nats.
    """
    outputs, target, weight = _held_out_rows(network)
    objective = network.objective
    assert isinstance(objective, ClassObjective)
    log_odds, prior = _log_odds(network, outputs, objective.class_weights)
    scale = measured_scale(log_odds, target, prior, weight)
    log_p = log_softmax(scale * log_odds + prior, axis=1)
    gain = log_p[np.arange(len(target)), target] - prior[target]
    return float(np.average(gain, weights=weight))


def _log_odds(
    network: WeightedTreesNetwork, outputs: torch.Tensor, class_weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds against the classes' frequencies (n, C), and the latter's logarithms."""
    log_p = log_proba(outputs).double().cpu().numpy().T  # (n, C)
    trained = np.log(np.maximum(class_weights, LEAST_WEIGHT))
    every = network.rows.target.cpu().numpy()
    counts = np.bincount(every, network.rows.own_weight, minlength=len(trained))
    prior = np.log(np.where(counts > 0, counts, 1) / counts.sum())
    return log_p - trained - prior, prior


def measured_move(network: WeightedTreesNetwork, level: float) -> Calibration:
    """Measure how far the quantile of held-out rows is from the one predicted."""
    outputs, target, weight = _held_out_rows(network)
    off = target.astype(np.float64) - outputs[0].double().cpu().numpy()
    weight = np.ones(len(off)) if weight is None else weight
    return Calibration(shift=quantile_of(off, weight, level), notes=(MOVED,))


def calibrate(
    network: WeightedTreesNetwork,
    class_weights: np.ndarray,
    *,
    shifts: bool,
    votes: np.ndarray | None = None,
) -> Calibration:
    """Measure on held-out rows how sure to be, and which weights choose the class.

    Trained probabilities are those of rows weighted by ``class_weights`` (n_classes,).
    These stay in the choice of the class, as does, where it ``shifts``, a power of
    balanced weights towards rare classes, by macro F1. Where errors have costs the
    ``votes`` (n_classes, n_classes) choose, of probabilities as they are exported; of
    these the highest is chosen where all classes weigh alike and nothing shifts.
    """
    outputs, target, weight = _held_out_rows(network)
    log_odds, prior = _log_odds(network, outputs, class_weights)
    trained = np.log(np.maximum(class_weights, LEAST_WEIGHT))
    power = 0.0
    if shifts:
        log_p = log_odds + trained + prior
        power = best_weight_power(log_p, target, -prior, weight)
    scale = measured_scale(log_odds, target, prior, weight)
    shift = prior - scale * (prior + trained)
    changes_class = False
    if votes is None and (shifts or np.ptp(class_weights) > 0):
        decisive = -scale * power * prior - shift
        votes = np.exp(decisive - decisive.max())
        log_p = scale * log_odds + prior
        changes_class = bool(np.any(log_p.argmax(1) != (log_p + decisive).argmax(1)))
    own_shift = shift[1:] - shift[:1] if len(outputs) == 1 else shift
    return Calibration(scale, own_shift, votes, changes_class)


def measured_scale(
    log_odds: np.ndarray,
    target: np.ndarray,
    log_prior: np.ndarray,
    weight: np.ndarray | None = None,
) -> float:
    """Return the factor of log-odds with the lowest log loss on some rows.

    Log-odds (m, n_classes) are logarithms of probabilities, up to a constant a row,
    less the ``log_prior`` (n_classes,), those of the classes' frequencies; the target
    (m,) holds class codes, and rows count by their weight (m,).
    """
    rows = np.arange(len(target))

    def loss(log_scale: float) -> float:
        log_p = log_softmax(np.exp(log_scale) * log_odds + log_prior, axis=1)
        return float(np.average(-log_p[rows, target], weights=weight))

    # The loss is convex in the factor, so it has one minimum in its logarithm, too.
    found = minimize_scalar(loss, bounds=np.log(SCALES), method="bounded")
    return float(np.exp(found.x))


# From tensors to trees in the user's columns and units.


@torch.no_grad()
def export_ensemble(
    network: WeightedTreesNetwork,
    data: TrainingData,
    classes: tuple | None,
    calibration: Calibration,
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
    value = calibration.scale * leaf[..., :-1] + calibration.shift
    loss, notes = None, calibration.notes
    if isinstance(network.objective, RegressionObjective):
        scale = network.objective.scale
        value = scale.restore(value)
        of_rows = network.objective.loss_of_rows.scaled(scale.scale)
        if not of_rows.is_squared:
            loss, notes = of_rows, (loss_note(of_rows), *notes)
    return WeightedTrees(
        data.encoder.features_,
        tested,
        raw.reshape(tested.shape),
        missing_left.reshape(tested.shape),
        value,
        leaf[..., -1],
        classes=classes,
        class_weights=calibration.decision_weights,
        weighting=network.settings.weighting,
        max_deciders=network.max_deciders,
        notes=notes,
        loss=loss,
    )


def origin_of(
    start: WeightedTrees,
    end: WeightedTrees,
    settings: GrandeSettings,
    data: TrainingData,
    held_out: str,
) -> Origin:
    """Count over the trees that stay which splits training changed."""
    matrix = feature_matrix(end.features, data.frame)
    return Origin(
        "random" if settings.init == "normal" else settings.init,
        trained=any(rate > 0 for rate in settings.learning_rates),
        n_splits=int(end.divides.sum()),  # as the run's size counts them
        n_changed=changed_splits_of_trees(start, end, feature_spread(matrix)),
        held_out=held_out,
    )


# Constraints that trees keep on every possible row.
#
# Trees train freely, on the columns on offer. Then splits that leave too few rows are
# closed and leaves are put in order, once; to keep them so after each epoch gained
# nothing (docs/benchmarks.md).


def kept_trees(
    trees: WeightedTrees, data: TrainingData, constraints: Constraints
) -> WeightedTrees:
    """Return an ensemble whose trees keep the constraints on every possible row."""
    if constraints.monotone or constraints.allowed or constraints.min_samples_leaf > 1:
        # Branches without rows are not drawn: what is beside them takes their boxes,
        # and their level.
        trees = _without_wrong(trees, data.frame, constraints)
    if constraints.monotone:
        trees = _in_order(trees, data, constraints)
    return trees


def _without_wrong(
    trees: WeightedTrees, frame: pd.DataFrame, constraints: Constraints
) -> WeightedTrees:
    """Send all rows one way where a split leaves a side too few of them.

    Or where it is drawn at a level, below splits that part rows, which may not test
    its column.
    """
    columns = [feature.column for feature in trees.features]
    levels = [constraints.allowed_at(i, columns) for i in range(trees.depth)]
    may = np.array([[column in own for column in columns] for own in levels])
    drawn_at = np.zeros((trees.n_estimators, 2 * trees.n_leaves - 1), dtype=np.int64)
    for level in range(trees.depth):
        n_rows = trees.with_rows(frame).n_rows
        assert n_rows is not None
        nodes = np.arange(2**level - 1, 2 ** (level + 1) - 1)
        n_left, n_right = n_rows[:, 2 * nodes + 1], n_rows[:, 2 * nodes + 2]
        wrong = np.minimum(n_left, n_right) < constraints.min_samples_leaf
        wrong |= ~may[drawn_at[:, nodes], trees.feature[:, nodes]]
        for side in (1, 2):
            drawn_at[:, 2 * nodes + side] = drawn_at[:, nodes] + ~wrong
        to_left = n_left >= n_right
        threshold, missing_left = trees.threshold.copy(), trees.missing_left.copy()
        threshold[:, nodes] = np.where(
            wrong, np.where(to_left, np.inf, -np.inf), threshold[:, nodes]
        )
        missing_left[:, nodes] = np.where(wrong, to_left, missing_left[:, nodes])
        trees = replace(trees, threshold=threshold, missing_left=missing_left)
    return trees


def _in_order(
    trees: WeightedTrees, data: TrainingData, constraints: Constraints
) -> WeightedTrees:
    """Put the leaves of each tree in order: the nearest values that are."""
    leaf, n_leaves = trees.leaves(data.frame), trees.n_leaves
    signs = output_signs(constraints, trees.classes, trees.leaf_value.shape[2])
    value = trees.leaf_value.copy()
    for e in range(trees.n_estimators):
        splits = trees.feature[e], trees.threshold[e], trees.missing_left[e]
        tree = Tree.complete(trees.features, *splits, np.zeros((n_leaves, 1)))
        boxes = node_boxes(tree).of(np.arange(n_leaves - 1, 2 * n_leaves - 1))
        pairs = boxes.ordered(constraints.monotone)
        mass = np.bincount(leaf[:, e], data.weight, n_leaves)
        if len(pairs):
            for output, sign in enumerate(signs):
                wanted = sign * value[e, :, output]
                value[e, :, output] = sign * isotonic(wanted, mass, pairs)
    return replace(trees, leaf_value=value)


def output_signs(
    constraints: Constraints, classes: tuple | None, n_outputs: int
) -> np.ndarray:
    """Return which outputs of a leaf grow with what has the order, int (n_outputs,).

    Of more than two classes the logit of the one that is meant must not fall and those
    of the others not rise: then its probability does not fall.
    """
    if classes is None:
        return np.ones(1, dtype=np.int64)
    meant = output_of(classes, constraints)
    if n_outputs == 1:  # the logit of the second class
        return np.array([1 if meant == 1 else -1])
    return np.where(np.arange(n_outputs) == meant, 1, -1)
