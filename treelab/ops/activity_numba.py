"""CPU kernels of `solve_activity`: exact, without sorting, by Newton's steps.

Let F_t(theta) be the derivative of the lowest cost of the subtree of t (eq. 7 of the
first version of arXiv:2010.04627) when t is held at theta: f_t(theta) plus
min(F_c(theta), 0) of both children. It is concave and rises piecewise linearly, so
Newton's steps from the left end at its root exactly, and a node's activity is the
smaller of its own root and its parent's activity. Only scores above 0 can be active;
each node's are listed once and read a few times.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.threads import OPTIONS, run_alone, threads_for


class ActivityOnCpu(torch.autograd.Function):
    """`solve_activity` by the kernels."""

    @staticmethod
    def forward(ctx, path_score, preference, penalty, offset):
        """Solve each tree; save the groups for the gradient."""
        path_score, preference, penalty = (
            t.detach().contiguous() for t in (path_score, preference, penalty)
        )
        activity = torch.empty_like(preference)
        weight = torch.empty_like(preference)
        group = torch.empty(preference.shape, dtype=torch.int32)
        run_alone(
            _solve,
            path_score.numel(),
            threads_for(path_score.numel()),
            path_score.numpy(),
            preference.numpy(),
            penalty.numpy(),
            path_score.numpy().dtype.type(offset),
            activity.numpy(),
            weight.numpy(),
            group.numpy(),
        )
        ctx.save_for_backward(path_score, activity, weight, group)
        ctx.offset = offset
        return activity

    @staticmethod
    def backward(ctx, grad):
        """Divide each group's gradient among its active scores."""
        path_score, activity, weight, group = ctx.saved_tensors
        grad_score = torch.empty_like(path_score)
        score_grad = torch.empty_like(activity)
        run_alone(
            _differentiate,
            path_score.numel(),
            path_score.numpy(),
            path_score.numpy().dtype.type(ctx.offset),
            activity.numpy(),
            weight.numpy(),
            group.numpy(),
            grad.contiguous().numpy(),
            score_grad.numpy(),
            grad_score.numpy(),
        )
        return grad_score, score_grad, -(score_grad * activity).sum(1), None


@njit(**OPTIONS)
def solve_tree(first, score, offset, preference, penalty, activity, weight, group):
    """Find one tree's activities, and their groups.

    Parameters
    ----------
    first : int64 array of shape (T + 1,)
        Where each node's scores start; they end where the next node's start.
    score : float array
        Path scores: all that are above 0 with the offset, and perhaps some that are
        not.
    offset : float
        Added to every score.
    preference : float array of shape (T,)
    penalty : float
    activity : float array of shape (T,), written
    weight : float array of shape (T,), written
        Denominator of the group's value, ``penalty |G| + k`` (eq. 9); 0 where clipped.
    group : int32 array of shape (T,), written
        The topmost node of each node's group.
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
def append_above(score, offset, listed, n):
    """Append the scores (B,) that are above 0 with the offset; return the new end.

    ``listed`` needs room for all of them and one more behind place ``n``.
    """
    for b in range(len(score)):
        listed[n] = score[b]
        n += score[b] + offset > 0
    return n


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

    Parameters
    ----------
    grad, weight : float arrays of shape (T,)
    group : int32 array of shape (T,)
    score_grad : float array of shape (T,), written
        Gradient of each active score of the node, and of its preference.
    """
    score_grad[:] = 0
    for t in range(len(grad)):
        score_grad[group[t]] += grad[t]
    for t in range(len(grad) - 1, -1, -1):  # the topmost comes last
        score_grad[t] = score_grad[group[t]] / weight[t] if weight[t] > 0 else 0


@njit(parallel=True, **OPTIONS)
def _solve(n_threads, path_score, preference, penalty, offset, activity, weight, group):
    n_trees, n_nodes, n_rows = path_score.shape
    for thread in prange(n_threads):  # each with memory of its own, reused
        first = np.zeros(n_nodes + 1, np.int64)
        score = np.empty(n_nodes * n_rows + 1, path_score.dtype)
        for e in range(thread, n_trees, n_threads):
            for t in range(n_nodes):
                first[t + 1] = append_above(path_score[e, t], offset, score, first[t])
            solve_tree(
                first,
                score,
                offset,
                preference[e],
                penalty[e],
                activity[e],
                weight[e],
                group[e],
            )


@njit(parallel=True, **OPTIONS)
def _differentiate(
    path_score, offset, activity, weight, group, grad, score_grad, grad_score
):
    n_trees, n_nodes, n_rows = path_score.shape
    zero = path_score.dtype.type(0)
    for e in range(n_trees):
        divide_gradient(grad[e], weight[e], group[e], score_grad[e])
    for i in prange(n_trees * n_nodes):
        e, t = i // n_nodes, i % n_nodes
        own, limit = score_grad[e, t], activity[e, t]
        for b in range(n_rows):
            active = path_score[e, t, b] + offset >= limit
            grad_score[e, t, b] = own if active else zero
