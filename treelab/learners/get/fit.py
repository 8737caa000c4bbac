"""How GET finds its tree: starts, stages, growth, polish, sparse splits.

Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
arXiv:2411.17003. The paper trains a tree of the full depth (algorithm 1) and polishes
it (algorithm 2); ``paper.py`` does just that. Ours trains the upper levels of several
trees from soft to hard, grows the best of them greedily to full depth, and trains all
levels once more, subtree by subtree.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from treelab.learners.get.distillation import distil
from treelab.learners.get.linear_splits import LinearGrowth, linear_splits
from treelab.learners.get.network import GetNetwork, warm_up_cosine
from treelab.learners.get.polish import polish_level
from treelab.learners.get.prune import prune_by_validation, sparse_splits
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.starts import Growth, Splits, greedy_splits, random_splits
from treelab.learners.get.trees import HardTrees, standardise_margins
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, train

TRAINED_DEPTH = {False: 6, True: 4}  # levels trained as a whole; by linear leaves
GROWTHS: dict[bool, tuple[Growth, ...]] = {  # tried below a trained tree
    False: tuple(Growth(min_samples_leaf=size) for size in (5, 2, 10)),
    True: (
        LinearGrowth(min_samples_leaf=20, penalty=3.0),
        LinearGrowth(min_samples_leaf=40, penalty=30.0),
    ),
}
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
    """

    rows: Rows
    valid: Rows
    settings: GetSettings
    depth: int
    rng: np.random.Generator
    monitor: Monitor
    export: Callable
    stopped: bool = False

    def losses(self, trees: HardTrees) -> tuple[np.ndarray, np.ndarray]:
        """Hard training and validation loss (E,) of each tree."""
        return (
            self.rows.loss(trees.predict(self.rows.x)),
            self.valid.loss(trees.predict(self.valid.x)),
        )

    def next_stage(self, stage: str, n_epochs: float, tree: HardTrees) -> None:
        """Begin another stage of the reports, which shows a tree."""
        self.monitor = self.monitor.next_stage(
            stage, math.ceil(n_epochs), snapshot=lambda: self.export(tree)
        )

    def report(self, epoch: float, tree: HardTrees) -> None:
        """Report a tree of this stage, a batch of one."""
        self.monitor.snapshot = lambda: self.export(tree)
        self.stopped |= self.monitor.report(epoch, *self.losses(tree))

    def should_stop(self, epoch: float = 0.0) -> bool:
        """Move the progress, if the last report is old; return ``stopped``."""
        if self.monitor.is_due():
            self.stopped |= self.monitor.notify(epoch, math.nan, math.nan)
        return self.stopped


@dataclass(frozen=True)
class Found:
    """What a fit found; batches of one tree each.

    Attributes
    ----------
    tree : HardTrees
        Not pruned by its last validation losses yet.
    dense : HardTrees
        The same before columns left its splits.
    start : HardTrees
        What training began from, of the same depth: a start's splits above, and below
        them the splits that were grown, as they were before polish.
    kind : str
        How the start was made, a key of ``origin.STARTS``.
    rows, valid : Rows
        As the last step saw them: with soft targets where the tree is distilled.
    later : tuple of str
        Steps after training of the whole tree.
    """

    tree: HardTrees
    dense: HardTrees
    start: HardTrees
    kind: str
    rows: Rows
    valid: Rows
    later: tuple[str, ...] = ()


# Matrices are small here: BLAS threads that wait for the next one only hold the cores.
@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_tree(fit: Fit) -> Found:
    """Find the best tree for the validation rows."""
    starts, kinds = initial_trees(fit)
    trained, monitors = train_stages(fit, starts)
    rows, valid = distil_rows(fit)
    tree, candidate = grow(fit, trained, rows)
    shown = {  # of this start, in place of the leaders' of each moment
        0.0: partial(fit.export, starts.take(candidate)),
        fit.monitor.history[-1][0]: partial(fit.export, trained.take(candidate)),
    }
    for monitor in monitors:
        monitor.retain(candidate, shown)
    start = _with_top(tree, starts, candidate)
    dense = polish(fit, tree, rows)
    tolerance = fit.settings.sparse_tolerance
    sparse = sparse_splits(dense, rows, fit.valid, tolerance) if tolerance else dense
    later = ["distillation"] * (rows is not fit.rows)
    if dense is not tree:
        later.append("polish")
    if (sparse.weights != dense.weights).any():
        later.append("leaving columns out of splits")
    return Found(sparse, dense, start, kinds[candidate], rows, valid, tuple(later))


def initial_trees(fit: Fit) -> tuple[HardTrees, list[str]]:
    """Trees where training starts (line 5 of algorithm 1), and how each was made.

    The first is a CART tree; then random and greedy oblique ones take turns.
    """
    linear = fit.settings.linear
    depth = min(fit.depth, TRAINED_DEPTH[linear])
    found, kinds = [], []
    for start in range(fit.settings.n_starts):
        if start % 2 == 1:
            found.append(random_splits(fit.rows.x, depth, fit.rng))
            kinds.append("random")
        else:
            growth = replace(GROWTHS[linear][0], oblique=start > 0)
            found.append(grow_splits(fit, fit.rows, depth, growth))
            kinds.append("greedy")
        if fit.should_stop():
            break
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(weights, threshold, fit.rows, linear=linear), kinds


def train_stages(fit: Fit, trees: HardTrees) -> tuple[HardTrees, list[Monitor]]:
    """Train the upper levels of all starts, from soft splits to hard ones.

    Iterative scaled sigmoid approximation (section 4.1): what a stage with small scale
    factors found is where the next, with larger ones, begins. Of each start the step
    with the lowest hard validation loss is taken, never the start itself.

    Returns the trained trees and the monitors of the stages.
    """
    generator = torch.Generator(fit.rows.device)
    generator.manual_seed(int(fit.rng.integers(2**31)))
    n_epochs = fit.settings.stage_epochs(len(fit.rows.x))
    stages, monitors = fit.settings.stages, []
    for number, (low, high) in enumerate(stages, start=1):
        if number > 1 and fit.stopped:
            break
        left = n_epochs * (len(stages) - number + 1) + _polish_epochs(fit)
        fit.next_stage(f"stage {number} of {len(stages)}", left, trees.take(0))
        monitors.append(fit.monitor)
        if number == 1:
            fit.stopped |= fit.monitor.report(0, *fit.losses(trees))
        splits = standardise_margins(trees.weights, trees.threshold, fit.rows.x)
        trees = HardTrees.fit(*splits, fit.rows, linear=fit.settings.linear)
        scale_factor = fit.rng.uniform(low, high, len(trees.weights))
        trees = train_stage(fit, trees, scale_factor, n_epochs, generator)
    return trees, monitors


def train_stage(
    fit: Fit,
    trees: HardTrees,
    scale_factor: np.ndarray,
    n_epochs: int,
    generator: torch.Generator,
) -> HardTrees:
    """Train all starts with their scale factors: lines 9 to 11 of algorithm 1.

    The paper's epoch is one step on all rows; ours takes batches.
    """
    settings, n_rows = fit.settings, len(fit.rows.x)
    network = GetNetwork(trees, scale_factor, fit.rows, fit.valid, l1=settings.l1)
    optimizer = network.optimizer(settings)
    fit.monitor.snapshot = partial(_leading_tree, fit, network)
    n_epochs = 1 if fit.stopped else n_epochs
    result = train(
        network,
        optimizer,
        TrainingPlan(
            n_rows=n_rows,
            batch_size=settings.batch_size or n_rows,
            max_epochs=n_epochs,
            patience=n_epochs,
            evaluate_every=max(1, n_epochs // N_EVALUATIONS),
        ),
        generator=generator,
        monitor=fit.monitor,
        scheduler=warm_up_cosine(optimizer, n_epochs * settings.n_batches(n_rows)),
    )
    fit.stopped |= result.reason == "callback"
    return network.hard_trees()


def _leading_tree(fit: Fit, network: GetNetwork):
    """The best start of the moment, exported."""
    trees = network.hard_trees()
    loss = network.valid.loss(trees.predict(network.valid.x))
    return fit.export(trees.take(int(np.nanargmin(loss))))


def distil_rows(fit: Fit) -> tuple[Rows, Rows]:
    """Training and validation rows with soft targets, where leaves are linear."""
    n_trees = fit.settings.spent.n_bagged if fit.settings.linear else 0
    given = fit.rows, fit.valid
    if not n_trees or fit.stopped:
        return given
    rng = np.random.default_rng(int(fit.rng.integers(2**31)))
    return distil(*given, fit.depth, n_trees, rng, fit.should_stop) or given


def grow(fit: Fit, trained: HardTrees, rows: Rows) -> tuple[HardTrees, int]:
    """Grow the best trained trees to full depth and prune them; return the best.

    ``rows`` are the training rows, or these with soft targets and synthetic rows. The
    number of the start comes with the tree.
    """
    order = np.argsort(fit.losses(trained)[1], kind="stable")
    order = order[: 1 if fit.stopped else fit.settings.spent.n_grown]
    found: list[tuple[float, HardTrees, int]] = []
    for candidate in order.tolist():
        top = trained.weights[candidate], trained.threshold[candidate]
        for growth in GROWTHS[fit.settings.linear]:
            splits = top
            if not fit.should_stop():
                splits = grow_splits(fit, rows, fit.depth, growth, top)
            weights, threshold = (part[None] for part in splits)
            tree = HardTrees.fit(weights, threshold, rows, linear=fit.settings.linear)
            limit = fit.settings.max_leaf_nodes
            tree, loss = prune_by_validation(tree, rows, fit.valid, limit)
            found.append((loss, tree, candidate))
            if fit.stopped:
                break
    _, tree, candidate = min(found, key=lambda each: each[0])
    return tree, candidate


def grow_splits(
    fit: Fit, rows: Rows, depth: int, growth: Growth, top: Splits | None = None
) -> Splits:
    """Grow splits greedily on rows, for constant or for linear leaves."""
    if isinstance(growth, LinearGrowth):
        return linear_splits(rows.x, rows.y, depth, fit.rng, growth=growth, top=top)
    return greedy_splits(rows, depth, fit.rng, growth=growth, top=top)


def _with_top(tree: HardTrees, starts: HardTrees, candidate: int) -> HardTrees:
    """The tree, its upper splits as they were in a start, where it still has them."""
    weights, threshold = tree.weights.copy(), tree.threshold.copy()
    n_top = min(threshold.shape[1], starts.threshold.shape[1])
    retained = np.isfinite(threshold[0, :n_top])
    weights[0, :n_top][retained] = starts.weights[candidate, :n_top][retained]
    threshold[0, :n_top][retained] = starts.threshold[candidate, :n_top][retained]
    return replace(tree, weights=weights, threshold=threshold)


def polish(fit: Fit, tree: HardTrees, rows: Rows) -> HardTrees:
    """Polish level by level, bottom up: section 4.3 and algorithm 2.

    A level is taken where the training loss does not rise, as in the paper, and the
    validation loss falls.
    """
    spent = fit.settings.spent
    losses = fit.losses(tree)
    n_levels, taken = _polish_rounds(fit) * tree.depth, -1
    of_level = spent.polish_steps / fit.settings.n_batches(len(fit.rows.x))
    fit.next_stage("polish", n_levels * of_level, tree)
    for done in range(n_levels):
        if fit.stopped or done - taken > tree.depth:  # a whole round changed nothing
            break
        level = tree.depth - 1 - done % tree.depth
        begun = done * of_level
        polished = polish_level(
            tree,
            rows,
            level,
            spent.polish_steps,
            fit.settings,
            fit.rng,
            should_stop=partial(_in_level, fit, begun, of_level),
        )
        after = fit.losses(polished)
        if after[1] < losses[1] and after[0] <= losses[0]:
            tree, losses, taken = polished, after, done
        fit.report((done + 1) * of_level, tree)
    return tree


def _in_level(fit: Fit, begun: float, of_level: float, part: float) -> bool:
    """Move the progress to a part of a level; return whether to stop."""
    return fit.should_stop(begun + part * of_level)


def _polish_rounds(fit: Fit) -> int:
    """Rounds of polish; a tree that is distilled has little to gain."""
    spent = fit.settings.spent
    rounds = spent.polish_rounds if fit.settings.polish else 0
    return math.ceil(rounds / 2) if fit.settings.linear else rounds


def _polish_epochs(fit: Fit) -> float:
    """Epochs that polish takes at most."""
    n_steps = _polish_rounds(fit) * fit.depth * fit.settings.spent.polish_steps
    return n_steps / fit.settings.n_batches(len(fit.rows.x))
