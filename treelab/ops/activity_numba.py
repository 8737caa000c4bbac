"""CPU kernels of `solve_activity`: exact, without sorting, by Newton's steps.

Let F_t(theta) be the derivative of the best cost of the subtree of t when t is held at
theta: f_t(theta) plus min(F_c(theta), 0) of both children. It is concave and rises
piecewise linearly, so Newton's steps from the left end at its root exactly, and a
node's activity is the smaller of its own root and its parent's activity. Only targets
above 0 can act; each node's are listed once and looked at a few times.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.threads import OPTIONS, run_alone, threads_for


class ActivityOnCpu(torch.autograd.Function):
    """`solve_activity` by the kernels."""

    @staticmethod
    def forward(ctx, target, pull, price, offset):
        """Solve each tree by pooling; keep the groups for the gradient."""
        target, pull, price = (t.detach().contiguous() for t in (target, pull, price))
        activity = torch.empty_like(pull)
        weight = torch.empty_like(pull)  # of the node's group; 0 where clipped
        top = torch.empty(pull.shape, dtype=torch.int32)
        run_alone(
            _solve,
            target.numel(),
            threads_for(target.numel()),
            target.numpy(),
            pull.numpy(),
            price.numpy(),
            target.numpy().dtype.type(offset),
            activity.numpy(),
            weight.numpy(),
            top.numpy(),
        )
        ctx.save_for_backward(target, activity, weight, top)
        ctx.offset = offset
        return activity

    @staticmethod
    def backward(ctx, grad):
        """Share each group's gradient among its targets."""
        target, activity, weight, top = ctx.saved_tensors
        grad_target = torch.empty_like(target)
        share = torch.empty_like(activity)
        run_alone(
            _differentiate,
            target.numel(),
            target.numpy(),
            target.numpy().dtype.type(ctx.offset),
            activity.numpy(),
            weight.numpy(),
            top.numpy(),
            grad.contiguous().numpy(),
            share.numpy(),
            grad_target.numpy(),
        )
        return grad_target, share, -(share * activity).sum(1), None


@njit(**OPTIONS)
def solve_tree(first, score, offset, pull, price, activity, weight, top):
    """Find one tree's activities, and their groups.

    Parameters
    ----------
    first : int64 array of shape (T + 1,)
        Where each node's scores start; they end where the next node's start.
    score : float array
        ``offset`` is added to each to make it a target; all targets above 0, and
        perhaps some that are not.
    offset : float
    pull : float array of shape (T,)
    price : float
    activity : float array of shape (T,), written
    weight : float array of shape (T,), written
        What the sum of the group's targets is divided by; 0 where clipped.
    top : int32 array of shape (T,), written
        The topmost node of each node's group.
    """
    n_nodes = len(pull)
    root = np.empty(n_nodes)
    stack = np.empty(n_nodes, np.int64)
    for t in range(n_nodes - 1, -1, -1):
        root[t] = _root(t, first, score, offset, pull, price, root, stack)
    group_weight = np.zeros(n_nodes)
    for t in range(n_nodes):
        parent = (t - 1) // 2
        top[t] = t
        if t > 0 and root[t] >= root[parent]:
            root[t] = root[parent]
            top[t] = top[parent]
        activity[t] = root[t]  # rounded, as the way back will compare
        if 0 < root[t] < 1:
            acting = 0
            for i in range(first[t], first[t + 1]):
                acting += score[i] + offset >= activity[t]
            group_weight[top[t]] += price + acting
    for t in range(n_nodes):
        weight[t] = group_weight[top[t]]


@njit(**OPTIONS)
def keep_above(score, offset, kept, n):
    """Append the scores (B,) that are above 0 with the offset; return the new end.

    ``kept`` needs room for all of them and one more behind place ``n``.
    """
    for b in range(len(score)):
        kept[n] = score[b]
        n += score[b] + offset > 0
    return n


@njit(**OPTIONS)
def _root(t, first, score, offset, pull, price, root, stack):
    """Root of F_t, clipped to [0, 1]."""
    n_nodes = len(pull)
    alone = True  # first the root of f_t, at which F_t is not above 0 yet
    theta, known = 0.0, np.inf  # known: slope of the last step
    while True:
        value, slope = 0.0, 0.0
        stack[0], height = t, 1
        while height > 0:  # the node, and below it those that would rise above theta
            height -= 1
            s = stack[height]
            lift, n = _above(score[first[s] : first[s + 1]], theta - offset)
            slope += price + n
            value += price * theta - pull[s] - (lift - n * (theta - offset))
            child = 2 * s + 1
            if child < n_nodes and not alone:
                for c in range(child, child + 2):
                    if root[c] > theta:
                        stack[height] = c
                        height += 1
        # Fewer and fewer act as theta rises; when no one left, the piece is the last.
        if slope == known or slope <= 0 or value >= 0:
            child = 2 * t + 1
            if (
                not alone
                or child >= n_nodes
                or max(root[child], root[child + 1]) <= theta
            ):
                return theta
            alone, known = False, np.inf
        else:
            known = slope
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
def share_grad(grad, weight, top, share):
    """Divide each group's gradient by its weight: what each acting target is handed.

    Parameters
    ----------
    grad, weight : float arrays of shape (T,)
    top : int32 array of shape (T,)
    share : float array of shape (T,), written
    """
    share[:] = 0
    for t in range(len(grad)):
        share[top[t]] += grad[t]
    for t in range(len(grad) - 1, -1, -1):  # a top comes after all of its group
        share[t] = share[top[t]] / weight[t] if weight[t] > 0 else 0


@njit(parallel=True, **OPTIONS)
def _solve(n_threads, target, pull, price, offset, activity, weight, top):
    n_trees, n_nodes, n_rows = target.shape
    for thread in prange(n_threads):  # each with memory of its own, used again
        first = np.zeros(n_nodes + 1, np.int64)
        score = np.empty(n_nodes * n_rows + 1, target.dtype)
        for e in range(thread, n_trees, n_threads):
            for t in range(n_nodes):
                first[t + 1] = keep_above(target[e, t], offset, score, first[t])
            solve_tree(
                first, score, offset, pull[e], price[e], activity[e], weight[e], top[e]
            )


@njit(parallel=True, **OPTIONS)
def _differentiate(target, offset, activity, weight, top, grad, share, grad_target):
    n_trees, n_nodes, n_rows = target.shape
    zero = target.dtype.type(0)
    for e in range(n_trees):
        share_grad(grad[e], weight[e], top[e], share[e])
    for i in prange(n_trees * n_nodes):
        e, t = i // n_nodes, i % n_nodes
        own, limit = share[e, t], activity[e, t]
        for b in range(n_rows):
            acts = target[e, t, b] + offset >= limit
            grad_target[e, t, b] = own if acts else zero
