"""From starts to a tree: stages of training, polish, growth, fewer columns, sizes.

Source: Mao and Cao, "Can a Single Tree Outperform an Entire Forest?",
arXiv:2411.17003. ``train_stages`` is algorithm 1, ``polish`` algorithm 2. Growth below
the trained levels, leaving columns out and pruning are ours.

Shapes: E trees, N splits and L leaves breadth first, S sizes, n rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from treelab.evaluation.metrics import confusion_matrix, macro_f1, macro_f1_error
from treelab.learners.get.network import GetNetwork, standardise_margins
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.starts import Splits, greedy_splits, initial_splits
from treelab.learners.get.trees import HardTrees, Rows
from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, cosine_decay, train
from treelab.trees.feature import Feature
from treelab.trees.pruning import (
    N_COLUMNS,
    SMALLEST,
    approximations,
    cost_complexity_path,
    size_grid,
    steps_at,
    within_one_standard_error,
)
from treelab.trees.tree import Tree

N_EVALUATIONS = 15  # of the hard loss in a stage

Scores = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Leaves, scores and standard errors (S,) of trees of all sizes."""


@dataclass
class Search:
    """What every step of one fit needs."""

    # Training rows, and those that choose.
    rows: Rows
    valid: Rows
    settings: GetSettings
    depth: int  # most splits on a path
    rng: np.random.Generator
    monitor: Monitor  # of the step under way
    # Turns a batch of one tree into what a report shows.
    export: Callable[[HardTrees], Tree]
    free: np.ndarray | None = None  # bool (N, F): weights that may move; None: all
    # Whether a callback asked to stop: the best tree so far is then returned.
    stopped: bool = False

    def should_stop(self) -> bool:
        """Report that the fit goes on, if that is due; return ``stopped``."""
        if self.monitor.is_due():
            self.stopped |= self.monitor.notify(0.0, math.nan, math.nan)
        return self.stopped


def initial_trees(
    search: Search, rows: Rows, depth: int, warm: Splits | None = None
) -> tuple[HardTrees, list[str]]:
    """Trees where training starts, and how each was made: line 5 of algorithm 1.

    A warm start comes in the place of the second.
    """
    found, kinds = [], []
    for number in range(max(search.settings.n_starts, 1 + (warm is not None))):
        splits, kind = initial_splits(
            rows, depth, search.rng, number, search.settings.init
        )
        found.append(warm if number == 1 and warm is not None else splits)
        kinds.append(kind)
        if search.should_stop():
            break
    weights, threshold = map(np.stack, zip(*found))
    return HardTrees.fit(weights, threshold, rows), kinds


def train_stages(
    search: Search, starts: HardTrees, rows: Rows, judges: Rows, *, reports: bool = True
) -> tuple[HardTrees, float, int]:
    """Train all starts on rows, stage by stage: lines 6 to 16 of algorithm 1.

    What a stage with small scale factors found is where the next, with larger ones,
    begins (section 4.1, iterative scaled sigmoid approximation). The hard loss on
    ``judges`` chooses the step. Returned are the tree of the lowest, of all steps and
    never a start, as a batch of one, that loss, and which start it began as.
    """
    settings, stages = search.settings, search.settings.stages
    n_epochs, monitors = settings.stage_epochs(len(rows.x)), []
    generator = torch.Generator(rows.device)
    generator.manual_seed(int(search.rng.integers(2**31)))
    trees, tree, lowest, start = starts, starts.take(0), np.inf, 0
    for number, (low, high) in enumerate(stages, start=1):
        if search.stopped and number > 1:
            break
        checkpointers = search.monitor.checkpointers
        monitor = Monitor(n_epochs, [lambda _: search.should_stop(), *checkpointers])
        if reports:
            search.monitor = monitor = search.monitor.next_stage(
                f"stage {number} of {len(stages)}",
                n_epochs * (len(stages) - number + 1),
                snapshot=partial(search.export, trees.take(0)),
            )
            monitors.append(monitor)
            if number == 1:
                before = (on.loss(starts.predict(on.x)) for on in (rows, judges))
                search.stopped |= monitor.report(0, *before)
        scale_factor = search.rng.uniform(low, high, len(trees.weights))
        trees = standardise_margins(trees, rows)
        network = GetNetwork(trees, scale_factor, rows, judges, settings)
        losses = _train_stage(search, network, n_epochs, generator, monitor)
        trees, leader = network.hard_trees(), int(np.argmin(losses))
        if losses[leader] < lowest:
            tree, lowest, start = trees.take(leader), float(losses[leader]), leader
    for monitor in monitors:  # the curve of this start, in place of the leaders'
        shown = {0.0: starts.take(start), monitor.history[-1][0]: tree}
        exports = {at: partial(search.export, t) for at, t in shown.items()}
        monitor.retain(start, exports)
    return tree, lowest, start


def _train_stage(
    search: Search,
    network: GetNetwork,
    n_epochs: int,
    generator: torch.Generator,
    monitor: Monitor,
) -> np.ndarray:
    """Train all starts to their best step, lines 9 to 11; return its hard loss (E,)."""
    settings, n_rows = search.settings, len(network.rows.x)
    n_epochs = 1 if search.stopped else n_epochs
    if search.free is not None:
        network.hold(search.free)

    def leading_tree() -> Tree:
        leader = int(network.valid_loss().nan_to_num(np.inf).argmin())
        return search.export(network.hard_trees().take(leader))

    monitor.snapshot = leading_tree
    optimizer = network.optimizer()
    n_steps = n_epochs * settings.n_batches(n_rows)
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
        monitor=monitor,
        scheduler=cosine_decay(optimizer, n_steps, warm_up=0.1, lowest=1e-3),
    )
    search.stopped |= result.reason == "callback"
    return result.best_loss.cpu().numpy().astype(np.float64)


def tuned_depth(search: Search) -> int:
    """The depth of lowest loss on held-out rows, to the paper's 12 (section 5.1)."""
    losses = []
    for depth in range(1, search.settings.trained_depth + 1):
        starts, _ = initial_trees(search, search.rows, depth)
        tree, *_ = train_stages(search, starts, search.rows, search.rows, reports=False)
        tree = polish(search, tree)
        losses.append(float(search.valid.loss(tree.predict(search.valid.x))[0]))
        if search.stopped:
            break
    return 1 + int(np.argmin(losses))


def polish(search: Search, tree: HardTrees) -> HardTrees:
    """Train one subtree after another, from the root: algorithm 2.

    The paper's GET-Linear is not polished (appendix F).
    """
    rows = search.rows
    if not search.settings.polish or rows.linear:
        return tree
    loss = rows.loss(tree.predict(rows.x))[0]
    for split in range(2**tree.depth - 1):
        if search.should_stop():
            break
        level = (split + 1).bit_length() - 1
        own = rows.take(tree.nodes_at(rows.x, level) == split - (2**level - 1))
        if len(own.y) <= 1 or np.ptp(own.y, axis=0).max() == 0:  # line 6
            continue
        splits = subtree_splits(split, tree.depth - level)
        warm = tree.weights[0, splits], tree.threshold[0, splits]
        starts, _ = initial_trees(search, own, tree.depth - level, warm)
        best, _, _ = train_stages(search, starts, own, own, reports=False)
        found = tree.with_splits(splits, best.weights[0], best.threshold[0], rows)
        after = rows.loss(found.predict(rows.x))[0]
        if after < loss:
            tree, loss = found, after
    return tree


def subtree_splits(root: int, depth: int) -> np.ndarray:
    """Splits of the subtree of this depth under a split, breadth first."""
    levels = [np.array([root])]
    while len(levels) < depth:
        levels.append((2 * levels[-1][:, None] + [1, 2]).ravel())
    return np.concatenate(levels)


def grow(search: Search, tree: HardTrees) -> HardTrees:
    """Grow a trained tree to full depth, pruned for the lowest validation loss."""
    if search.depth <= tree.depth or search.should_stop():
        return tree
    rows, valid, top = search.rows, search.valid, (tree.weights[0], tree.threshold[0])
    weights, threshold = greedy_splits(rows, search.depth, search.rng, top=top)
    grown = HardTrees.fit(weights[None], threshold[None], rows)
    return prune_by_validation(grown, rows, valid)


def prune_by_validation(tree: HardTrees, rows: Rows, valid: Rows) -> HardTrees:
    """Prune a batch of one tree for the lowest validation loss."""
    found = subtrees(tree, rows)
    losses = [valid.loss(each.predict(valid.x))[0] for each in found]
    return found[_telling(found, int(np.argmin(losses)), rows)]


def _telling(found: list[HardTrees], chosen: int, rows: Rows) -> int:
    """The next larger tree where a chosen one has the same class for every row.

    Squared errors hardly tell a constant from a tree where one class is rare.
    """
    is_constant = bool(rows.n_classes) and found[chosen].n_leaves == 1
    return chosen + (is_constant and len(found) > 1)


def leave_columns_out(search: Search, tree: HardTrees) -> HardTrees:
    """Leave columns out of the splits while the loss stays within the tolerance."""
    tolerance = search.settings.sparse_tolerance
    if tolerance == 0:
        return tree
    sparse = sparse_splits(tree, search.rows, search.valid, tolerance)
    return sparse if (sparse.weights != tree.weights).any() else tree


STEPS = {
    "polish": polish,
    "growth below the trained levels": grow,
    "leaving columns out of splits": leave_columns_out,
}
"""After training, in this order; each returns the very tree that it does not change."""


def subtrees(trees: HardTrees, rows: Rows) -> list[HardTrees]:
    """Cost-complexity subtrees of a batch of one tree, ascending in leaves.

    The smallest is one leaf; beyond it there is one for each size of ``size_grid``.
    Splits fall by the loss on these rows, from which the leaves are computed, too.
    """
    n_splits = trees.threshold.shape[1]
    retained = np.isfinite(trees.threshold[0])
    losses, n_rows = [], []
    for level in range(trees.depth + 1):
        cut = trees.cut_to(retained[: 2**level - 1], rows)
        losses.append(cut.node_losses(rows, level))
        n_rows.append(np.bincount(trees.nodes_at(rows.x, level), minlength=2**level))
    reached = np.concatenate(n_rows)
    nothing = np.zeros(n_splits)
    tree = replace(
        Tree.complete(
            (Feature("any"),), nothing, nothing, nothing > 0, np.zeros(n_splits + 1)
        ),
        n_rows=reached,
        impurity=np.concatenate(losses) / np.maximum(reached, 1),
    )
    path = cost_complexity_path(tree)
    steps = [len(path) - 1, *steps_at(path, size_grid(path.n_leaves[0])), 0]
    left = {}  # splits by their number
    for step in steps:
        own = retained & (path.step[:n_splits] > step)
        left[int(own.sum())] = own
    found = []
    for number in sorted(left):
        depth = int(np.flatnonzero(left[number]).max(initial=0) + 1).bit_length()
        found.append(trees.cut_to(left[number][: 2**depth - 1], rows))
    return found


def choose_sizes(
    tree: HardTrees,
    rows: Rows,
    valid: Rows,
    settings: GetSettings,
    weight: np.ndarray | None = None,
    cost_of: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> tuple[list[HardTrees], Scores, int, str]:
    """Prune a batch of one tree to all sizes, and choose one.

    Chosen is the smallest tree whose mean validation loss is within one standard error
    of the best one's, of classes no constant; with ``max_leaf_nodes`` the best of those
    that are small enough. Where rows were held out for the depth alone, it is the tree
    as it was trained. ``weight`` (n_valid,) is that of each validation row in the
    scores, whatever its class. Where errors have costs ``cost_of`` returns those of
    predictions (n, C) for rows of these classes (n,), which then are the loss.

    Returns the trees, ascending in leaves, their scores, which tree is chosen, and by
    which rule, "" where a limit bounds it: of classes the scores are not the loss.
    """
    found, limit = subtrees(tree, rows), settings.max_leaf_nodes
    n_leaves = np.array([each.n_leaves for each in found])
    fits = n_leaves <= (np.inf if limit is None else limit)
    if settings.tunes == "depth":
        unknown = np.full(len(found), np.nan)
        return found, (n_leaves, unknown, unknown), int(np.flatnonzero(fits)[-1]), ""
    predicted = [each.predict(valid.x)[0] for each in found]
    lost = np.array([valid.row_loss(each) for each in predicted])  # (S, n)
    if cost_of is not None:
        own = np.ones(len(valid.y)) if weight is None else weight
        lost = own * np.array([cost_of(each, valid.y) for each in predicted])
    gain = -lost
    smallest = within_one_standard_error(gain)[0]
    chosen = _telling(found, smallest, rows)
    if limit is not None:
        chosen = int(np.where(fits, gain.mean(1), -np.inf).argmax())
    rule = SMALLEST if chosen == smallest else ""
    if cost_of is None:
        if rule and valid.n_classes:
            rule += " of the lowest loss"
        return found, scores_of(found, valid, weight), chosen, rule
    # What each saves of the cost of the smallest, which is one leaf.
    saved = 1 - lost / (lost[0].mean() or np.nan)
    errors = saved.std(1) / np.sqrt(len(valid.y))
    return found, (n_leaves, saved.mean(1), errors), chosen, rule


def scores_of(
    found: list[HardTrees],
    valid: Rows,
    weight: np.ndarray | None,
    shift: np.ndarray | float = 1.0,
) -> Scores:
    """Score trees of all sizes; predictions are multiplied by ``shift`` (C,) before."""
    predicted = [shift * each.predict(valid.x)[0] for each in found]
    scores, errors = np.transpose([_score(own, valid, weight) for own in predicted])
    return np.array([each.n_leaves for each in found]), scores, errors


def _score(
    predicted: np.ndarray, valid: Rows, weight: np.ndarray | None
) -> tuple[float, float]:
    """D² or macro F1 of predictions (n, C) for the rows, and its standard error."""
    if valid.n_classes:
        called = predicted.argmax(1)
        confusion = confusion_matrix(valid.y, called, valid.n_classes, weight)
        own = np.ones(len(called)) if weight is None else weight
        n_rows = round(own.sum() ** 2 / (own @ own))  # weighted alike, as unsteady
        return float(macro_f1(confusion)), macro_f1_error(confusion, n_rows)
    weight = np.ones(len(valid.y)) if weight is None else weight / weight.mean()
    loss, together = valid.loss_of_rows, np.zeros(len(valid.y), dtype=np.int64)
    constant = loss.constants(together, valid.y, weight, 1)
    of_constant = np.mean(weight * loss.by_row(constant + 0 * valid.y, valid.y))
    if of_constant == 0:
        return np.nan, np.nan
    if valid.y.ndim == 1:
        predicted = predicted[:, 0]
    explained = 1 - weight * loss.by_row(predicted, valid.y) / of_constant
    return explained.mean(), explained.std() / np.sqrt(len(explained))


def sparse_splits(
    trees: HardTrees, rows: Rows, valid: Rows, tolerance: float
) -> HardTrees:
    """Leave columns out of the splits while the loss stays within bounds.

    Level by level from the bottom, each split's sum is approximated with few columns,
    their weights refitted, and the leaves are recomputed from ``rows``. The fewest
    columns are taken with which the loss of the split's own rows, training and
    validation, rises by no more than this fraction.
    """
    both = rows.join(valid)
    for level in range(trees.depth - 1, -1, -1):
        bound = (1 + tolerance) * trees.node_losses(both, level)
        trees = _sparse_level(trees, rows, both, bound)
    return trees


def _sparse_level(
    trees: HardTrees, rows: Rows, both: Rows, bound: np.ndarray
) -> HardTrees:
    """Give splits the fewest columns that keep each node's loss (2**level,) bounded."""
    first, level = len(bound) - 1, len(bound).bit_length() - 1
    node = trees.nodes_at(rows.x, level)
    waiting = {
        int(at): approximations(rows.x[node == at], trees.weights[0, first + at])
        for at in np.unique(node)
        if np.count_nonzero(trees.weights[0, first + at]) > 1
    }
    for step in range(len(N_COLUMNS)):
        waiting = {at: sums for at, sums in waiting.items() if len(sums) > step}
        if not waiting:
            break
        nodes = np.array([*waiting])
        weights, lacking = zip(*[sums[step] for sums in waiting.values()])
        threshold = trees.threshold[0, first + nodes] - lacking
        tried = trees.with_splits(first + nodes, weights, threshold, rows)
        within = tried.node_losses(both, level)[nodes] <= bound[nodes]
        trees = trees.with_splits(
            first + nodes[within], np.array(weights)[within], threshold[within], rows
        )
        waiting = {at: waiting[at] for at in nodes[~within].tolist()}
    return trees
