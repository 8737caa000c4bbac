"""CPU kernels of `solve_activity`: exact, with no sorting, a pass or two over scores.

The first pass sorts targets into bins, which gives every derivative f_t at the bins'
edges, and with it, by threshold decomposition, the bin of every node's activity. Only
targets in that bin are looked at again: there F_t, the derivative of the best cost of
the subtree of t, is concave and rises piecewise linearly, so Newton's steps from the
left end at its root exactly, and a node's activity is the smaller of its own root and
its parent's activity.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.threads import run_alone

BINS = 64  # a power of two, so that a target's bin is exact
_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"reassoc", "contract"}}
_FLOOR, _CEILING = -1, BINS  # "bins" of activities that are clipped to 0 and 1


class ActivityOnCpu(torch.autograd.Function):
    """`solve_activity` by the kernels."""

    @staticmethod
    def forward(ctx, target, pull, price, offset):
        target, pull, price = (t.detach().contiguous() for t in (target, pull, price))
        activity = torch.empty_like(pull)
        weight = torch.empty_like(pull)  # of the node's group; 0 where clipped
        top = torch.empty(pull.shape, dtype=torch.int32)
        run_alone(
            _solve,
            target.numel(),
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


@njit(parallel=True, **_OPTIONS)
def _solve(target, pull, price, offset, activity, weight, top):
    n_trees, n_nodes, n_rows = target.shape
    count = np.empty((n_trees, n_nodes, BINS + 1), np.int32)
    total = np.empty((n_trees, n_nodes, BINS + 1), np.float64)
    between = np.empty((n_trees, n_nodes, n_rows), target.dtype)
    for i in prange(n_trees * n_nodes):
        e, t = i // n_nodes, i % n_nodes
        fill_bins(target[e, t], offset, between[e, t], count[e, t], total[e, t])
    for e in prange(n_trees):
        solve_tree(
            count[e],
            total[e],
            between[e],
            pull[e],
            price[e],
            activity[e],
            weight[e],
            top[e],
        )


@njit(**_OPTIONS)
def fill_bins(target, offset, between, count, total):
    """Count and add up the targets at or above each bin's start, and copy some.

    Parameters
    ----------
    target : float array of shape (B,)
        Of one node; ``offset`` is added to each.
    between : float array of shape (B,), written
        The targets in (0, 1) first. Those below never act, those above always do.
    count, total : arrays of shape (BINS + 1,), written
    """
    count[:] = 0
    total[:] = 0
    n, always, sum_always = 0, 0, 0.0
    for b in range(len(target)):
        c = target[b] + offset
        between[n] = c
        n += (c > 0) & (c < 1)
    for b in range(len(target)):  # a loop of its own, which the compiler vectorises
        c = target[b] + offset
        always += c >= 1
        sum_always += c if c >= 1 else 0
    for i in range(n):
        k = int(between[i] * BINS)
        count[k] += 1
        total[k] += between[i]
    count[BINS], total[BINS] = always, sum_always
    for k in range(BINS - 1, -1, -1):
        count[k] += count[k + 1]
        total[k] += total[k + 1]


@njit(**_OPTIONS)
def solve_tree(count, total, between, pull, price, activity, weight, top):
    """Find one tree's activities, and their groups, from its filled bins.

    Parameters
    ----------
    count, total, between : arrays of shape (T, BINS + 1), (T, BINS + 1), (T, B)
        Of ``fill_bins``; ``between`` is used up.
    pull : float array of shape (T,)
    price : float
    activity : float array of shape (T,), written
    weight : float array of shape (T,), written
        What the sum of the group's targets is divided by; 0 where clipped.
    top : int32 array of shape (T,), written
        The topmost node of each node's group.
    """
    n_nodes = len(pull)
    bin_of = np.empty(n_nodes, np.int32)
    _find_bins(count, total, pull, price, bin_of)
    n_inside = np.zeros(n_nodes, np.int32)
    for t in range(n_nodes):
        k = bin_of[t]
        if 0 <= k < BINS and count[t, k] > count[t, k + 1]:
            n_between = count[t, 0] - count[t, BINS]
            n_inside[t] = _keep_bin(between[t], n_between, k)
    _finish(count, total, between, n_inside, pull, price, bin_of, activity, weight, top)


@njit(**_OPTIONS)
def _find_bins(count, total, pull, price, bin_of):
    """Find the bin of each node's activity."""
    n_nodes = len(pull)
    best = np.empty((n_nodes, BINS + 1))
    for t in range(n_nodes - 1, -1, -1):
        for k in range(BINS + 1):
            cut = k / BINS
            best[t, k] = (price + count[t, k]) * cut - pull[t] - total[t, k]
        if 2 * t + 1 < n_nodes:
            for k in range(BINS + 1):
                best[t, k] += min(best[2 * t + 1, k], 0.0)
                best[t, k] += min(best[2 * t + 2, k], 0.0)
    for t in range(n_nodes):
        rank = 0  # cuts that the node is above, if its parent is
        while rank <= BINS and best[t, rank] < 0:
            rank += 1
        bin_of[t] = rank - 1  # _FLOOR to _CEILING
        if t > 0:
            bin_of[t] = min(bin_of[t], bin_of[(t - 1) // 2])


@njit(**_OPTIONS)
def _keep_bin(between, n_between, k):
    """Move the targets that lie in bin k to the front, and count them."""
    low, high = k / BINS, (k + 1) / BINS
    n = 0
    for i in range(n_between):
        c = between[i]
        between[n] = c
        n += (c >= low) & (c < high)
    return n


@njit(**_OPTIONS)
def _finish(count, total, inside, n_inside, pull, price, bin_of, activity, weight, top):
    """Find the exact activities, the groups, and the weight of each group."""
    n_nodes = len(pull)
    root = np.empty(n_nodes)
    stack = np.empty(n_nodes, np.int64)
    for t in range(n_nodes - 1, -1, -1):
        if 0 <= bin_of[t] < BINS:
            root[t] = _root(
                t, count, total, inside, n_inside, pull, price, bin_of, root, stack
            )
    exact = np.empty(n_nodes)
    own_weight = np.empty(n_nodes)
    for t in range(n_nodes):
        parent = (t - 1) // 2
        top[t] = t
        own_weight[t] = 0
        if bin_of[t] == _FLOOR or bin_of[t] == _CEILING:
            exact[t] = 0.0 if bin_of[t] == _FLOOR else 1.0
        else:
            exact[t] = root[t]
            if t > 0 and bin_of[parent] == bin_of[t] and root[t] >= exact[parent]:
                exact[t] = exact[parent]
                top[t] = top[parent]
            activity[t] = exact[t]  # rounded, as the way back will compare
            acting = count[t, bin_of[t] + 1]
            for i in range(n_inside[t]):
                acting += inside[t, i] >= activity[t]
            own_weight[top[t]] += price + acting
        activity[t] = exact[t]
    for t in range(n_nodes):
        weight[t] = own_weight[top[t]]


@njit(**_OPTIONS)
def _root(t, count, total, inside, n_inside, pull, price, bin_of, root, stack):
    """Root of F_t in the node's bin, or the bin's end where it lies beyond."""
    k = bin_of[t]
    theta, end = k / BINS, (k + 1) / BINS
    n_nodes = len(pull)
    known = np.inf  # slope of the last step
    while True:
        value, slope = 0.0, 0.0
        stack[0], height = t, 1
        while height > 0:  # the node, and below it those that would rise above theta
            height -= 1
            s = stack[height]
            lift, n = total[s, k + 1], count[s, k + 1]
            for i in range(n_inside[s]):
                if inside[s, i] > theta:
                    lift += inside[s, i]
                    n += 1
            slope += price + n
            value += (price + n) * theta - pull[s] - lift
            child = 2 * s + 1
            if child < n_nodes:
                for c in range(child, child + 2):
                    if bin_of[c] == k and root[c] > theta:
                        stack[height] = c
                        height += 1
        # Fewer and fewer act as theta rises; when no one left, the piece is the last.
        if slope == known or slope <= 0 or value >= 0:
            return min(theta, end)
        known = slope
        theta -= value / slope
        if theta >= end:
            return end


@njit(**_OPTIONS)
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


@njit(parallel=True, **_OPTIONS)
def _differentiate(target, offset, activity, weight, top, grad, share, grad_target):
    n_trees, n_nodes, n_rows = target.shape
    for e in range(n_trees):
        share_grad(grad[e], weight[e], top[e], share[e])
    for i in prange(n_trees * n_nodes):
        e, t = i // n_nodes, i % n_nodes
        own, limit = share[e, t], activity[e, t]
        for b in range(n_rows):
            acts = target[e, t, b] + offset >= limit
            grad_target[e, t, b] = own if acts else 0
