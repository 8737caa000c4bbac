"""CPU kernels of `traversal`: path scores, activity and z of one tree after another.

One tree's numbers stay in the processor's cache from its split scores to its z, and
again on the way back; trees run in parallel.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.activity_numba import BINS, fill_bins, share_grad, solve_tree
from treelab.ops.threads import run_alone

_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"reassoc", "contract"}}


class TraversalOnCpu(torch.autograd.Function):
    """`traversal` by the kernels: z (E, T, B) and activity (E, T)."""

    @staticmethod
    def forward(ctx, split_score, pull, price, offset):
        split_score, pull, price = (
            t.detach().contiguous() for t in (split_score, pull, price)
        )
        (n_trees, n_nodes), n_rows = pull.shape, split_score.shape[2]
        path_score = split_score.new_empty(n_trees, n_nodes, n_rows)
        traversal = torch.empty_like(path_score)
        activity, weight = torch.empty_like(pull), torch.empty_like(pull)
        top = torch.empty(pull.shape, dtype=torch.int32)
        run_alone(
            _forward,
            path_score.numel(),
            split_score.numpy(),
            pull.numpy(),
            price.numpy(),
            split_score.numpy().dtype.type(offset),
            path_score.numpy(),
            traversal.numpy(),
            activity.numpy(),
            weight.numpy(),
            top.numpy(),
        )
        ctx.save_for_backward(split_score, path_score, activity, weight, top)
        ctx.offset = offset
        return traversal, activity

    @staticmethod
    def backward(ctx, grad_traversal, grad_activity):
        split_score, path_score, activity, weight, top = ctx.saved_tensors
        grad_score = torch.empty_like(split_score)
        share = torch.empty_like(activity)
        run_alone(
            _backward,
            path_score.numel(),
            split_score.numpy(),
            path_score.numpy(),
            activity.numpy(),
            weight.numpy(),
            top.numpy(),
            path_score.numpy().dtype.type(ctx.offset),
            grad_traversal.contiguous().numpy(),
            grad_activity.contiguous().numpy(),
            share.numpy(),
            grad_score.numpy(),
        )
        return grad_score, share, -(share * activity).sum(1), None


def traverse_on_cpu(split_score: torch.Tensor, activity: torch.Tensor) -> torch.Tensor:
    """z (E, T, B) under activities (E, T) that are given; no gradient."""
    split_score, activity = (t.detach().contiguous() for t in (split_score, activity))
    out = split_score.new_empty(*activity.shape, split_score.shape[2])
    run_alone(
        _traverse, out.numel(), split_score.numpy(), activity.numpy(), out.numpy()
    )
    return out


@njit(**_OPTIONS)
def _fill_path_scores(split_score, q):
    """Path scores (T, B) of one tree from its split scores (N, B)."""
    n_splits, n_rows = split_score.shape
    q[0] = 1
    for t in range(n_splits):
        parent, score = q[t], split_score[t]
        left, right = q[2 * t + 1], q[2 * t + 2]
        for b in range(n_rows):
            left[b] = score[b] if score[b] < parent[b] else parent[b]
            right[b] = -score[b] if -score[b] < parent[b] else parent[b]


@njit(**_OPTIONS)
def _clip(q, activity, z):
    """z = clip(q, 0, activity), all (T, B) but activity (T,)."""
    n_nodes, n_rows = q.shape
    for t in range(n_nodes):
        limit = activity[t]
        for b in range(n_rows):
            score = q[t, b] if q[t, b] > 0 else 0
            z[t, b] = score if score < limit else limit


@njit(parallel=True, **_OPTIONS)
def _forward(split_score, pull, price, offset, q, z, activity, weight, top):
    n_trees, n_nodes = pull.shape
    for e in prange(n_trees):
        count = np.empty((n_nodes, BINS + 1), np.int32)
        total = np.empty((n_nodes, BINS + 1), np.float64)
        between = z[e]  # not needed yet, so it serves as space to work in
        _fill_path_scores(split_score[e], q[e])
        for t in range(n_nodes):
            fill_bins(q[e, t], offset, between[t], count[t], total[t])
        solve_tree(
            count, total, between, pull[e], price[e], activity[e], weight[e], top[e]
        )
        _clip(q[e], activity[e], z[e])


@njit(parallel=True, **_OPTIONS)
def _traverse(split_score, activity, z):
    for e in prange(len(z)):
        _fill_path_scores(split_score[e], z[e])
        _clip(z[e], activity[e], z[e])


@njit(parallel=True, **_OPTIONS)
def _backward(
    split_score,
    q,
    activity,
    weight,
    top,
    offset,
    grad_z,
    grad_activity,
    share,
    grad_score,
):
    n_trees, n_nodes, n_rows = q.shape
    for e in prange(n_trees):
        at_limit = np.empty(n_nodes, q.dtype)
        for t in range(n_nodes):
            limit, summed = activity[e, t], grad_activity[e, t]
            for b in range(n_rows):
                summed += grad_z[e, t, b] if q[e, t, b] >= limit else 0
            at_limit[t] = summed
        share_grad(at_limit, weight[e], top[e], share[e])
        grad_q = np.empty((n_nodes, n_rows), q.dtype)
        for t in range(n_nodes):
            limit, own = activity[e, t], share[e, t]
            for b in range(n_rows):
                score = q[e, t, b]
                through = grad_z[e, t, b] if (score > 0) & (score < limit) else 0
                acted = own if score + offset >= limit else 0
                grad_q[t, b] = through + acted
        for t in range(split_score.shape[1] - 1, -1, -1):
            for b in range(n_rows):
                parent, score = q[e, t, b], split_score[e, t, b]
                left, right = grad_q[2 * t + 1, b], grad_q[2 * t + 2, b]
                turn_left, turn_right = score < parent, -score < parent
                grad_score[e, t, b] = (left if turn_left else 0) - (
                    right if turn_right else 0
                )
                grad_q[t, b] += (0 if turn_left else left) + (
                    0 if turn_right else right
                )
