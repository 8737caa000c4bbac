"""Node activity by slow obvious code, and by a conic solver.

Equations are those of the first version of arXiv:2010.04627.
"""

import warnings

import cvxpy as cp
import numpy as np
import torch

from treelab.ops.activity import MARGIN
from treelab.ops.activity_numba import divide_gradient, solve_tree
from treelab.ops.activity_solve import solve_activity


def ridge_activity(path_score, strength):
    """The ridge program's activity (E, T) of path scores (E, T, B), by torch."""
    no_preference = torch.zeros_like(path_score[..., 0])
    return solve_activity(path_score, no_preference, strength, offset=MARGIN)


def preference_activity(path_score, preference):
    """The preference program's activity (E, T) of path scores (E, T, B), by torch."""
    return solve_activity(path_score, preference, preference.new_ones(len(preference)))


def by_torch(score, preference, penalty, known):
    """One tree's activity, and the gradient of ``known @ activity`` to all three."""
    given = [
        torch.tensor(part)[None].requires_grad_()
        for part in (score, preference, score.dtype.type(penalty))
    ]
    activity = solve_activity(*given)[0]
    (activity @ torch.tensor(known)).backward()
    return activity.detach().numpy(), *(part.grad[0].numpy() for part in given)


def by_kernel(score, preference, penalty, known):
    """As ``by_torch``, by the CPU kernels of one tree."""
    n_nodes, n_rows = score.shape
    activity, weight, to_preference = np.empty((3, n_nodes), score.dtype)
    group = np.empty(n_nodes, np.int32)
    first = np.arange(n_nodes + 1) * n_rows
    zero, penalty = score.dtype.type(0), score.dtype.type(penalty)
    listed = np.ascontiguousarray(score).ravel()
    solve_tree(first, listed, zero, preference, penalty, activity, weight, group)
    divide_gradient(known, weight, group, to_preference)
    to_score = to_preference[:, None] * (score >= activity[:, None])
    return activity, to_score, to_preference, -(to_preference @ activity)


def group_value(scores, preference, penalty):
    """Smallest minimiser of eq. 8: a group's value (eq. 9) before it is clipped."""
    scores = np.sort(scores)[::-1]
    total, weight = preference, penalty
    for score in scores:  # the highest first; each that is above the value is active
        if weight > 0 and score <= total / weight:
            break
        total, weight = total + score, weight + 1
    return total / weight if weight > 0 else -np.inf


def pooled_groups(score, preference, penalty):
    """Groups of equal activity by pooling adjacent violators, from the leaves upwards.

    Returns
    -------
    list of (nodes, value)
        Nodes of each group, and its value before it is clipped to [0, 1].
    """
    n_nodes = len(score)
    groups = {}  # top node -> (nodes, value)
    for top in reversed(range(n_nodes)):
        nodes = [top]
        value = group_value(score[top], preference[top], penalty)
        while True:
            below = [c for t in nodes for c in (2 * t + 1, 2 * t + 2) if c in groups]
            worst = max(below, key=lambda c: groups[c][1], default=None)
            if worst is None or groups[worst][1] <= value:
                break
            nodes = nodes + groups.pop(worst)[0]
            value = group_value(
                np.concatenate(score[nodes]),
                preference[nodes].sum(),
                penalty * len(nodes),
            )
        groups[top] = (nodes, value)
    return list(groups.values())


def pooled(score, preference, penalty):
    """One tree's activity by pooling adjacent violators."""
    activity = np.empty(len(score))
    for nodes, value in pooled_groups(score, preference, penalty):
        activity[nodes] = np.clip(value, 0, 1)
    return activity


def pooled_gradient(score, preference, penalty, known):
    """Gradient of ``known @ activity`` to scores, preferences and penalty.

    A group's value is (sum of preferences and active scores) / (penalty * nodes +
    number of active scores).
    """
    to_score, to_preference = np.zeros_like(score), np.zeros_like(preference)
    to_penalty = 0.0
    for nodes, value in pooled_groups(score, preference, penalty):
        if not 0 < value < 1:
            continue
        active = score[nodes] > value
        weight = penalty * len(nodes) + active.sum()
        share = known[nodes].sum() / weight
        to_score[nodes] = share * active
        to_preference[nodes] = share
        to_penalty -= share * value * len(nodes)
    return to_score, to_preference, to_penalty


def conic(score, preference, penalty):
    """One tree's activity by a conic solver."""
    n_nodes = len(score)
    a = cp.Variable(n_nodes)
    cost = penalty / 2 * cp.sum_squares(a) - preference @ a
    # Only scores that can exceed an activity in [0, 1] matter.
    t, b = np.nonzero(score > 0)
    if len(t):
        cost += 0.5 * cp.sum_squares(cp.pos(score[t, b] - a[t]))
    child = np.arange(1, n_nodes)
    constraints = [a >= 0, a <= 1]
    if len(child):
        constraints.append(a[child] <= a[(child - 1) // 2])
    problem = cp.Problem(cp.Minimize(cost), constraints)
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    with warnings.catch_warnings():  # it reports that it could not get *that* close
        warnings.simplefilter("ignore", UserWarning)
        problem.solve(solver=cp.CLARABEL, **tight)
    return a.value
