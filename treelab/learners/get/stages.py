"""Algorithm 1: starts trained side by side, from soft splits to hard ones.

Source: Mao and Cao, arXiv:2411.17003, section 4.1 (iterative scaled sigmoid
approximation): what a stage with small scale factors found is where the next, with
larger ones, begins.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from treelab.learners.get.network import GetNetwork
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, standardise_margins
from treelab.training.events import Monitor
from treelab.training.loop import train
from treelab.training.plan import TrainingPlan
from treelab.training.schedule import cosine_decay

N_EVALUATIONS = 15  # of the hard loss in a stage


@dataclass
class Fit:
    """What every step of one fit needs.

    Attributes
    ----------
    rows, valid : Rows
        Training rows, and those that choose.
    settings : GetSettings
    depth : int
        Most splits on a path.
    rng : numpy Generator
    monitor : Monitor
        Of the step under way.
    export : callable
        Turns a batch of one tree into what a report shows.
    stopped : bool
        Whether a callback asked to stop: the best tree so far is then returned.
    free : bool array of shape (N, F) or None
        Weights that may move; None: all.
    """

    rows: Rows
    valid: Rows
    settings: GetSettings
    depth: int
    rng: np.random.Generator
    monitor: Monitor
    export: Callable
    stopped: bool = False
    free: np.ndarray | None = None

    @property
    def is_paper(self) -> bool:
        """Whether the paper's recipe is followed."""
        return self.settings.recipe == "paper"

    def should_stop(self) -> bool:
        """Report that the fit goes on, if that is due; return ``stopped``."""
        if self.monitor.is_due():
            self.stopped |= self.monitor.notify(0.0, math.nan, math.nan)
        return self.stopped


def train_stages(
    fit: Fit, starts: HardTrees, rows: Rows, valid: Rows, *, reports: bool = True
) -> tuple[HardTrees, float, int]:
    """Train all starts on rows, stage by stage: lines 6 to 16 of algorithm 1.

    Parameters
    ----------
    fit : Fit
    starts : HardTrees
    rows, valid : Rows
        Those of the gradients, and those whose hard loss chooses the step.
    reports : bool
        Whether the losses are reported.

    Returns
    -------
    tree : HardTrees
        A batch of one: of all steps the one with the lowest hard loss, never a start.
    loss : float
        That loss.
    start : int
        Which start it began as.
    """
    n_epochs = fit.settings.stage_epochs(len(rows.x))
    stages, monitors = fit.settings.stages, []
    generator = torch.Generator(rows.device)
    generator.manual_seed(int(fit.rng.integers(2**31)))
    trees, tree, lowest, start = starts, starts.take(0), np.inf, 0
    for number, (low, high) in enumerate(stages, start=1):
        if fit.stopped and number > 1:
            break
        monitor = Monitor(
            n_epochs, [lambda _: fit.should_stop(), *fit.monitor.checkpointers]
        )
        if reports:
            fit.monitor = monitor = fit.monitor.next_stage(
                f"stage {number} of {len(stages)}",
                n_epochs * (len(stages) - number + 1),
                snapshot=partial(fit.export, trees.take(0)),
            )
            monitors.append(monitor)
            if number == 1:
                before = (on.loss(starts.predict(on.x)) for on in (rows, valid))
                fit.stopped |= monitor.report(0, *before)
        scale_factor = fit.rng.uniform(low, high, len(trees.weights))
        trees, losses = _train_stage(
            fit, trees, scale_factor, rows, valid, generator, monitor
        )
        leader = int(np.argmin(losses))
        if losses[leader] < lowest:
            tree, lowest, start = trees.take(leader), float(losses[leader]), leader
    for monitor in monitors:  # the curve of this start, in place of the leaders'
        shown = {0.0: starts.take(start), monitor.history[-1][0]: tree}
        monitor.retain(start, {at: partial(fit.export, t) for at, t in shown.items()})
    return tree, lowest, start


def _train_stage(
    fit: Fit,
    trees: HardTrees,
    scale_factor: np.ndarray,
    rows: Rows,
    valid: Rows,
    generator: torch.Generator,
    monitor: Monitor,
) -> tuple[HardTrees, np.ndarray]:
    """Train all starts with their scale factors (E,): lines 9 to 11.

    Returns the best step of each start and its hard loss (E,).
    """
    settings, n_rows = fit.settings, len(rows.x)
    n_epochs = 1 if fit.stopped else settings.stage_epochs(n_rows)
    if not fit.is_paper:
        splits = standardise_margins(trees.weights, trees.threshold, rows.x)
        trees = HardTrees.fit(*splits, rows, linear=settings.linear)
    network = GetNetwork(trees, scale_factor, rows, valid, l1=settings.l1)
    if fit.free is not None:
        network.hold(fit.free)
    monitor.snapshot = partial(_leading_tree, fit, network)
    optimizer = network.optimizer(settings)
    warm_up, lowest = (0.0, 1e-4) if fit.is_paper else (0.1, 1e-3)
    result = train(
        network,
        optimizer,
        TrainingPlan(
            n_rows=n_rows,
            batch_size=settings.batch_size or n_rows,
            max_epochs=n_epochs,
            patience=n_epochs,
            evaluate_every=1 if fit.is_paper else max(1, n_epochs // N_EVALUATIONS),
        ),
        generator=generator,
        monitor=monitor,
        scheduler=cosine_decay(
            optimizer,
            n_epochs * settings.n_batches(n_rows),
            warm_up=warm_up,
            lowest=lowest,
        ),
    )
    fit.stopped |= result.reason == "callback"
    return network.hard_trees(), result.best_loss.cpu().numpy().astype(np.float64)


def _leading_tree(fit: Fit, network: GetNetwork):
    """The best start of the moment, exported."""
    trees = network.hard_trees()
    loss = network.valid.loss(trees.predict(network.valid.x))
    return fit.export(trees.take(int(np.nanargmin(loss))))
