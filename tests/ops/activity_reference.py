"""Node activity by slow obvious code, and by a conic solver."""

import warnings

import cvxpy as cp
import numpy as np


def group_value(targets, pull, price):
    """Smallest minimiser of price/2 a^2 - pull a + 1/2 sum max(target - a, 0)^2."""
    targets = np.sort(targets)[::-1]
    total, weight = pull, price
    for target in targets:  # the highest first; each that is above the value acts
        if weight > 0 and target <= total / weight:
            break
        total, weight = total + target, weight + 1
    return total / weight if weight > 0 else -np.inf


def pooled_groups(target, pull, price):
    """Groups of equal activity by pooling adjacent violators, from the leaves upwards.

    Returns
    -------
    list of (nodes, value)
        Nodes of each group, and its value before it is clipped to [0, 1].
    """
    n_nodes = len(target)
    groups = {}  # top node -> (nodes, value)
    for top in reversed(range(n_nodes)):
        nodes = [top]
        value = group_value(target[top], pull[top], price)
        while True:
            below = [c for t in nodes for c in (2 * t + 1, 2 * t + 2) if c in groups]
            worst = max(below, key=lambda c: groups[c][1], default=None)
            if worst is None or groups[worst][1] <= value:
                break
            nodes = nodes + groups.pop(worst)[0]
            value = group_value(
                np.concatenate(target[nodes]), pull[nodes].sum(), price * len(nodes)
            )
        groups[top] = (nodes, value)
    return list(groups.values())


def pooled(target, pull, price):
    """One tree's activity by pooling adjacent violators."""
    activity = np.empty(len(target))
    for nodes, value in pooled_groups(target, pull, price):
        activity[nodes] = np.clip(value, 0, 1)
    return activity


def pooled_gradient(target, pull, price, known):
    """Gradient of ``known @ activity`` to targets, pulls and price, group by group.

    A group's value is (pulls + acting targets) / (price * nodes + acting targets).
    """
    to_target, to_pull, to_price = np.zeros_like(target), np.zeros_like(pull), 0.0
    for nodes, value in pooled_groups(target, pull, price):
        if not 0 < value < 1:
            continue
        acts = target[nodes] > value
        weight = price * len(nodes) + acts.sum()
        share = known[nodes].sum() / weight
        to_target[nodes] = share * acts
        to_pull[nodes] = share
        to_price -= share * value * len(nodes)
    return to_target, to_pull, to_price


def judged(target, pull, price):
    """One tree's activity by a conic solver."""
    n_nodes = len(target)
    a = cp.Variable(n_nodes)
    cost = price / 2 * cp.sum_squares(a) - pull @ a
    # Only targets that can exceed an activity in [0, 1] matter.
    t, b = np.nonzero(target > 0)
    if len(t):
        cost += 0.5 * cp.sum_squares(cp.pos(target[t, b] - a[t]))
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
