"""GET as the paper has it: what ``recipe="paper"`` trains.

Source: Mao and Cao, arXiv:2411.17003, algorithms 1 and 2, appendices C to F. Every
epoch is a step on all rows, the loss is equation 3, all levels are trained together,
and the tree with the lowest hard loss on the training rows is taken. What the paper
leaves open is as in its own program (get-oblique 0.1.1): the first start is CART, the
others have weights and thresholds from -1 to 1.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

from treelab.learners.get.fit import Fit, Found
from treelab.learners.get.network import GetNetwork
from treelab.learners.get.polish import subtree_splits
from treelab.learners.get.prune import NO_SHRINKAGE
from treelab.learners.get.rows import Rows, join_rows
from treelab.learners.get.settings import MAX_DEPTH
from treelab.learners.get.starts import Growth, Splits, greedy_splits
from treelab.learners.get.trees import HardTrees
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, train

CART = Growth(min_samples_leaf=1, oblique=False, max_rows=10**9)


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit_paper_tree(fit: Fit, *, tune_depth: bool) -> Found:
    """Train a tree of ``fit.depth``, or of the depth that validation prefers.

    The depth is tuned from 1 to 12 (section 5.1); the tree is then trained anew on
    training and validation rows together (appendix F.1).
    """
    if tune_depth:
        losses = []
        for depth in range(1, MAX_DEPTH + 1):
            tree, _, _ = _polished_tree(fit, fit.rows, depth, reports=False)
            losses.append(float(fit.valid.loss(tree.predict(fit.valid.x))[0]))
            if fit.stopped:
                break
        fit.depth = 1 + int(np.argmin(losses))
    rows = join_rows(fit.rows, fit.valid)
    tree, start, kind = _polished_tree(fit, rows, fit.depth, reports=True)
    later = ("polish",) * _polishes(fit)
    return Found(tree, tree, start, kind, rows, fit.valid, later)


def _polishes(fit: Fit) -> bool:
    """Whether subtrees are polished; the paper's GET-Linear's are not (appendix F)."""
    return fit.settings.polish and not fit.settings.linear


def _polished_tree(
    fit: Fit, rows: Rows, depth: int, *, reports: bool
) -> tuple[HardTrees, HardTrees, str]:
    """The tree, its start and the start's kind: algorithm 2."""
    starts = _starts(fit, rows, depth, None)
    trained, losses, monitors = _train(fit, rows, starts, reports=reports)
    best = int(np.argmin(losses))
    for monitor in monitors:
        monitor.retain(best, {0.0: partial(fit.export, starts.take(best))})
    tree, loss = trained.take(best), losses[best]
    if _polishes(fit):
        for split in range(2**depth - 1):  # breadth first, from the root
            if fit.should_stop():
                break
            tree, loss = _polish_subtree(fit, rows, tree, loss, split)
    return tree, starts.take(best), "greedy" if best == 0 else "random"


def _polish_subtree(
    fit: Fit, rows: Rows, tree: HardTrees, loss: float, split: int
) -> tuple[HardTrees, float]:
    """Train the subtree under a split, and take it where the whole loss falls."""
    level = (split + 1).bit_length() - 1
    root = split - (2**level - 1)
    reached = tree.nodes_at(rows.x, level) == root
    if reached.sum() <= 1 or np.ptp(rows.y[reached]) == 0:
        return tree, loss
    own = replace(
        rows, x=rows.x[reached], y=rows.y[reached], weight=rows.weight[reached]
    )
    splits = subtree_splits(tree.depth, level)[root]
    warm = tree.weights[0, splits], tree.threshold[0, splits]
    starts = _starts(fit, own, tree.depth - level, warm)
    trained, losses, _ = _train(fit, own, starts, reports=False)
    best = int(np.argmin(losses))
    found = tree.with_splits(
        splits, trained.weights[best], trained.threshold[best], rows
    )
    after = float(rows.loss(found.predict(rows.x))[0])
    return (found, after) if after < loss else (tree, loss)


def _starts(fit: Fit, rows: Rows, depth: int, warm: Splits | None) -> HardTrees:
    """CART, the warm start where there is one, and random trees: line 5."""
    found = [greedy_splits(rows, depth, fit.rng, growth=CART)]
    found += [] if warm is None else [warm]
    while len(found) < fit.settings.n_starts:
        shape = 2**depth - 1, rows.x.shape[1]
        found.append((fit.rng.uniform(-1, 1, shape), fit.rng.uniform(-1, 1, shape[0])))
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(
        weights,
        threshold,
        rows,
        linear=fit.settings.linear,
        shrinkage=NO_SHRINKAGE,
    )


def _train(
    fit: Fit, rows: Rows, trees: HardTrees, *, reports: bool
) -> tuple[HardTrees, np.ndarray, list[Monitor]]:
    """Train all starts with ascending scale factors: lines 6 to 16 of algorithm 1.

    Returns the best tree of each start, their hard training losses and the monitors.
    """
    settings = fit.settings
    n_epochs = settings.stage_epochs(len(rows.x))
    best, lowest = trees, np.full(len(trees.weights), np.inf)
    monitors, generator = [], torch.Generator(rows.device).manual_seed(0)
    for number, (low, high) in enumerate(settings.stages, start=1):
        scale_factor = fit.rng.uniform(low, high, len(trees.weights))
        network = GetNetwork(
            trees, scale_factor, rows, rows, l1=settings.l1, of_leaves=True
        )
        monitor = Monitor(n_epochs, [lambda _: fit.should_stop()])
        if reports:
            left = n_epochs * (len(settings.stages) - number + 1)
            fit.next_stage(f"stage {number} of {len(settings.stages)}", left, trees)
            monitor = fit.monitor
            monitors.append(monitor)
            if number == 1:
                losses = rows.loss(trees.predict(rows.x))
                monitor.report(0, losses, losses)
        optimizer = network.optimizer(settings)
        result = train(
            network,
            optimizer,
            TrainingPlan(len(rows.x), len(rows.x), n_epochs, patience=n_epochs),
            generator=generator,
            monitor=monitor,
            scheduler=CosineAnnealingWarmRestarts(optimizer, n_epochs, eta_min=1e-6),
        )
        trees = network.hard_trees()
        losses = result.best_loss.cpu().numpy().astype(np.float64)
        better = losses < lowest
        best = HardTrees.fit(
            np.where(better[:, None, None], trees.weights, best.weights),
            np.where(better[:, None], trees.threshold, best.threshold),
            rows,
            linear=settings.linear,
            shrinkage=NO_SHRINKAGE,
        )
        lowest = np.minimum(lowest, losses)
        fit.stopped |= result.reason == "callback"
        if fit.stopped:
            break
    return best, lowest, monitors
