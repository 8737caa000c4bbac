"""CPU kernel of `axis_trees`: a row visits only the nodes that its gradient needs.

Forward is a walk of D splits: in the sum over leaves (GradTree, arXiv:2305.03515,
eq. 1) one term is not zero. Backward needs, at each split on a row's path, the leaf
that the row would reach if it turned the other way there and then followed the hard
decisions: D + D(D-1)/2 visits a row and tree instead of 2**D. Trees run in parallel and
share nothing, so no atomics are needed.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.decide import SOFT
from treelab.ops.threads import OPTIONS, run_alone

NEWTON_STEPS = 50  # far more than are ever needed; each step is exact to the left


class AxisTreesOnCpu(torch.autograd.Function):
    """`axis_trees` by the numba kernels; its arguments are checked already."""

    @staticmethod
    def forward(ctx, x, logits, threshold, leaf_value, columns, options):
        """Walk each row to its leaf in each tree; save the leaves."""
        given = [t.detach().contiguous() for t in (x, logits, threshold, leaf_value)]
        columns = _columns(columns)
        out, *walk = _walk(*given, columns)
        ctx.save_for_backward(*given, *walk)
        ctx.columns, ctx.options = columns, options
        return out

    @staticmethod
    def backward(ctx, gradient):
        """Add up the straight-through gradient along each row's path."""
        x, logits, threshold, leaf_value, leaf, position = ctx.saved_tensors
        transform, soft = ctx.options
        grad_logits = torch.zeros_like(logits)
        grad_threshold = torch.zeros_like(threshold)
        grad_leaf = torch.zeros_like(leaf_value)
        run_alone(
            _backward,
            _n_numbers(logits, leaf),
            *(t.numpy() for t in (x, logits, threshold, leaf_value)),
            ctx.columns,
            *(t.numpy() for t in (leaf, position, gradient.contiguous())),
            transform == "softmax",
            SOFT.index(soft),
            *(t.numpy() for t in (grad_logits, grad_threshold, grad_leaf)),
        )
        return None, grad_logits, grad_threshold, grad_leaf, None, None


def leaves_on_cpu(x, logits, threshold, columns):
    """`axis_leaves` by the numba kernel: LongTensor (E, B)."""
    no_value = x.new_empty(len(logits), logits.shape[1] + 1, 0)
    given = [t.detach().contiguous() for t in (x, logits, threshold, no_value)]
    return _walk(*given, _columns(columns))[1].long()


def _walk(x, logits, threshold, leaf_value, columns):
    """Outputs (E, C, B), leaf (E, B) of each row, position (E, N) of each split."""
    n_trees, n_nodes, _ = logits.shape
    out = x.new_empty(n_trees, leaf_value.shape[2], len(x))
    leaf = torch.empty(n_trees, len(x), dtype=torch.int32)
    position = torch.empty(n_trees, n_nodes, dtype=torch.int32)
    run_alone(
        _forward,
        _n_numbers(logits, leaf),
        *(t.numpy() for t in (x, logits, threshold, leaf_value)),
        columns,
        *(t.numpy() for t in (out, leaf, position)),
    )
    return out, leaf, position


def _n_numbers(logits, leaf) -> int:
    """About how many numbers the backward kernel works through."""
    return logits.shape[2] * leaf.numel() * logits.shape[1].bit_length()


def _columns(columns):
    """Features each tree may use as int64 (E, K); none stands for all, in order."""
    if columns is None:
        return np.empty((0, 0), dtype=np.int64)
    return columns.contiguous().numpy()  # another layout would compile once more


@njit(**OPTIONS)
def _argmax(values):
    """Position of the first largest value; a NaN counts as largest, as in torch."""
    best, at = values[0], 0
    for k in range(values.shape[0]):
        value = values[k]
        if value > best or (value != value and best == best):
            best, at = value, k
    return at


@njit(parallel=True, **OPTIONS)
def _forward(x, logits, threshold, leaf_value, columns, out, leaf, position):
    n_rows, n_splits, n_outputs = x.shape[0], logits.shape[1], leaf_value.shape[2]
    for e in prange(logits.shape[0]):
        position[e, :] = -1
        feature = np.zeros(n_splits, dtype=np.int64)
        bound = np.zeros(n_splits, dtype=x.dtype)
        for b in range(n_rows):
            node = 0
            while node < n_splits:
                if position[e, node] < 0:  # the first row that comes here
                    at = _argmax(logits[e, node])
                    position[e, node] = at
                    feature[node] = columns[e, at] if columns.shape[0] > 0 else at
                    bound[node] = threshold[e, node, at]
                left = x[b, feature[node]] <= bound[node]
                node = 2 * node + (1 if left else 2)
            reached = node - n_splits
            leaf[e, b] = reached
            for c in range(n_outputs):
                out[e, c, b] = leaf_value[e, reached, c]


@njit(**OPTIONS)
def _entmoid_root(z):
    """Square root of 1.5-entmax's first probability of the pair (z, 0)."""
    if z >= 2:
        return 1.0
    if z <= -2:
        return 0.0
    return (z + np.sqrt(8 - z * z)) / 4


@njit(**OPTIONS)
def _slope(margin, soft):
    """Derivative of the soft decision at a margin; see `decision_gradient`."""
    if soft == 0:
        left = 1 / (1 + np.exp(-abs(margin)))
        return left * (1 - left)
    if soft == 1:
        return 0.5 / ((1 + abs(margin)) * (1 + abs(margin)))
    root, other = _entmoid_root(margin), _entmoid_root(-margin)
    return root * other / (root + other)


@njit(parallel=True, **OPTIONS)
def _backward(
    x,
    logits,
    threshold,
    leaf_value,
    columns,
    leaf,
    position,
    gradient,
    softmax,
    soft,
    grad_logits,
    grad_threshold,
    grad_leaf,
):
    zero = x.dtype.type(0)
    n_rows = x.shape[0]
    n_splits, n_offered = logits.shape[1], logits.shape[2]
    n_outputs = leaf_value.shape[2]
    for e in prange(logits.shape[0]):
        feature = np.zeros(n_splits, dtype=np.int64)
        bound = np.zeros(n_splits, dtype=x.dtype)
        total = np.zeros(n_splits, dtype=x.dtype)
        offered = np.empty(n_offered, dtype=x.dtype)
        incoming = np.empty(n_outputs, dtype=x.dtype)
        for node in range(n_splits):
            at = position[e, node]
            if at < 0:  # no row came here; a turn may, in the walks below
                at = _argmax(logits[e, node])
                position[e, node] = at
            feature[node] = columns[e, at] if columns.shape[0] > 0 else at
            bound[node] = threshold[e, node, at]
        for b in range(n_rows):
            reached = leaf[e, b]
            value = zero
            silent = True
            for c in range(n_outputs):
                incoming[c] = gradient[e, c, b]
                silent = silent and incoming[c] == 0
                value += incoming[c] * leaf_value[e, reached, c]
            if silent:
                continue
            for c in range(n_outputs):
                grad_leaf[e, reached, c] += incoming[c]
            if columns.shape[0] > 0:
                for k in range(n_offered):
                    offered[k] = x[b, columns[e, k]]
            child = reached + n_splits
            while child > 0:
                node = (child - 1) // 2
                went_left = child % 2 == 1
                turn = child + 1 if went_left else child - 1
                while turn < n_splits:
                    left = x[b, feature[turn]] <= bound[turn]
                    turn = 2 * turn + (1 if left else 2)
                turn -= n_splits
                other = zero
                for c in range(n_outputs):
                    other += incoming[c] * leaf_value[e, turn, c]
                difference = value - other if went_left else other - value
                margin = bound[node] - x[b, feature[node]]
                g = x.dtype.type(difference * _slope(margin, soft))
                if g != 0:
                    total[node] += g
                    if columns.shape[0] > 0:
                        for k in range(n_offered):
                            grad_logits[e, node, k] -= g * offered[k]
                    else:
                        for k in range(n_offered):
                            grad_logits[e, node, k] -= g * x[b, k]
                child = node
        for node in range(n_splits):
            if total[node] == 0 and not grad_logits[e, node].any():
                continue
            grad_threshold[e, node, position[e, node]] = total[node]
            moved = grad_logits[e, node]
            for k in range(n_offered):
                moved[k] += threshold[e, node, k] * total[node]
            if softmax:
                _softmax_backward(logits[e, node], moved)
            else:
                _entmax15_backward(logits[e, node], moved)


@njit(**OPTIONS)
def _softmax_backward(logits, moved):
    """Gradient of the logits from that of their softmax, in place."""
    zero = moved.dtype.type(0)
    largest = logits.max()
    total = zero
    mean = zero
    for k in range(logits.shape[0]):
        p = np.exp(logits[k] - largest)
        total += p
        mean += p * moved[k]
    mean /= total
    for k in range(logits.shape[0]):
        moved[k] = np.exp(logits[k] - largest) / total * (moved[k] - mean)


@njit(**OPTIONS)
def _entmax15_backward(logits, moved):
    """Gradient of the logits from that of their 1.5-entmax, in place.

    The probabilities are (logits / 2 - tau)_+ ** 2 with sum 1 (Peters et al.,
    arXiv:1905.05702). That sum falls in tau and is convex, so Newton's steps from the
    left of the root never pass it: no sort.
    """
    zero, half = moved.dtype.type(0), moved.dtype.type(0.5)
    tau = half * logits.max() - moved.dtype.type(1)
    for _ in range(NEWTON_STEPS):
        first = zero
        second = zero
        for k in range(logits.shape[0]):
            root = max(half * logits[k] - tau, zero)
            first += root
            second += root * root
        step = half * (second - moved.dtype.type(1)) / first
        tau += step
        if not step > 1e-7:
            break
    total = zero
    mean = zero
    for k in range(logits.shape[0]):
        root = max(half * logits[k] - tau, zero)
        total += root
        mean += root * moved[k]
    mean /= total
    for k in range(logits.shape[0]):
        root = max(half * logits[k] - tau, zero)
        moved[k] = root * (moved[k] - mean)
