"""Training of argmin trees: all pruning strengths together, then sparser splits."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from treelab.learners.argmin.export import TrainedTree, trained_trees
from treelab.learners.argmin.network import REFERENCE_ROWS, ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings, ClusterSettings
from treelab.learners.argmin.sparse import network_row_scores, simplify_trees
from treelab.training.events import (
    HISTORY,
    Callback,
    Monitor,
    Progress,
    RetainedCurve,
    notify,
)
from treelab.training.loop import train
from treelab.training.plan import TrainingPlan
from treelab.training.qhadam import CutOnPlateau, QHAdam
from treelab.trees.tree import Tree

AnySettings = ArgminSettings | ClusterSettings
EPOCHS_AGAIN = 8  # training goes on for this fraction of the epochs, at each step


@dataclass(frozen=True)
class TrainedPath:
    """The trees of all strengths, trained.

    Attributes
    ----------
    starts, trees : list of TrainedTree
        Of each strength, before the first step and in the end.
    valid_loss : ndarray of shape (E,)
        Of the trees.
    simplified : ndarray of shape (E,), bool
        Whether columns or splits were left out of a tree after training.
    is_trained : bool
        Whether gradient descent could move the trees: not at a learning rate of 0.
    points : list of tuple
        Epoch, training and validation losses (E,), seconds and stage.
    n_points : ndarray of shape (E,), int
        Points of each tree's own curve.
    monitor : Monitor
        Watched the training.
    """

    starts: list[TrainedTree]
    trees: list[TrainedTree]
    valid_loss: np.ndarray
    simplified: np.ndarray
    is_trained: bool
    points: list[tuple]
    n_points: np.ndarray
    monitor: Monitor

    def retain(self, e: int, start: Tree, end: Tree) -> pd.DataFrame:
        """Tell the callbacks which tree is retained; return its history.

        ``start`` and ``end`` are the tree before and after training.
        """
        points = self.points[: self.n_points[e]]
        rows = [
            (epoch, float(train_loss[e]), float(valid_loss[e]), seconds, stage)
            for epoch, train_loss, valid_loss, seconds, stage in points
        ]
        history = pd.DataFrame(rows, columns=HISTORY)
        snapshots = {0: lambda: start, points[-1][0]: lambda: end}
        curve = RetainedCurve(history, snapshots)
        epoch, _, _, seconds, stage = self.points[-1]
        report = Progress(
            epoch=epoch,
            max_epochs=self.monitor.max_epochs,
            train_loss=np.nan,
            valid_loss=np.nan,
            seconds=seconds,
            stage=stage,
            snapshot=lambda: end,
            retained=curve,
        )
        notify(self.monitor.callbacks, report)
        return history


def check_rows(settings: AnySettings, n_rows: int) -> None:
    """Raise ValueError if a tree has more nodes than there are training rows."""
    if n_rows < settings.n_nodes:
        raise ValueError(
            f"depth={settings.depth} gives {settings.n_nodes} nodes, but there are "
            f"n_samples={n_rows} training rows; with so few, depth must be at most "
            f"{max(int(np.log2(n_rows + 1)) - 1, 0)}."
        )


def train_path(
    network: ArgminTrees,
    settings: AnySettings,
    seed: int,
    *,
    max_leaf_nodes: int | None = None,
    snapshot: Callable[[TrainedTree], object],
    row_scores: Callable[[ArgminTrees], np.ndarray] = network_row_scores,
    callbacks: Sequence[Callback],
) -> TrainedPath:
    """Train all strengths together; then leave out what they can do without.

    Parameters
    ----------
    network : ArgminTrees
    settings : AnySettings
    seed : int
        Draws the batches.
    max_leaf_nodes : int or None, default=None
        Leaves of the trees at the most.
    snapshot : callable
        Exports a tree; called with that of the lowest validation loss.
    row_scores : callable
        By which simpler trees lose nothing; see ``simplify_trees``.
    callbacks : sequence of callable
    """
    points: list[tuple] = []

    def of_leader() -> object:
        valid_loss = np.nan_to_num(points[-1][2], nan=np.inf)
        return snapshot(trained_trees(network)[int(valid_loss.argmin())])

    monitor: Monitor = _EveryTree(
        settings.max_epochs, callbacks, snapshot=of_leader, points=points
    )
    starts = trained_trees(network)
    monitor.report(0, *_losses_at_start(network))
    stopped = _train(network, settings, seed, settings.max_epochs, monitor)
    taken = _Taken(network, points)
    sparse = settings.sparse_splits and not stopped
    epochs = max(1, settings.max_epochs // EPOCHS_AGAIN)

    def train_again() -> bool:
        nonlocal monitor
        monitor = monitor.next_stage("fewer columns", epochs, snapshot=of_leader)
        return _train(network, settings, seed, epochs, monitor)

    if sparse or max_leaf_nodes is not None:
        for accepted in simplify_trees(
            network,
            train_again,
            row_scores=row_scores,
            sparse=sparse,
            max_leaf_nodes=max_leaf_nodes,
        ):
            taken.take(accepted)
    taken.restore()
    return TrainedPath(
        starts,
        trained_trees(network),
        _array(network.valid_loss()),
        simplified=taken.simplified,
        is_trained=settings.learning_rate > 0,
        points=points,
        n_points=taken.n_points,
        monitor=monitor,
    )


class _Taken:
    """The parameters of each tree as it was taken last; at first, as it is now."""

    def __init__(self, network: ArgminTrees, points: list[tuple]):
        self.network, self.points = network, points
        self.state = {name: t.clone() for name, t in network.state_dict().items()}
        self.simplified = np.zeros(network.n_candidates, dtype=bool)
        self.n_points = np.full(network.n_candidates, len(points))

    def take(self, accepted: np.ndarray) -> None:
        """Take some trees, (E,), as they are now."""
        self.simplified |= accepted
        self.n_points[accepted] = len(self.points)
        where = torch.as_tensor(accepted)
        for name, now in self.network.state_dict().items():
            self.state[name][where] = now[where]

    def restore(self) -> None:
        """Put the trees that were taken into the network."""
        self.network.load_state_dict(self.state)


@dataclass
class _EveryTree(Monitor):
    """A monitor that notes the losses of all trees, not of the leading one alone."""

    points: list[tuple] = field(default_factory=list)

    def report(self, epoch, train_loss, valid_loss):
        """Note the losses (E,) after an epoch, and report the leading tree's."""
        seconds = time.monotonic() - self.started
        epoch_of_all = self.epoch_offset + epoch
        self.points.append((epoch_of_all, train_loss, valid_loss, seconds, self.stage))
        return super().report(epoch, train_loss, valid_loss)

    def position(self):
        """Count the points, too."""
        return *super().position(), len(self.points)

    def since(self, position):
        """Return the points, too."""
        return super().since(position) | {"points": self.points[position[2] :]}

    def resume(self, position, saved):
        """Put back the points, too."""
        self.points[position[2] :] = [tuple(point) for point in saved["points"]]
        super().resume(position, saved)


def _train(
    network: ArgminTrees,
    settings: AnySettings,
    seed: int,
    max_epochs: int,
    monitor: Monitor,
) -> bool:
    """Train by quasi-hyperbolic Adam; return whether a callback stopped it.

    The network then holds the best parameters found.
    """
    rate = torch.full_like(network.pruning_strength, float(settings.learning_rate))
    result = train(
        network,
        QHAdam(network.parameters(), rate, eps=1e-8 * (network.loss_scale or 1.0)),
        TrainingPlan(
            n_rows=len(network.rows.y),
            batch_size=network.batch_size,
            max_epochs=max_epochs,
            patience=settings.patience,
            has_open_end=True,
        ),
        generator=torch.Generator(rate.device).manual_seed(seed),
        monitor=monitor,
        after_epoch=CutOnPlateau(rate, patience=settings.plateau),
    )
    return result.reason == "callback"


@torch.no_grad()
def _losses_at_start(network: ArgminTrees) -> tuple[np.ndarray, np.ndarray]:
    """Training loss, of some rows, and validation loss before the first step, (E,)."""
    n_rows = min(len(network.rows.y), REFERENCE_ROWS)
    rows = torch.arange(n_rows, device=network.bias.device)
    return _array(network.batch_loss(rows)), _array(network.valid_loss())


def _array(tensor: Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
