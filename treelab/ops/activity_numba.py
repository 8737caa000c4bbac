"""CPU kernels of one tree's activity: exact, without sorting, by Newton's steps.

Let F_t(theta) be the derivative of the lowest cost of the subtree of t (eq. 7 of the
first version of arXiv:2010.04627) when t is held at theta: f_t(theta) plus
min(F_c(theta), 0) of both children. It is concave and rises piecewise linearly, so
Newton's steps from the left end at its root exactly, and a node's activity is the
smaller of its own root and its parent's activity. Only scores above 0 can be active;
`traversal_numba` lists each node's once, and they are read a few times.
"""

import numpy as np
from numba import njit

from treelab.ops.threads import OPTIONS


@njit(**OPTIONS)
def solve_tree(first, score, offset, preference, penalty, activity, weight, group):
    """Find one tree's activities, and their groups.

    Node t's path scores are ``score[first[t]:first[t + 1]]``: all that are above 0 with
    the ``offset``, and perhaps some that are not. Written, (T,) each: ``activity``;
    ``weight``, the denominator of the group's value, ``penalty |G| + k`` (eq. 9), 0
    where clipped; ``group``, int32, the topmost node of each node's group.
    """
    n_nodes = len(preference)
    root = np.empty(n_nodes)
    stack = np.empty(n_nodes, np.int64)
    for t in range(n_nodes - 1, -1, -1):
        root[t] = _root(t, first, score, offset, preference, penalty, root, stack)
    group_weight = np.zeros(n_nodes)
    for t in range(n_nodes):
        parent = (t - 1) // 2
        group[t] = t
        if t > 0 and root[t] >= root[parent]:
            root[t] = root[parent]
            group[t] = group[parent]
        activity[t] = root[t]  # rounded, as the backward pass will compare
        if 0 < root[t] < 1:
            n_active = 0
            for i in range(first[t], first[t + 1]):
                n_active += score[i] + offset >= activity[t]
            group_weight[group[t]] += penalty + n_active
    for t in range(n_nodes):
        weight[t] = group_weight[group[t]]


@njit(**OPTIONS)
def _root(t, first, score, offset, preference, penalty, root, stack):
    """Root of F_t, clipped to [0, 1]: Proj of eq. 9 over the node's subtree."""
    n_nodes = len(preference)
    alone = True  # first the root of f_t, at which F_t is not above 0 yet
    theta, last_slope = 0.0, np.inf
    while True:
        value, slope = 0.0, 0.0
        stack[0], height = t, 1
        while height > 0:  # the node, and below it those that would rise above theta
            height -= 1
            s = stack[height]
            excess, n = _above(score[first[s] : first[s + 1]], theta - offset)
            slope += penalty + n
            value += penalty * theta - preference[s] - (excess - n * (theta - offset))
            child = 2 * s + 1
            if child < n_nodes and not alone:
                for c in range(child, child + 2):
                    if root[c] > theta:
                        stack[height] = c
                        height += 1
        # Fewer and fewer are active as theta rises; once none drops out, this linear
        # piece holds the root.
        if slope == last_slope or slope <= 0 or value >= 0:
            child = 2 * t + 1
            if (
                not alone
                or child >= n_nodes
                or max(root[child], root[child + 1]) <= theta
            ):
                return theta
            alone, last_slope = False, np.inf
        else:
            last_slope = slope
            theta -= value / slope
            if theta >= 1:
                return 1.0


@njit(**OPTIONS)
def _above(score, bound):
    """Sum and number of the scores above a bound."""
    total, n = 0.0, 0.0
    for i in range(len(score)):
        above = np.float64(score[i]) > bound
        total += np.float64(score[i]) if above else 0.0
        n += 1.0 if above else 0.0
    return total, n


@njit(**OPTIONS)
def divide_gradient(grad, weight, group, score_grad):
    """Divide each group's gradient by its weight: the Jacobian of section 3.2.

    All (T,). Written is ``score_grad``, the gradient of each active score of the node,
    and of its preference.
    """
    score_grad[:] = 0
    for t in range(len(grad)):
        score_grad[group[t]] += grad[t]
    for t in range(len(grad) - 1, -1, -1):  # the topmost comes last
        score_grad[t] = score_grad[group[t]] / weight[t] if weight[t] > 0 else 0
