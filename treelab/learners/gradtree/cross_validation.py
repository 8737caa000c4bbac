"""Which plan and class weights each number of leaves takes, by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from treelab.evaluation.pruning import pooled_scores
from treelab.learners.common.folds import assign_parts
from treelab.learners.gradtree.annealing import (
    LEAF_SIZES,
    Plan,
    make_starts,
    plans_of,
    start_rows,
    train,
)
from treelab.learners.gradtree.encodings import (
    Encoding,
    cross_validation_folds,
)
from treelab.learners.gradtree.hard_tree import HardTree
from treelab.learners.gradtree.selection import fold_sums
from treelab.learners.gradtree.settings import GradTreeSettings
from treelab.learners.gradtree.table import Table
from treelab.training.events import Monitor
from treelab.trees.pruning import size_grid, within_one_standard_error

CLEAR = 2.0  # standard errors
N_RESTARTS = 3  # of each plan, at most, spread over the repeats of the folds


@dataclass(frozen=True)
class Choice:
    """What cross-validation settled for every number of leaves.

    Attributes
    ----------
    sizes : int array of shape (Z,)
    plans : list of Z Plan
        What trees are trained from, to be pruned to each size.
    weighting : int
        Row of ``TargetRows.weights``, for all sizes.
    scores, standard_errors : ndarray of shape (Z,)
        Macro F1 or R²; NaN where there were too few rows to hold any out.
    chosen : int
        The smallest within one standard error of the best.
    n_folds : int
    leaf_size : int
        Fewest rows in a leaf of the greedy starts.
    stopped : bool, default=False
        Whether a callback asked to stop.
    """

    sizes: np.ndarray
    plans: list[Plan]
    weighting: int
    scores: np.ndarray
    standard_errors: np.ndarray
    chosen: int
    n_folds: int
    leaf_size: int
    stopped: bool = False

    @property
    def plan(self) -> Plan:
        """Plan of the chosen size."""
        return self.plans[self.chosen]


def cross_validate(
    table: Table,
    settings: GradTreeSettings,
    monitor: Monitor,
    generator: torch.Generator,
    random: np.random.RandomState,
) -> Choice:
    """Train every plan in every fold; score what is retained of it at every size."""
    sizes, plans = size_grid(settings.max_leaf_nodes), plans_of(settings)
    folds = cross_validation_folds(
        table.target.y,
        by_class=table.by_class,
        seed=table.seed,
        n_columns=table.frame.shape[1],
    )
    if not folds:
        plan = max((p for p in plans if p.kind == "greedy"), key=lambda p: p.size)
        nothing = np.full(len(sizes), np.nan)
        last = len(sizes) - 1
        return Choice(sizes, [plan] * len(sizes), 0, nothing, nothing, last, 0, 1)
    y = table.target.y
    n_restarts = max(len(folds), min(N_RESTARTS, settings.n_restarts))
    encodings = [
        replace(table.encode(held_out), restarts=range(repeat, n_restarts, len(folds)))
        for repeat, of_repeat in enumerate(folds)
        for held_out in of_repeat
    ]
    part = assign_parts(len(y), seed=table.seed)
    leaf_size = _best_leaf_size(table, encodings, part, sizes, settings, random)
    starts = make_starts(
        encodings, y, table.values, plans, n_restarts, settings, random, [leaf_size]
    )
    trees, stopped = train(
        encodings, starts, y, table.objective, settings, monitor, generator
    )
    hard, sums = trees.hard_trees(), []
    for fold, encoding in enumerate(encodings):
        by_plan: dict[Plan, list[HardTree]] = {plan: [] for plan in plans}
        for tree, start in zip(hard, starts):
            if start.encoding == fold:
                by_plan[start.plan].append(tree)
        sums.append(_fold_sums(table, by_plan, encoding, part, sizes))
    total = np.sum(sums, axis=0)
    is_random = [plan.kind == "random" for plan in plans]
    total[:, is_random] *= len(folds)  # as if they were in each repeat
    scores = pooled_scores(total, table.task)
    weighting, best = _best(scores, plans, sizes)
    of_best = scores[best, weighting, np.arange(len(sizes))]
    chosen, errors = within_one_standard_error(of_best)
    return Choice(
        sizes=sizes,
        plans=[plans[place] for place in best],
        weighting=weighting,
        scores=of_best.mean(1),
        standard_errors=errors,
        chosen=chosen,
        n_folds=len(folds[0]),
        leaf_size=leaf_size,
        stopped=stopped,
    )


def _best_leaf_size(
    table: Table,
    encodings: Sequence[Encoding],
    part: np.ndarray,
    sizes: np.ndarray,
    settings: GradTreeSettings,
    random: np.random.RandomState,
) -> int:
    """Choose the fewest rows in a leaf with which greedy trees predict best.

    As a tuned CART chooses it: by the best score at any size. Untrained trees stand in
    for trained ones, as they cost next to nothing.
    """
    sums = []
    for encoding in encodings:
        rows = start_rows(encoding, table.target.y, table.values, settings)
        grown = (
            rows.grow(settings.max_leaf_nodes, leaf_size, rows.weight, random)
            for leaf_size in LEAF_SIZES
        )
        of_size = [
            fold_sums(table.target, [tree], encoding, part, sizes, by_vote=True)
            for tree in grown
        ]
        sums.append(np.stack(of_size, axis=1))
    scores = pooled_scores(np.sum(sums, axis=0), table.task).mean(-1)
    return LEAF_SIZES[int(scores.max((1, 2)).argmax())]


def _fold_sums(
    table: Table,
    by_plan: dict[Plan, list[HardTree]],
    encoding: Encoding,
    part: np.ndarray,
    sizes: np.ndarray,
) -> np.ndarray:
    """Sums (parts, plans, W, Z, 2, C) of what one fold retains of each plan."""
    sums: list[np.ndarray] = []
    for plan, trees in by_plan.items():
        if not trees:
            # Random starts are in the first repeat; of greedy ones the rows fill no
            # more leaves than those of the plan before.
            sums.append(sums[-1] * (plan.kind == "greedy"))
            continue
        of_plan = fold_sums(
            table.target, trees, encoding, part, sizes, by_vote=plan.by_vote
        )
        sums.append(of_plan)
    return np.stack(sums, axis=1)


def _best(
    scores: np.ndarray, plans: list[Plan], sizes: np.ndarray
) -> tuple[int, np.ndarray]:
    """Choose the weighting that scores best over all sizes, and each size's plan.

    Few choices are made, as each that follows a small table's folds follows their luck:
    a size is pruned from greedy starts trained with the next power of two, unless a
    random start's score is two standard errors above theirs.

    Parameters
    ----------
    scores : ndarray of shape (plans, W, Z, parts)

    Returns
    -------
    weighting : int
    best : int array of shape (Z,)
        Place of each size's plan.
    """
    greedy = [place for place, plan in enumerate(plans) if plan.kind == "greedy"]
    weighting = int(scores[greedy].mean((0, 2, 3)).argmax())
    own = scores[:, weighting]
    largest = np.array([plans[place].size for place in greedy])
    best = np.array(greedy)[np.searchsorted(largest, sizes)]
    for place in np.setdiff1d(np.arange(len(plans)), greedy):
        lead = own[place] - own[best, np.arange(len(sizes))]  # (Z, parts)
        error = lead.std(-1, ddof=1) / np.sqrt(lead.shape[1])
        best = np.where(lead.mean(-1) > CLEAR * error, place, best)
    return weighting, best
