"""Which plan and class weights each number of leaves takes, by cross-validation."""

from dataclasses import dataclass

import numpy as np
import torch

from treelab.evaluation.pruned_scores import pooled_scores
from treelab.learners.common.folds import N_PARTS, scored_parts
from treelab.learners.gradtree.annealing import Plan, make_starts, plans_of, train
from treelab.learners.gradtree.encodings import (
    Encoding,
    cross_validation_folds,
)
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.selection import fold_sums
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.table import Table
from treelab.training.events import Monitor
from treelab.trees.pruning.size_path import within_one_standard_error
from treelab.trees.pruning.sizes import size_grid

CLEAR = 2.0  # standard errors
N_RESTARTS = 3  # of each plan and fold, at most


@dataclass(frozen=True)
class Choice:
    """What cross-validation settled for every number of leaves.

    Attributes
    ----------
    sizes : int array of shape (Z,)
    plans : list of Z Plan
        What trees are trained from, to be pruned to each size.
    weightings : list of Z int
        Row of ``TargetRows.weights``.
    scores, standard_errors : ndarray of shape (Z,)
        Macro F1 or R²; NaN where there were too few rows to hold any out.
    chosen : int
        The smallest within one standard error of the best.
    n_folds : int
    stopped : bool, default=False
        Whether a callback asked to stop.
    """

    sizes: np.ndarray
    plans: list[Plan]
    weightings: list[int]
    scores: np.ndarray
    standard_errors: np.ndarray
    chosen: int
    n_folds: int
    stopped: bool = False

    @property
    def best(self) -> tuple[Plan, int]:
        """Plan and weighting of the chosen size."""
        return self.plans[self.chosen], self.weightings[self.chosen]


def cross_validate(
    table: Table,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
    random: np.random.RandomState,
) -> Choice:
    """Train every plan in every fold; score what is retained of it at every size."""
    sizes, plans = size_grid(settings.max_leaf_nodes), plans_of(settings)
    y = table.target.y
    folds = cross_validation_folds(y, by_class=table.by_class, seed=table.seed)
    if not folds:
        plan = max((p for p in plans if p.kind == "greedy"), key=lambda p: p.size)
        nothing = np.full(len(sizes), np.nan)
        of_size = [plan] * len(sizes), [0] * len(sizes)
        return Choice(sizes, *of_size, nothing, nothing, len(sizes) - 1, 0)
    encodings = [table.encode(held_out) for held_out in folds]
    starts = make_starts(
        encodings,
        y,
        table.values,
        plans,
        min(N_RESTARTS, settings.n_restarts),
        settings,
        random,
    )
    trees, stopped = train(
        encodings, starts, y, table.objective, settings, monitor, generator
    )
    hard = trees.hard_trees()
    parts = scored_parts(folds, N_PARTS // len(folds), table.seed)
    sums = []
    for fold, encoding in enumerate(encodings):
        by_plan: dict[Plan, list[HardTree]] = {plan: [] for plan in plans}
        for tree, start in zip(hard, starts):
            if start.encoding == fold:
                by_plan[start.plan].append(tree)
        sums.append(_fold_sums(table, by_plan, encoding, parts[fold], sizes))
    scores = pooled_scores(np.concatenate(sums), table.task)
    n_weightings = scores.shape[1]
    best = _best(scores, np.array([plan.kind == "random" for plan in plans]))
    scores = scores.reshape(-1, *scores.shape[2:])  # (plans * W, Z, parts)
    of_best = scores[best, np.arange(len(sizes))]
    chosen, errors = within_one_standard_error(of_best)
    return Choice(
        sizes=sizes,
        plans=[plans[i // n_weightings] for i in best],
        weightings=[int(i % n_weightings) for i in best],
        scores=of_best.mean(1),
        standard_errors=errors,
        chosen=chosen,
        n_folds=len(folds),
        stopped=stopped,
    )


def _fold_sums(
    table: Table,
    by_plan: dict[Plan, list[HardTree]],
    encoding: Encoding,
    parts: list[np.ndarray],
    sizes: np.ndarray,
) -> np.ndarray:
    """Sums (parts, plans, W, Z, 2, C) of what one fold retains of each plan."""
    sums: list[np.ndarray] = []
    for plan, trees in by_plan.items():
        if not trees:  # the rows fill no more leaves than those of the plan before
            sums.append(sums[-1])
            continue
        of_plan = fold_sums(
            table.target, trees, encoding, parts, sizes, by_vote=plan.by_vote
        )
        sums.append(of_plan)
    return np.stack(sums, axis=1)


def _best(scores: np.ndarray, is_random: np.ndarray) -> np.ndarray:
    """Best plan and weighting of each size, as an index into both, int (Z,).

    A random start is taken where its score is two standard errors above that of the
    best greedy one: with so many to choose from, less is luck.

    Parameters
    ----------
    scores : ndarray of shape (plans, W, Z, parts)
    is_random : bool array of shape (plans,)
    """
    n_weightings, n_sizes, n_parts = scores.shape[1:]
    flat = scores.reshape(-1, n_sizes, n_parts)
    mean = flat.mean(-1)
    random = np.repeat(is_random, n_weightings)[:, None]
    greedy = np.where(random, -np.inf, mean).argmax(0)
    if not is_random.any():
        return greedy
    rival = np.where(random, mean, -np.inf).argmax(0)
    size = np.arange(n_sizes)
    lead = flat[rival, size] - flat[greedy, size]  # (Z, parts)
    error = lead.std(-1, ddof=1) / np.sqrt(n_parts)
    return np.where(lead.mean(-1) > CLEAR * error, rival, greedy)
