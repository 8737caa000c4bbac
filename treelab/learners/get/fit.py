"""How GET finds its tree: starts, stages, growth, pruning, polish, sparse splits.

Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
arXiv:2411.17003. The paper trains a tree of the full depth (algorithm 1) and polishes
it (algorithm 2). Ours trains the upper levels of several trees from soft to hard, grows
the best of them greedily to full depth, prunes them on the validation rows and polishes
the best one; where leaves hold linear models, the tree is distilled from a bagging
ensemble.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from treelab.learners.get.distillation import Distilled, distil
from treelab.learners.get.linear_splits import LinearGrowth, linear_splits
from treelab.learners.get.network import (
    GetNetwork,
    two_rate_optimizer,
    warm_up_cosine,
)
from treelab.learners.get.polish import polish_level
from treelab.learners.get.prune import prune_by_validation
from treelab.learners.get.reports import Reports
from treelab.learners.get.rows import Rows
from treelab.learners.get.settings import FitPlan
from treelab.learners.get.sparse import sparse_splits
from treelab.learners.get.starts import (
    Growth,
    Splits,
    greedy_splits,
    random_splits,
)
from treelab.learners.get.trees import HardTrees, standardise_margins
from treelab.training.loop import TrainingPlan, TrainResult, train

# Ranges of the scale factor alpha (appendix D, 4).
STAGES = (("soft splits", 5.0, 25.0), ("hard splits", 50.0, 150.0))
TRAINED_DEPTH = {False: 6, True: 4}  # levels trained as a whole; by linear leaves
GROWTHS: dict[
    bool, tuple[Growth, ...]
] = {  # by linear leaves, those of few budgets first
    False: tuple(Growth(min_samples_leaf=size) for size in (5, 2, 10)),
    True: (
        LinearGrowth(min_samples_leaf=20, penalty=3.0),
        LinearGrowth(min_samples_leaf=40, penalty=30.0),
    ),
}
RETAINED_FRACTION = 0.7  # of the starts; the hard loss of soft trees is a weak hint yet
N_EVALUATIONS = 15  # of the hard loss in a stage
WEIGHT_DECAY = 1e-4


@dataclass(frozen=True)
class FitContext:
    """What every step of one fit needs.

    Attributes
    ----------
    rows, valid : Rows
        Training rows, and those that choose.
    plan : FitPlan
    rng : numpy Generator
    reports : Reports
        Its callbacks may ask to stop: the best tree so far is then pruned and returned.
    """

    rows: Rows
    valid: Rows
    plan: FitPlan
    rng: np.random.Generator
    reports: Reports

    def losses(self, tree: HardTrees) -> tuple[float, float]:
        """Hard training and validation loss of a batch of one tree."""
        return (
            float(self.rows.loss(tree.predict(self.rows.x))[0]),
            float(self.valid.loss(tree.predict(self.valid.x))[0]),
        )


# Matrices are small here: BLAS threads that wait for the next one only hold the cores.
@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_tree(fit: FitContext, all_rows: Rows) -> tuple[HardTrees, Rows | None]:
    """Find the best tree for the validation rows.

    Parameters
    ----------
    fit : FitContext
    all_rows : Rows
        On which the leaves are computed in the end: ``fit.rows``, or these and others.

    Returns
    -------
    tree : HardTrees
        A batch of one tree.
    soft_rows : Rows or None
        What the leaves are to be computed from where the tree is distilled: all rows
        with soft targets, then synthetic rows.
    """
    starts = initial_trees(fit)
    trained = train_stages(fit, starts)
    distilled = distil_training_rows(fit)
    rows = fit.rows if distilled is None else distilled.rows
    tree = grow(fit, trained, rows)
    n_rounds = n_polish_rounds(fit.plan, is_distilled=distilled is not None)
    tree = polish(fit, tree, rows, n_rounds)
    tree = sparse_splits(tree, rows, fit.valid, fit.plan.settings.sparse_tolerance)
    return tree, distil_all_rows(fit, distilled, all_rows)


def initial_trees(fit: FitContext) -> HardTrees:
    """Trees where training starts: line 5 of algorithm 1.

    The first is a CART tree; then greedy oblique and random ones take turns.
    """
    plan = fit.plan
    depth = min(plan.depth, TRAINED_DEPTH[plan.linear])
    found: list[Splits] = []
    best, best_losses = None, (math.inf, math.inf)
    for start in range(plan.settings.n_starts):
        if start and start % 2 == 0:
            splits = random_splits(fit.rows.x, depth, fit.rng)
        else:
            growth = replace(GROWTHS[plan.linear][0], oblique=start > 0)
            splits = grow_splits(fit, fit.rows, depth, growth)
        found.append(splits)
        tree = tree_of(fit, splits, fit.rows)
        losses = fit.losses(tree)
        if best is None or losses[1] < best_losses[1]:
            best, best_losses = tree, losses
        if fit.reports.report(0, "starts", best, best_losses):
            break
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(weights, threshold, fit.rows, linear=plan.linear)


def train_stages(fit: FitContext, trees: HardTrees) -> HardTrees:
    """Train the upper levels of all starts; the best on validation come first.

    Iterative scaled sigmoid approximation (section 4.1): what a stage with a small
    scale factor found is where the next, with a large one, begins. A stage that does
    not lower a start's hard loss leaves its tree as it was (line 15 of algorithm 1).
    """
    losses = fit.valid.loss(trees.predict(fit.valid.x))
    generator = torch.Generator(fit.rows.device)
    generator.manual_seed(int(fit.rng.integers(2**31)))
    for stage, n_epochs in enumerate(fit.plan.stage_epochs):
        if n_epochs == 0 or fit.reports.stopped:
            continue
        splits = standardise_margins(trees.weights, trees.threshold, fit.rows.x)
        trees = HardTrees.fit(*splits, fit.rows, linear=fit.plan.linear)
        network, result = train_stage(fit, trees, stage, generator)
        fit.reports.stopped |= result.reason == "callback"
        found = result.best_loss.cpu().numpy().astype(np.float64)
        trees = _better_trees(trees, network.hard_trees(), found < losses, fit.rows)
        losses = np.minimum(losses, np.where(np.isnan(found), np.inf, found))
        n_retained = round(RETAINED_FRACTION * len(losses))
        n_retained = max(fit.plan.budget.n_grown, n_retained)
        best = np.argsort(losses, kind="stable")[:n_retained]
        trees, losses = trees.take(best), losses[best]
    return trees


def train_stage(
    fit: FitContext, trees: HardTrees, stage: int, generator: torch.Generator
) -> tuple[GetNetwork, TrainResult]:
    """Train all starts with scale factors of one range: lines 9 to 11 of algorithm 1.

    The paper's epoch is one step on all rows; ours takes batches.
    """
    plan, settings = fit.plan, fit.plan.settings
    name, low, high = STAGES[stage]
    n_epochs = plan.stage_epochs[stage]
    scale_factor = fit.rng.uniform(low, high, len(trees.weights))
    network = GetNetwork(trees, scale_factor, fit.rows, fit.valid, settings.l1)
    splits = [network.weights, network.threshold]
    optimizer = two_rate_optimizer(splits, network.leaf_value, settings, WEIGHT_DECAY)
    result = train(
        network,
        optimizer,
        TrainingPlan(
            n_rows=len(fit.rows.x),
            batch_size=settings.batch_size,
            max_epochs=n_epochs,
            patience=n_epochs,
            evaluate_every=max(1, n_epochs // N_EVALUATIONS),
        ),
        generator=generator,
        monitor=fit.reports.monitor_of_stage(
            stage, name, partial(_leading_tree, network)
        ),
        scheduler=warm_up_cosine(optimizer, n_epochs * plan.n_batches),
    )
    return network, result


def _leading_tree(network: GetNetwork) -> HardTrees:
    """The best start of the moment, as a batch of one tree."""
    trees = network.hard_trees()
    loss = network.valid.loss(trees.predict(network.valid.x))
    return trees.take(np.argmin(loss))


def _better_trees(
    before: HardTrees, after: HardTrees, is_better: np.ndarray, rows: Rows
) -> HardTrees:
    """Of each start (E,) the tree after a stage where it is better, else before."""
    return HardTrees.fit(
        np.where(is_better[:, None, None], after.weights, before.weights),
        np.where(is_better[:, None], after.threshold, before.threshold),
        rows,
        linear=before.linear is not None,
    )


def distil_training_rows(fit: FitContext) -> Distilled | None:
    """Soft targets of the training rows, where the plan wants them."""
    if not fit.plan.n_bagged or fit.reports.stopped:
        return None
    # Drawn here, so that it is the same with and without polish.
    seed = int(fit.rng.integers(2**31))
    distilled = distil(
        fit.rows, fit.plan.n_bagged, fit.rng, should_stop=fit.reports.should_stop
    )
    return None if distilled is None else replace(distilled, seed=seed)


def distil_all_rows(
    fit: FitContext, distilled: Distilled | None, all_rows: Rows
) -> Rows | None:
    """Soft targets of all rows, from an ensemble grown as that of training rows was."""
    if distilled is None or fit.reports.stopped:
        return None
    if all_rows is fit.rows:
        return distilled.rows
    rng = np.random.default_rng(distilled.seed)
    again = distil(all_rows, fit.plan.n_bagged, rng, growths=(distilled.growth,))
    return None if again is None else again.rows


def grow(fit: FitContext, trained: HardTrees, rows: Rows) -> HardTrees:
    """Grow the best trained trees and greedy ones on; prune; return the best.

    ``rows`` are the training rows, or these with soft targets and synthetic rows.
    """
    plan = fit.plan
    n_grown = min(plan.budget.n_grown, len(trained.weights))
    tops = [(trained.weights[e], trained.threshold[e]) for e in range(n_grown)]
    if fit.reports.stopped:
        return prune_by_validation(tree_of(fit, tops[0], rows), rows, fit.valid)[0]
    candidates = list(_growths(plan, tops))
    best, best_loss = trained, math.inf
    for number, (growth, top) in enumerate(candidates, start=1):
        splits = grow_splits(fit, rows, plan.depth, growth, top)
        tree, loss = prune_by_validation(tree_of(fit, splits, rows), rows, fit.valid)
        if number == 1 or loss < best_loss:
            best, best_loss = tree, loss
        losses = fit.losses(best)[0], best_loss
        if fit.reports.report_later(
            number / len(candidates) / 4, "growth", best, losses
        ):
            break
    return best


def _growths(
    plan: FitPlan, tops: list[Splits]
) -> Iterator[tuple[Growth, Splits | None]]:
    """Growths to try: from the root by single columns or sums of them, below tops."""
    growths = GROWTHS[plan.linear][: plan.budget.n_leaf_sizes]
    if not plan.linear:
        for growth in growths:
            yield replace(growth, oblique=False), None
    for top in (None, *tops):
        for growth in growths:
            yield growth, top


def grow_splits(
    fit: FitContext, rows: Rows, depth: int, growth: Growth, top: Splits | None = None
) -> Splits:
    """Grow splits greedily on rows, for constant or for linear leaves."""
    if isinstance(growth, LinearGrowth):
        return linear_splits(rows.x, rows.y, depth, fit.rng, growth=growth, top=top)
    return greedy_splits(
        rows.x, rows.target, rows.weight, depth, fit.rng, growth=growth, top=top
    )


def tree_of(fit: FitContext, splits: Splits, rows: Rows) -> HardTrees:
    """A batch of one tree of these splits, its leaves from rows."""
    weights, threshold = splits
    return HardTrees.fit(weights[None], threshold[None], rows, linear=fit.plan.linear)


def n_polish_rounds(plan: FitPlan, *, is_distilled: bool) -> int:
    """Rounds of polish; a distilled tree has little to gain from it."""
    if not plan.settings.polish:
        return 0
    rounds = plan.budget.polish_rounds
    return math.ceil(rounds / 2) if is_distilled else rounds


def polish(fit: FitContext, tree: HardTrees, rows: Rows, n_rounds: int) -> HardTrees:
    """Polish level by level, bottom up: section 4.3 and algorithm 2.

    A level is taken where the training loss does not rise, as in the paper, and the
    validation loss falls.
    """
    losses = fit.losses(tree)
    n_levels = n_rounds * tree.depth

    def done(n_done: float) -> float:
        """Fraction of growth and polish, of which growth is a quarter."""
        return (1 + 3 * n_done / n_levels) / 4

    def should_stop(n_done: int, of_level: float) -> bool:
        """Report after so many levels and a fraction of one."""
        return fit.reports.should_stop(done(n_done + of_level))

    for turn in range(n_rounds):
        improved = False
        for level in range(tree.depth - 1, -1, -1):
            n_done = turn * tree.depth + tree.depth - 1 - level
            polished = polish_level(
                tree,
                rows,
                level,
                fit.plan.budget.polish_steps,
                fit.plan.settings,
                fit.rng,
                should_stop=partial(should_stop, n_done),
            )
            after = fit.losses(polished)
            if after[1] < losses[1] and after[0] <= losses[0]:
                tree, losses, improved = polished, after, True
            if fit.reports.stopped:
                return tree
            fit.reports.report_later(done(n_done + 1), "polish", tree, losses)
        if not improved:
            break
    return tree
