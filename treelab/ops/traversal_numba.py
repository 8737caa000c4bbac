"""CPU kernels of the traversal: path scores q, activity a and traversal z, fused.

One tree's numbers stay in the processor's cache from its split scores to its z. Top
down, a node lists only the rows whose scores can still be active there or below, and
passes no others to its children: a quarter of all or less. The backward pass computes
path scores again, which costs less than saving them. Trees run in parallel. Equations
are those of the first version of arXiv:2010.04627.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.activity_numba import divide_gradient, solve_tree
from treelab.ops.threads import OPTIONS, run_alone, threads_for


class TraversalOnCpu(torch.autograd.Function):
    """Traversal z (E, T, B) and activity (E, T) of split scores, by the kernels."""

    @staticmethod
    def forward(ctx, split_score, preference, penalty, offset):
        """Find the activity, then clip each path score to it (proposition 1)."""
        z, activity, saved = _run_forward(
            split_score, preference, penalty, offset, True
        )
        ctx.save_for_backward(*saved)
        ctx.offset = offset
        return z, activity

    @staticmethod
    def backward(ctx, grad_traversal, grad_activity):
        """Bring both gradients back to the split scores."""
        split_score, activity, weight, group = ctx.saved_tensors
        grad_score = torch.empty_like(split_score)
        score_grad = torch.empty_like(activity)
        run_alone(
            _backward,
            grad_traversal.numel(),
            threads_for(grad_traversal.numel()),
            *(t.numpy() for t in (split_score, activity, weight, group)),
            split_score.numpy().dtype.type(ctx.offset),
            *(t.contiguous().numpy() for t in (grad_traversal, grad_activity)),
            score_grad.numpy(),
            grad_score.numpy(),
        )
        return grad_score, score_grad, -(score_grad * activity).sum(1), None


def activity_on_cpu(split_score, preference, penalty, offset) -> torch.Tensor:
    """The activity (E, T) of `TraversalOnCpu` alone; no gradient."""
    return _run_forward(split_score, preference, penalty, offset, False)[1]


def traverse_on_cpu(split_score: torch.Tensor, activity: torch.Tensor) -> torch.Tensor:
    """Traversal z (E, T, B) under given activities (E, T); no gradient."""
    split_score, activity = (t.detach().contiguous() for t in (split_score, activity))
    out = split_score.new_empty(*activity.shape, split_score.shape[2])
    run_alone(
        _traverse, out.numel(), split_score.numpy(), activity.numpy(), out.numpy()
    )
    return out


def _run_forward(split_score, preference, penalty, offset, wants_z: bool):
    """Traversal z (E, T, B), without rows if not wanted; activity; what is saved."""
    split_score, preference, penalty = (
        t.detach().contiguous() for t in (split_score, preference, penalty)
    )
    n_rows = split_score.shape[2]
    z = split_score.new_empty(*preference.shape, n_rows if wants_z else 0)
    activity, weight = torch.empty_like(preference), torch.empty_like(preference)
    group = torch.empty(preference.shape, dtype=torch.int32)
    n_numbers = preference.numel() * n_rows
    run_alone(
        _forward,
        n_numbers,
        threads_for(n_numbers),
        *(t.numpy() for t in (split_score, preference, penalty)),
        split_score.numpy().dtype.type(offset),
        *(t.numpy() for t in (z, activity, weight, group)),
    )
    return z, activity, (split_score, activity, weight, group)


@njit(**OPTIONS)
def _turn(score, parent, left, right):
    """Path scores q (B,) of both children from a split's scores and its own, eq. 1."""
    for b in range(len(score)):
        left[b] = score[b] if score[b] < parent[b] else parent[b]
        right[b] = -score[b] if -score[b] < parent[b] else parent[b]


@njit(**OPTIONS)
def _clip(q, activity, z):
    """Write z = clip(q, 0, activity), all (T, B) but activity (T,); q may be z."""
    zero = z.dtype.type(0)  # a plain 0 would make a float64 of everything
    for t in range(len(activity)):
        limit = activity[t]
        for b in range(q.shape[1]):
            score = q[t, b] if q[t, b] > zero else zero
            z[t, b] = score if score < limit else limit


@njit(**OPTIONS)
def _turn_listed(score, first, t, row, q, offset, right_row, right_q):
    """List both children's rows and path scores (eq. 1) from their parent's list.

    A row that is not above 0 with the offset at a node is so at no node below it.
    ``row`` and ``q`` have room for all rows of all nodes and one more; ``right_row``
    and ``right_q`` (B,) are for passing use.
    """
    n, n_right = first[2 * t + 1], 0
    for i in range(first[t], first[t + 1]):
        s, here = score[row[i]], q[i]
        left = s if s < here else here
        right = -s if -s < here else here
        row[n], q[n] = row[i], left
        n += left + offset > 0
        right_row[n_right], right_q[n_right] = row[i], right
        n_right += right + offset > 0
    first[2 * t + 2] = n
    first[2 * t + 3] = n + n_right
    for i in range(n_right):
        row[n + i], q[n + i] = right_row[i], right_q[i]


@njit(**OPTIONS)
def _clip_listed(first, row, q, activity, z):
    """Write z (T, B) = clip(q, 0, activity) at the rows listed, 0 at the others."""
    zero = z.dtype.type(0)
    z[:] = zero
    for t in range(len(activity)):
        limit = activity[t]
        if limit > 0:
            for i in range(first[t], first[t + 1]):
                score = q[i] if q[i] > zero else zero
                z[t, row[i]] = score if score < limit else limit


@njit(parallel=True, **OPTIONS)
def _forward(
    n_threads, split_score, preference, penalty, offset, z, activity, weight, group
):
    n_trees, n_splits, n_rows = split_score.shape
    n_nodes = 2 * n_splits + 1
    for thread in prange(n_threads):  # each with memory of its own, reused
        first = np.zeros(n_nodes + 1, np.int64)
        row = np.empty(n_nodes * n_rows + 1, np.int32)
        q = np.empty(n_nodes * n_rows + 1, split_score.dtype)
        right_row = np.empty(n_rows, np.int32)
        right_q = np.empty(n_rows, split_score.dtype)
        row[:n_rows] = np.arange(n_rows)
        q[:n_rows] = 1
        first[1] = n_rows
        for e in range(thread, n_trees, n_threads):
            for t in range(n_splits):
                _turn_listed(
                    split_score[e, t], first, t, row, q, offset, right_row, right_q
                )
            solve_tree(
                first,
                q,
                offset,
                preference[e],
                penalty[e],
                activity[e],
                weight[e],
                group[e],
            )
            if z.shape[2] > 0:
                _clip_listed(first, row, q, activity[e], z[e])


@njit(parallel=True, **OPTIONS)
def _traverse(split_score, activity, z):
    for e in prange(len(z)):
        z[e, 0] = 1
        for t in range(split_score.shape[1]):
            _turn(split_score[e, t], z[e, t], z[e, 2 * t + 1], z[e, 2 * t + 2])
        _clip(z[e], activity[e], z[e])


@njit(parallel=True, **OPTIONS)
def _backward(
    n_threads,
    split_score,
    activity,
    weight,
    group,
    offset,
    grad_z,
    grad_activity,
    score_grad,
    grad_score,
):
    n_trees, n_nodes, n_rows = grad_z.shape
    for thread in prange(n_threads):
        q = np.empty((n_nodes, n_rows), grad_z.dtype)
        grad_q = np.empty((n_nodes, n_rows), grad_z.dtype)
        at_limit = np.empty(n_nodes, grad_z.dtype)
        for e in range(thread, n_trees, n_threads):
            q[0] = 1
            for t in range(n_nodes):
                # No node is active below one that is not: no gradient comes from there.
                if activity[e, t] == 0:
                    at_limit[t] = grad_activity[e, t]
                    continue
                if 2 * t + 1 < n_nodes:
                    _turn(split_score[e, t], q[t], q[2 * t + 1], q[2 * t + 2])
                at_limit[t] = grad_activity[e, t] + _sum_at_limit(
                    q[t], activity[e, t], grad_z[e, t]
                )
            divide_gradient(at_limit, weight[e], group[e], score_grad[e])
            for t in range(n_nodes - 1, -1, -1):
                is_split = 2 * t + 1 < n_nodes
                if activity[e, t] == 0:
                    grad_q[t] = 0
                    if is_split:
                        grad_score[e, t] = 0
                    continue
                _path_score_grad(
                    q[t],
                    activity[e, t],
                    score_grad[e, t],
                    offset,
                    grad_z[e, t],
                    grad_q[t],
                )
                if is_split:
                    _pass_to_parent(
                        split_score[e, t],
                        q[t],
                        grad_q[2 * t + 1],
                        grad_q[2 * t + 2],
                        grad_score[e, t],
                        grad_q[t],
                    )


@njit(**OPTIONS)
def _sum_at_limit(q, limit, grad_z):
    """Sum the gradients (B,) of the rows whose z is the node's activity."""
    zero = grad_z.dtype.type(0)
    total = zero
    for b in range(len(q)):
        total += grad_z[b] if q[b] >= limit else zero
    return total


@njit(**OPTIONS)
def _path_score_grad(q, limit, score_grad, offset, grad_z, grad_q):
    """Gradient (B,) at a node's path scores, from z and through its activity."""
    zero = grad_z.dtype.type(0)
    for b in range(len(q)):
        through_z = grad_z[b] if (q[b] > zero) & (q[b] < limit) else zero
        through_activity = score_grad if q[b] + offset >= limit else zero
        grad_q[b] = through_z + through_activity


@njit(**OPTIONS)
def _pass_to_parent(score, parent, from_left, from_right, grad_score, grad_parent):
    """Pass both children's gradients (B,) to the smaller argument of each minimum."""
    zero = grad_score.dtype.type(0)
    for b in range(len(score)):
        left, right = from_left[b], from_right[b]
        turn_left, turn_right = score[b] < parent[b], -score[b] < parent[b]
        grad_score[b] = (left if turn_left else zero) - (right if turn_right else zero)
        grad_parent[b] += (zero if turn_left else left) + (
            zero if turn_right else right
        )
