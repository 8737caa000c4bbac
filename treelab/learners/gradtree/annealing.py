"""The treelab recipe: folds by sizes by starts, then restarts on all rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import nn

from treelab.learners.common.objective import Objective
from treelab.learners.gradtree.annealed_trees import AnnealedTrees, TrainingRows
from treelab.learners.gradtree.encodings import Encoding
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.starts import (
    Start,
    StartRows,
    greedy_start,
    random_start,
)
from treelab.training.checkpointer import State
from treelab.training.events import Monitor
from treelab.training.schedule import cosine_decay
from treelab.training.state import (
    fits,
    pack,
    set_generators,
    set_parameters,
    unpack,
)
from treelab.trees.constraints import Constraints
from treelab.trees.tree import Tree

SMALLEST_SIZE = 2  # leaves
LEAF_SIZES = (20, 5, 1)  # fewest rows in a leaf of greedy starts
LARGEST_RANDOM = 8  # leaves; larger trees all start greedy
N_REPORTS = 10  # of a stage
MOST_REPORTED = 1000  # rows on which a report measures the hard trees


@dataclass(frozen=True)
class Plan:
    """What trees are trained from: how many leaves, and which kind of start."""

    size: int
    kind: str

    @property
    def by_vote(self) -> bool:
        """Whether the tree most like the vote is retained; else the best fit."""
        return self.kind == "greedy"

    def restarts(self, n_restarts: int) -> int:
        """Trees of the plan: of random ones twice as many, as most fail."""
        return n_restarts if self.kind == "greedy" else 2 * n_restarts


@dataclass(frozen=True)
class PlannedStart:
    """A start, the plan it follows, and the encoding of the rows that it reads."""

    plan: Plan
    encoding: int
    start: Start


def plans_of(settings: GradTreeSettings) -> list[Plan]:
    """List what cross-validation compares: 2, 4, 8, ... leaves, each kind of start."""
    most = settings.max_leaf_nodes
    doublings = max(0, math.ceil(math.log2(most / SMALLEST_SIZE)))
    sizes = [min(SMALLEST_SIZE * 2**i, most) for i in range(doublings + 1)]
    greedy = [Plan(size, "greedy") for size in sizes]
    if Constraints.read(settings.constraints).column_costs:
        return greedy  # random starts know nothing of what a column is worth
    return greedy + [
        Plan(size, "random") for size in sizes if 2 < size <= LARGEST_RANDOM
    ]


def make_starts(
    encodings: Sequence[Encoding],
    y: np.ndarray,
    values: np.ndarray,
    plans: Sequence[Plan],
    n_restarts: int,
    settings: GradTreeSettings,
    random: np.random.RandomState,
    leaf_sizes: Sequence[int] = LEAF_SIZES,
) -> list[PlannedStart]:
    """Make the starts of each plan and encoding, those of like shape side by side.

    Greedy starts after the first of each leaf size grow on resampled rows.

    Parameters
    ----------
    encodings : sequence of G Encoding
    y, values : ndarray of shape (n,), (n, C)
        Class codes and their indicators, or values and their standard scores.
    plans : sequence of Plan
        A greedy one is left out where the rows fill no more leaves than the one
        before.
    n_restarts : int
        Of each plan, and encoding unless that says which.
    leaf_sizes : sequence of int
        Fewest rows in a leaf of greedy starts, in turn.
    """
    starts: list[PlannedStart] = []
    largest = max(plan.size for plan in plans)
    for place, encoding in enumerate(encodings):
        rows = start_rows(encoding, y, values, settings)
        restarts = encoding.restarts or range(n_restarts)
        grown = [
            greedy_start(
                rows,
                largest,
                leaf_sizes[i % len(leaf_sizes)],
                random,
                resampled=i >= len(leaf_sizes),
            )
            for i in range(len(restarts))
        ]
        # One leaf is no start, unless no column splits the rows.
        filled = min(1, max(g.tree.n_leaves for g in grown) - 1)
        for plan in plans:
            if plan.kind == "random":
                depth = min(settings.max_depth, max(1, round(math.log2(plan.size))))
                number = plan.restarts(n_restarts) if 0 in restarts else 0
                drawn = [random_start(rows, depth, random) for _ in range(number)]
                made = [start for start in drawn if start is not None]
            else:
                larger = [g for g in grown if g.tree.n_leaves > filled]
                filled = plan.size
                made = [
                    larger[restart % len(larger)].first(plan.size)
                    for restart in range(len(restarts) if larger else 0)
                ]
            starts += [PlannedStart(plan, place, start) for start in made]
    return sorted(starts, key=lambda own: own.start.columns.shape[::-1])


def start_rows(
    encoding: Encoding, y: np.ndarray, values: np.ndarray, settings: GradTreeSettings
) -> StartRows:
    """Return the rows that starts are made from, those held out left out."""
    own = ~encoding.held_out
    return StartRows(
        encoding.x[own],
        y[own],
        values[own],
        settings.max_depth,
        encoding.weight[own],
        encoding.rules,
    )


def train(
    encodings: Sequence[Encoding],
    starts: Sequence[PlannedStart],
    y: np.ndarray,
    objective: Objective,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
    snapshot: Callable[[HardTree], Tree] | None = None,
) -> tuple[AnnealedTrees, bool]:
    """Train all starts side by side; return them and whether a callback stopped it.

    Parameters
    ----------
    encodings : sequence of G Encoding
    starts : sequence of E PlannedStart
    y : ndarray of shape (n,)
    objective : Objective
    settings : GradTreeSettings
    monitor : Monitor
    generator : torch.Generator
        Draws the rows of each step.
    snapshot : callable, optional
        Exports a tree for the monitor.
    """
    device = generator.device
    rows = TrainingRows(
        x=nn.utils.rnn.pad_sequence(  # an encoder may make fewer columns
            [torch.tensor(e.x.T) for e in encodings], batch_first=True
        ).to(device),
        target=torch.tensor(objective.encode(y), device=device),
        objective=objective,
        rules=[e.rules for e in encodings if e.rules is not None],
    )
    of_tree = [start.encoding for start in starts]
    by_encoding = np.stack([~e.held_out * e.weight for e in encodings])
    weight = torch.tensor(by_encoding[of_tree], dtype=torch.float32, device=device)
    trees = AnnealedTrees(rows, [start.start for start in starts], of_tree, weight)
    if snapshot is not None:
        export = snapshot
        monitor.snapshot = lambda: export(trees.hard_trees()[trees.leader])
    stopped = descend(trees, settings, monitor, generator)
    return trees, stopped


def epochs_of(settings: GradTreeSettings, n_rows: int) -> float:
    """Passes over the rows that the steps of one stage make."""
    return settings.steps(n_rows) * min(settings.batch_size, n_rows) / n_rows


def descend(
    trees: AnnealedTrees,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
) -> bool:
    """Take the steps; return whether a callback stopped them."""
    n_rows = trees.rows.n_rows
    n_steps = settings.steps(n_rows)
    batch_size = min(settings.batch_size, n_rows)
    optimizer = torch.optim.Adam(
        [
            {"params": trees.logits, "lr": settings.learning_rate_index},
            {"params": trees.threshold, "lr": settings.learning_rate_values},
            {"params": trees.value, "lr": settings.learning_rate_leaf},
        ],
        fused=True,
    )
    scheduler = cosine_decay(optimizer, n_steps)
    order = torch.empty(0, dtype=torch.long, device=generator.device)
    due = np.unique(np.linspace(0, n_steps, N_REPORTS + 1).round())[1:]
    watched = torch.randperm(n_rows, generator=generator, device=generator.device)
    watched = watched[:MOST_REPORTED]
    report = partial(_report, trees, monitor, watched)
    report(0.0)
    stage = monitor.begin_stage()
    first = 0
    descent = _Descent(trees, optimizer, scheduler, generator, monitor)
    if stage.saved is not None:
        first, order = descent.resume(unpack(stage.saved), order)
    for step in range(first, n_steps):
        if stage.is_due:
            stage.save(descent.state(step, order))
        if len(order) < batch_size:
            order = torch.randperm(n_rows, generator=generator, device=generator.device)
        batch, order = order[:batch_size], order[batch_size:]
        optimizer.zero_grad(set_to_none=True)
        loss = trees.batch_loss(batch, step / n_steps)
        loss.sum().backward()
        optimizer.step()
        scheduler.step()
        if step + 1 in due:
            if not bool(torch.isfinite(loss).all()):
                raise FloatingPointError(
                    f"The loss was no longer a number at step {step + 1}. Try a "
                    "smaller learning_rate_values or learning_rate_leaf."
                )
            if report((step + 1) * batch_size / n_rows):
                stage.stop()
                return True
    if not stage.is_finished:
        stage.finish(lambda: descent.state(n_steps, order))
    return False


def _report(
    trees: AnnealedTrees, monitor: Monitor, watched: torch.Tensor, epoch: float
) -> bool:
    """Report to the monitor; return whether a callback asked to stop."""
    loss = trees.hard_loss(watched, held_out=monitor.is_preparation).cpu().numpy()
    if monitor.is_preparation:
        known = loss[np.isfinite(loss)]
        mean = float(known.mean()) if len(known) else math.nan
        return monitor.report(epoch, math.nan, mean)
    trees.leader = int(loss.argmin())
    return monitor.report(epoch, loss, np.full(len(loss), math.nan))


class _Descent:
    """What a checkpoint holds of the steps."""

    def __init__(self, trees, optimizer, scheduler, generator, monitor):
        self.trees, self.generator, self.monitor = trees, generator, monitor
        self.stateful = (optimizer, scheduler)
        self.before = monitor.position()

    def state(self, step: int, order: torch.Tensor) -> State:
        """Return the state before a step, ``order`` the rows that are left to draw."""
        return pack(
            {
                "parameters": dict(self.trees.named_parameters()),
                "stateful": [each.state_dict() for each in self.stateful],
                "generators": [self.generator.get_state()],
                "order": order,
                "step": step,
                "monitor": self.monitor.since(self.before),
            }
        )

    def resume(self, saved: dict, order: torch.Tensor) -> tuple[int, torch.Tensor]:
        """Go back to a state, unless it is of other trees; return step and order."""
        if not fits(self.trees, [self.generator], saved):
            return 0, order
        set_parameters(self.trees, saved["parameters"])
        for each, own in zip(self.stateful, saved["stateful"]):
            each.load_state_dict(own)
        set_generators([self.generator], saved["generators"])
        self.monitor.resume(self.before, saved["monitor"])
        return saved["step"], saved["order"].to(order.device)
