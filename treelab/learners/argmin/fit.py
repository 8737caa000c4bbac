"""Training of argmin trees: all pruning strengths together."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.argmin.settings import TreeSettings
from treelab.training.events import Callback, Monitor
from treelab.training.loop import TrainingPlan, TrainResult, train
from treelab.training.qhadam import CutOnPlateau, QHAdam


def check_rows(settings: TreeSettings, n_rows: int) -> None:
    """Raise ValueError if a tree has more nodes than there are training rows."""
    if n_rows < settings.n_nodes:
        raise ValueError(
            f"depth={settings.depth} gives {settings.n_nodes} nodes, but there are "
            f"n_samples={n_rows} training rows; with so few, depth must be at most "
            f"{max(int(np.log2(n_rows + 1)) - 1, 0)}."
        )


def train_trees(
    network: ArgminTrees,
    seed: int,
    *,
    snapshot: Callable[[int], object],
    callbacks: Sequence[Callback],
    started: float,
) -> tuple[TrainResult, pd.DataFrame]:
    """Train all strengths by quasi-hyperbolic Adam; the network holds the best found.

    Parameters
    ----------
    network : ArgminTrees
    seed : int
        Draws the batches.
    snapshot : callable
        Exports the tree of an index; called with that of the lowest validation loss.
    callbacks : sequence of callable
    started : float
        ``time.monotonic()`` when the fit began.

    Returns
    -------
    result : TrainResult
    history : DataFrame
        One row an epoch; see ``training.events.HISTORY``.
    """
    settings = network.settings
    rate = torch.full_like(network.pruning_strength, float(settings.learning_rate))
    # Cut by 10 before training stops, as in appendix A.3 (there after 2 epochs of 10).
    cut = CutOnPlateau(rate, patience=max(1, settings.patience // 3))
    leader = 0

    def after_epoch(valid_loss):
        nonlocal leader
        leader = int(torch.nan_to_num(valid_loss, nan=torch.inf).argmin())
        cut(valid_loss)

    monitor = Monitor(
        settings.max_epochs,
        callbacks,
        snapshot=lambda: snapshot(leader),
        started=started,
    )
    result = train(
        network,
        QHAdam(network.parameters(), rate, eps=1e-8 * (network.loss_scale or 1.0)),
        TrainingPlan(
            n_rows=len(network.rows.y),
            batch_size=network.batch_size,
            max_epochs=settings.max_epochs,
            patience=settings.patience,
        ),
        generator=torch.Generator(rate.device).manual_seed(seed),
        monitor=monitor,
        after_epoch=after_epoch,
    )
    return result, monitor.history_frame()
