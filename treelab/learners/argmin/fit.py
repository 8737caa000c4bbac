"""Training of an argmin tree: at the first strength, then from one to the next.

The path over pruning strengths is followed from small to large, each tree going on from
its neighbour's splits: a homotopy, as the regularisation paths of Friedman, Hastie and
Tibshirani (Journal of Statistical Software 33, 2010).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from treelab.data.split import some_rows
from treelab.learners.argmin.export import TrainedTree, trained_trees
from treelab.learners.argmin.network import REFERENCE_ROWS, ArgminTrees
from treelab.learners.argmin.settings import ArgminSettings, ClusterSettings
from treelab.ops.activity import path_scores
from treelab.training.events import (
    HISTORY,
    Callback,
    Monitor,
    Progress,
    RetainedCurve,
    notify,
)
from treelab.training.loop import TrainingPlan, train
from treelab.training.qhadam import CutOnPlateau, QHAdam
from treelab.trees.pruning import N_COLUMNS, approximations
from treelab.trees.tree import Tree

AnySettings = ArgminSettings | ClusterSettings
EPOCHS_AGAIN = 8  # training goes on for this fraction of the epochs, at each step


@dataclass(frozen=True)
class PathPoint:
    """The trees of one strength, trained.

    ``trees``: a ``TrainedTree`` a restart; ``valid_loss`` (E,); ``n_stages`` that they
    had come through.
    """

    trees: list[TrainedTree]
    valid_loss: np.ndarray
    n_stages: int


def check_rows(settings: AnySettings, n_rows: int) -> None:
    """Raise ValueError if a tree has more nodes than there are training rows."""
    if n_rows < settings.n_nodes:
        raise ValueError(
            f"depth={settings.depth} gives {settings.n_nodes} nodes, but there are "
            f"n_samples={n_rows} training rows; with so few, depth must be at most "
            f"{max(int(np.log2(n_rows + 1)) - 1, 0)}."
        )


class PathTraining:
    """Trains several trees side by side, each along all pruning strengths.

    Parameters
    ----------
    network : ArgminTrees
        Changed in place.
    settings : AnySettings
    seed : int
        Draws the batches.
    snapshot : callable
        Exports a ``TrainedTree``.
    row_scores : callable
        Returns each validation row's score (E, n) by the network's trees as they are,
        higher is better; by it trees with fewer columns lose nothing.
    callbacks : sequence of callable

    Attributes
    ----------
    starts : list of TrainedTree
        Before the first step.
    simplified : ndarray of shape (E,), bool
        Whether columns were left out of a tree.
    """

    def __init__(
        self,
        network: ArgminTrees,
        settings: AnySettings,
        seed: int,
        *,
        snapshot: Callable[[TrainedTree], Tree],
        row_scores: Callable[[ArgminTrees], np.ndarray],
        callbacks: Sequence[Callback] = (),
    ):
        self.network, self.settings, self.seed = network, settings, seed
        self.snapshot, self.row_scores = snapshot, row_scores
        self.starts = trained_trees(network)
        self.simplified = np.zeros(network.n_candidates, dtype=bool)
        self._stopped = False
        every = np.ones(network.n_candidates, dtype=bool)
        first = Monitor(settings.max_epochs, callbacks, snapshot=self._leader)
        self._stages = [(first, every)]  # and which trees came through it
        first.report(0, *self._losses_at_start())

    def run(self, max_leaf_nodes: int | None = None) -> list[PathPoint]:
        """Return the trees of each strength, nodes of one emptied at all later ones."""
        network, settings = self.network, self.settings
        self._train(settings.max_epochs)
        if max_leaf_nodes is not None:
            network.empty_nodes(most_active(network, max_leaf_nodes))
            self._train_again("fewer leaves")
        if settings.sparse_splits:
            self._leave_out_columns()
        path = []
        for strength in settings.strengths:
            network.pruning_strength = float(strength)
            network.empty_nodes(network.live_nodes())
            self._train_again("pruning")
            network.empty_nodes(network.rows_at() > 0)
            loss = _array(network.valid_loss())
            path.append(PathPoint(trained_trees(network), loss, len(self._stages)))
        return path

    def retain(self, point: PathPoint, e: int, start: Tree, end: Tree) -> pd.DataFrame:
        """Tell the callbacks which tree is retained; return its history.

        ``start`` and ``end`` are the tree before and after training.
        """
        through = [stage for stage, came in self._stages[: point.n_stages] if came[e]]
        rows = [row for stage in through for row in stage.curve_of(e)]
        history = pd.DataFrame(rows, columns=HISTORY)
        snapshots = {0: lambda: start, float(history["epoch"].iloc[-1]): lambda: end}
        monitor = self._stages[-1][0]
        epoch, _, _, seconds, stage = monitor.history[-1]
        report = Progress(
            epoch=epoch,
            max_epochs=monitor.max_epochs,
            train_loss=np.nan,
            valid_loss=np.nan,
            seconds=seconds,
            stage=stage,
            snapshot=lambda: end,
            retained=RetainedCurve(history, snapshots),
        )
        notify(monitor.callbacks, report)
        return history

    def _leave_out_columns(self) -> None:
        """Leave every split with 21 columns, 13, 8, 5, 3, 2 and 1, and train on.

        Not in the paper. The fewest columns stay whose mean score on validation rows is
        within one standard error, that of the difference, of the dense tree's.
        """
        network = self.network
        dense = self.row_scores(network)
        taken = {name: t.clone() for name, t in network.state_dict().items()}
        tried: list[np.ndarray] = []  # which trees each step was taken by
        for n_columns in N_COLUMNS[::-1]:
            if n_columns >= network.weights.shape[2] or self._stopped:
                continue
            keep_columns(network, n_columns)
            self._train_again("fewer columns")
            after = zip(dense, self.row_scores(network))
            fine = np.array([loses_nothing(*scores) for scores in after])
            tried.append(fine)
            for name, now in network.state_dict().items():
                taken[name][torch.tensor(fine)] = now[torch.tensor(fine)]
        network.load_state_dict(taken)
        for i, (stage, _) in enumerate(self._stages[-len(tried) :] if tried else []):
            came = np.any(tried[i:], axis=0)  # through a step that was taken, or before
            self._stages[len(self._stages) - len(tried) + i] = (stage, came)
            self.simplified |= came

    def _train_again(self, stage: str) -> None:
        """Train the trees as they now are for some more epochs."""
        if self._stopped:
            return
        epochs = max(1, self.settings.max_epochs // EPOCHS_AGAIN)
        before, every = self._stages[-1][0], np.ones_like(self.simplified)
        monitor = before.next_stage(stage, epochs, snapshot=self._leader)
        self._stages.append((monitor, every))
        self._train(epochs)

    def _train(self, max_epochs: int) -> None:
        """Train by quasi-hyperbolic Adam, to the best parameters found."""
        network, settings = self.network, self.settings
        rate = network.bias.new_full((network.n_candidates,), settings.learning_rate)
        n_rows = len(network.rows.y)
        result = train(
            network,
            QHAdam(network.parameters(), rate),
            TrainingPlan(
                n_rows=n_rows,
                batch_size=min(settings.batch_size, n_rows),
                max_epochs=max_epochs,
                patience=settings.patience,
                has_open_end=True,
            ),
            generator=torch.Generator(rate.device).manual_seed(self.seed),
            monitor=self._stages[-1][0],
            after_epoch=CutOnPlateau(rate, patience=settings.plateau),
        )
        self._stopped = result.reason == "callback"

    def _leader(self) -> Tree:
        """The tree of the lowest validation loss as it is now, exported."""
        loss = self.network.valid_loss().nan_to_num(nan=np.inf)
        return self.snapshot(trained_trees(self.network)[int(loss.argmin())])

    @torch.no_grad()
    def _losses_at_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Losses (E,) before the first step: of some training rows, in validation."""
        drawn = some_rows(len(self.network.rows.y), REFERENCE_ROWS)
        rows = torch.as_tensor(drawn, device=self.network.bias.device)
        return _array(self.network.batch_loss(rows)), _array(self.network.valid_loss())


def loses_nothing(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether scores (n,) after are within one standard error of those before.

    The error is that of the difference: the same rows score both.
    """
    lost = before - after
    error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else 0.0
    return bool(lost.mean() <= error + 1e-9 * np.abs(before).mean())  # in any unit


def most_active(network: ArgminTrees, max_leaf_nodes: int) -> np.ndarray:
    """Find the nodes (E, T) that are left once the least active leaves have gone."""
    every, activity = network.live_nodes(), _array(network.activity())
    for live, a in zip(every, activity):
        while True:
            splits = live[1:].reshape(-1, 2).any(1)  # (N,)
            leaf = live & ~np.append(splits, np.zeros(len(splits) + 1, bool))
            if leaf.sum() <= max_leaf_nodes:
                break
            live[np.where(leaf, a, np.inf).argmin()] = False
    return every


@torch.no_grad()
def keep_columns(network: ArgminTrees, n_columns: int) -> None:
    """Approximate every split's sum, on the rows that reach it, with few columns.

    By orthogonal matching pursuit.
    """
    x = network.rows.x.double().cpu().numpy().T
    reached = (path_scores(network.scores(network.rows.x)) > 0).cpu().numpy()
    weights = network.sparse_weights().double().cpu().numpy()
    for at in map(tuple, torch.nonzero(network.fixed.isnan()).tolist()):
        if reached[at].any():
            for sparse, lacking in approximations(x[reached[at]], weights[at]):
                if (sparse != 0).sum() == n_columns:
                    network.weights[at] = torch.tensor(sparse)
                    network.column_mask[at] = torch.tensor(sparse != 0)
                    network.bias[at] += lacking


def _array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as float64."""
    return tensor.detach().cpu().double().numpy()
