"""Node activity: which nodes of an argmin tree are pruned, and how far rows pass them.

Source: Zantedeschi, Kusner and Niculae, "Learning binary decision trees by argmin
differentiation", ICML 2021, arXiv:2010.04627. Equations are those of its first version,
"Learning binary trees via sparse relaxation", unless noted; its rows turn
left where their score is below 0, ours where it is at least 0.
"""

import torch
from torch import Tensor

from treelab.ops.activity_solve import solve_activity
from treelab.ops.traversal_numba import TraversalOnCpu, activity_on_cpu, traverse_on_cpu

MARGIN = 0.5  # the ridge program rewards a up to q + 1/2 (ICML version, its eq. 4)


def path_scores(split_score: Tensor) -> Tensor:
    """Path score q (E, T, B) of each row at each node: the lowest score on its path.

    q_it of eq. 1, with 1 in the place of an empty minimum, from split scores (E, N, B),
    breadth first; a row turns left where its score is at least 0. Of the T = 2 N + 1
    nodes the root has 1, each other the smaller of its parent's score and that of the
    turn. At most 1; positive on the row's own path alone.

    Raises ValueError if N is not ``2**depth - 1``.
    """
    n_trees, n_splits, n_rows = split_score.shape
    if n_splits & (n_splits + 1):
        raise ValueError(f"A complete tree has 2**depth - 1 splits, got {n_splits}.")
    level = split_score.new_ones(n_trees, 1, n_rows)
    levels = [level]
    for first in _level_starts(n_splits):
        score = split_score[:, first : 2 * first + 1]  # (E, nodes of this level, B)
        turns = torch.stack([score, -score], dim=2)  # left, right
        level = torch.minimum(level[:, :, None], turns).flatten(1, 2)
        levels.append(level)
    return torch.cat(levels, dim=1)


def traverse(path_score: Tensor, activity: Tensor) -> Tensor:
    """Traversal z = clip(q, 0, a): positive where a row is routed through a node.

    Proj_[0, a](q) of proposition 1, (E, T, B), of path scores (E, T, B) and activities
    (E, T).
    """
    return torch.minimum(path_score.clamp(min=0), activity[..., None])


Program = tuple[Tensor, Tensor, float]
"""Preference (E, T), penalty (E,) and offset: what the activity minimises."""


def ridge_program(split_score: Tensor, pruning_strength: Tensor) -> Program:
    """The program of the final version, of split scores (E, N, B).

    The activity minimises, over 0 <= a <= 1, no node above its parent, ``sum_t lambda/2
    a_t^2 + 1/2 sum_{b: a_t <= q_bt + 1/2} (a_t - q_bt - 1/2)^2``, of each tree's lambda
    (E,), at least 0. Where 0 leaves several minimisers, the smallest is taken.
    """
    n_nodes = 2 * split_score.shape[1] + 1
    no_preference = split_score.new_zeros(len(split_score), n_nodes)
    return no_preference, pruning_strength, MARGIN


def preference_program(preference: Tensor) -> Program:
    """The program close to a learned preference, eq. 4.

    The activity minimises, over 0 <= a <= 1, no node above its parent, ``sum_t 1/2 (a_t
    - eta_t)^2 + 1/2 sum_{b: a_t <= q_bt} (a_t - q_bt)^2``, of preferences eta (E, T),
    any real numbers.
    """
    return preference, preference.new_ones(len(preference)), 0.0


def traversal(split_score: Tensor, program: Program) -> tuple[Tensor, Tensor]:
    """Traversal (E, T, B) and activity (E, T) of split scores (E, N, B).

    On the CPU one kernel does this, :func:`path_scores` and :func:`traverse`. Both are
    differentiable in the scores and in the program's tensors.
    """
    preference, penalty, offset = program
    if split_score.device.type == "cpu":
        return TraversalOnCpu.apply(split_score, preference, penalty, offset)
    q = path_scores(split_score)
    activity = solve_activity(q, preference, penalty, offset=offset)
    return traverse(q, activity), activity


def activity_of_splits(split_score: Tensor, program: Program) -> Tensor:
    """Activity (E, T) of ``traversal``, without z and without gradient."""
    preference, penalty, offset = program
    if split_score.device.type == "cpu":
        return activity_on_cpu(split_score, preference, penalty, offset)
    with torch.no_grad():
        q = path_scores(split_score)
        return solve_activity(q, preference, penalty, offset=offset)


def known_traversal(split_score: Tensor, activity: Tensor) -> Tensor:
    """Traversal (E, T, B) under activities (E, T) that are known; no gradient."""
    if split_score.device.type == "cpu":
        return traverse_on_cpu(split_score, activity)
    with torch.no_grad():
        return traverse(path_scores(split_score), activity)


def _level_starts(n_splits: int) -> list[int]:
    """First split of each level: 0, 1, 3, 7, ..."""
    return [2**level - 1 for level in range((n_splits + 1).bit_length() - 1)]
