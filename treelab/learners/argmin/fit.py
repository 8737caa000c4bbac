"""What every argmin learner does: check the common settings, train the trees."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Real

import numpy as np
import pandas as pd
import torch

from treelab.learners.argmin.network import ArgminTrees
from treelab.learners.common.checks import (
    check_at_least,
    check_between,
    check_choice,
    check_number,
)
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, TrainResult, train
from treelab.training.qhadam import CutOnPlateau, QHAdam

STRENGTHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
FORMULATIONS = ("ridge", "preference")
DEEPEST = 8


def check_common(learner) -> np.ndarray:
    """Refuse settings out of range; return the pruning strengths, (E,), float64."""
    check_between("depth", learner.depth, 1, DEEPEST)
    check_choice("formulation", learner.formulation, FORMULATIONS)
    check_number("learning_rate", learner.learning_rate, above=0)
    check_at_least("max_epochs", learner.max_epochs, 1)
    check_at_least("batch_size", learner.batch_size, 1)
    check_at_least("patience", learner.patience, 1)
    return _strengths(learner.pruning_strength)


def check_rows(depth: int, n_rows: int) -> None:
    """Refuse a tree of more nodes than there are training rows."""
    n_nodes = 2 ** (depth + 1) - 1
    if n_rows < n_nodes:
        raise ValueError(
            f"depth={depth} gives {n_nodes} nodes, but there are n_samples={n_rows} "
            "training rows; with so few, depth must be at most "
            f"{max(int(np.log2(n_rows + 1)) - 1, 0)}."
        )


def fit_trees(
    network: ArgminTrees,
    learner,
    generator: torch.Generator,
    *,
    snapshot: Callable[[int], object],
    callbacks: Sequence,
    started: float,
) -> tuple[TrainResult, pd.DataFrame]:
    """Train all strengths by quasi-hyperbolic Adam; the network holds the best found.

    Parameters
    ----------
    network : ArgminTrees
    learner : object
        Its ``learning_rate``, ``max_epochs`` and ``patience`` are used.
    generator : torch.Generator
        Draws the batches.
    snapshot : callable
        Exports the candidate of an index; asked for the leader of the moment.
    callbacks : sequence of callable
    started : float
        ``time.monotonic()`` when the fit began.

    Returns
    -------
    result : TrainResult
    history : DataFrame
        See ``Monitor.history_frame``.
    """
    rate = torch.full_like(network.strength, float(learner.learning_rate))
    cut = CutOnPlateau(rate, patience=max(1, learner.patience // 3))
    leader = 0

    def after_epoch(valid_loss):
        nonlocal leader
        leader = int(torch.nan_to_num(valid_loss, nan=torch.inf).argmin())
        cut(valid_loss)

    monitor = Monitor(
        learner.max_epochs,
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
            max_epochs=learner.max_epochs,
            patience=learner.patience,
        ),
        generator=generator,
        monitor=monitor,
        after_epoch=after_epoch,
    )
    return result, monitor.history_frame()


def _strengths(setting) -> np.ndarray:
    """The setting ``pruning_strength`` as an ascending float64 array (E,)."""
    single = isinstance(setting, Real) and not isinstance(setting, bool)
    values = [setting] if single else setting
    wanted = "pruning_strength must be a number >= 0, or an ascending sequence of such"
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{wanted}, got {setting!r}.")
    values = list(values)
    if not values:
        raise ValueError(f"{wanted}, got none at all.")
    for value in values:
        check_number("pruning_strength", value, minimum=0)
    for low, high in pairwise(values):
        if high <= low:
            raise ValueError(f"{wanted}, but {high!r} follows {low!r}.")
    return np.array(values, dtype=np.float64)
