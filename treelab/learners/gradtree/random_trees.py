"""Trees from random starts, for what greedy trees cannot see: splits that pay in pairs.

Small complete trees are trained from random starts in the folds that cross-validated
greedy trees. Where they lead clearly at a number of leaves, they go on on all rows.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from treelab.evaluation.pruning import pooled_scores
from treelab.learners.common.folds import assign_parts, repeated_folds
from treelab.learners.common.tuned_tree import Choice, path_sums
from treelab.learners.gradtree.network import HardTrees, Rows, train_trees
from treelab.learners.gradtree.starts import random_starts
from treelab.learners.gradtree.table import Table
from treelab.training.events import Monitor
from treelab.trees.pruning import (
    cost_complexity_path,
    prune_empty,
    within_one_standard_error,
)
from treelab.trees.tree import Tree

MOST_LEVELS = 3
N_SPLITS = 192  # in each fold: many small trees, as most fail
CLEAR = 2.0  # standard errors by which they must lead
FEWEST = 0.01  # of the rows: a smaller branch of theirs goes


@dataclass(frozen=True)
class RandomTrees:
    """Trees from random starts that were trained in folds."""

    # (Z, n_parts): at each number of leaves, of prunings of the best fit of each fold.
    fold_scores: np.ndarray
    # Over encoded columns, as they are and as they began, the best fit first.
    trees: list[Tree]
    began: list[Tree]


def train_in_folds(
    table: Table, monitor: Monitor, generator: torch.Generator
) -> tuple[RandomTrees, bool]:
    """Train random trees in five folds; return them, and whether a callback stopped."""
    settings = replace(table.settings, early_stopping=False)
    y, search, x = table.data.y, table.search, table.x
    groups = table.data.groups
    folds, *_ = repeated_folds(
        y, seed=search.seed, n_columns=table.data.frame.shape[1], groups=groups
    )
    levels = int(np.log2(settings.max_leaf_nodes))
    depth = min(MOST_LEVELS, settings.max_depth, levels)
    n_trees = N_SPLITS // (2**depth - 1)
    own = ~np.repeat(np.stack(folds), n_trees, axis=0)  # rows (E, n) that train each
    errors = partial(table.judge().errors, own=own)
    starts = random_starts(
        len(own), depth, x.shape[1], table.objective.n_outputs, generator
    )
    weight = table.row_weights * own * len(y) / own.sum(1)[:, None]
    each = table.data.row_weight
    rows = Rows(x, x, y, weight, errors)
    network = HardTrees(starts, rows, table.objective, settings, generator.device)
    result = train_trees(network, settings, monitor, generator)
    trees = [
        _without_small_branches(search.with_rows(tree, x, y, each), FEWEST * len(y))
        for tree in table.trees(network.arrays())
    ]
    error = errors(network.leaves())
    part = assign_parts(len(y), seed=search.seed, groups=groups)
    sums = []
    for fold, held in enumerate(folds):
        best = fold * n_trees + int(np.split(error, len(folds))[fold].argmin())
        seen = search.with_rows(trees[best], x[~held], y[~held], each[~held])
        path = cost_complexity_path(seen)
        held_out = x[held], y[held], part[held], each[held]
        sums.append(path_sums(path, held_out, search)[table.weighting])
    scores = pooled_scores(np.sum(sums, axis=0), search.scored_as)
    began, order = table.trees(starts), np.argsort(error, kind="stable")
    found = RandomTrees(scores, [trees[e] for e in order], [began[e] for e in order])
    return found, result.reason == "callback"


def with_random_trees(choice: Choice, found: RandomTrees) -> tuple[Choice, np.ndarray]:
    """Let random trees have the sizes at which they lead clearly; choose anew.

    Returns
    -------
    choice : Choice
    leads : bool array of shape (Z,)
        Sizes that random trees have.
    """
    lead = found.fold_scores - choice.fold_scores  # (Z, n_parts)
    error = lead.std(1, ddof=1) / np.sqrt(lead.shape[1])
    leads = lead.mean(1) > CLEAR * error
    scores = np.where(leads[:, None], found.fold_scores, choice.fold_scores)
    chosen, errors = within_one_standard_error(scores)
    choice = replace(choice, fold_scores=scores, chosen=chosen, standard_errors=errors)
    return choice, leads


def _without_small_branches(tree: Tree, least: float) -> Tree:
    """Return a tree whose branches of fewer rows give way to the other one."""
    n_rows = np.where(tree.n_rows < least, 0, tree.n_rows)
    return prune_empty(replace(tree, n_rows=n_rows))
