"""CPU kernel of `soft_route`: a block of rows goes up and down the tree in the cache.

Shapes: E trees, N = 2**D - 1 splits, L = 2**D leaves, B rows, C outputs. The fractions
that arrive at nodes are stored in one array of 2 * L - 1 nodes, breadth first.
"""

import numpy as np
import torch
from numba import njit, prange

from treelab.ops.threads import OPTIONS, run_alone

BLOCK = 256  # rows; few enough for a core's own cache, enough to read in runs
LEAST_TASKS = 8  # pieces of work at least, so that few trees keep many cores busy
TINY = 1e-18  # of a row: less changes nothing, and leads to denormal numbers: slow


class SoftRouteOnCpu(torch.autograd.Function):
    """`soft_route` by the numba kernels; its arguments are checked already."""

    @staticmethod
    def forward(ctx, margin, scale_factor, leaf_value):
        """Send each row down all branches at once, a block of rows at a time."""
        left = torch.mul(margin.detach(), scale_factor).sigmoid_().contiguous()
        leaf_value = leaf_value.detach().contiguous()
        scale = scale_factor.detach().to(left.dtype).expand(len(left), 1, 1)
        scale = scale.reshape(-1).contiguous()
        out = left.new_empty(len(left), leaf_value.shape[2], left.shape[2])
        ctx.save_for_backward(left, leaf_value, scale)
        chunks = _chunks(left)
        arrays = left.numpy(), leaf_value.numpy(), chunks, out.numpy()
        run_alone(_forward, _n_numbers(left), *arrays)
        return out

    @staticmethod
    def backward(ctx, gradient):
        """Route again, and bring the gradient up from the leaves."""
        left, leaf_value, scale = ctx.saved_tensors
        chunks = _chunks(left)
        grad_margin = torch.empty_like(left)
        of_chunks = leaf_value.new_zeros(len(chunks) - 1, *leaf_value.shape)
        run_alone(
            _backward,
            _n_numbers(left),
            *(t.numpy() for t in (left, leaf_value, scale)),
            chunks,
            *(t.numpy() for t in (gradient.contiguous(), grad_margin, of_chunks)),
        )
        return grad_margin, None, of_chunks.sum(0)


def _chunks(left) -> np.ndarray:
    """Where pieces of the rows begin and end; the same for any number of threads."""
    n_blocks = -(-left.shape[2] // BLOCK)
    n_chunks = max(1, min(-(-LEAST_TASKS // len(left)), n_blocks))
    ends = np.arange(n_chunks + 1) * n_blocks // n_chunks * BLOCK
    return np.minimum(ends, left.shape[2])


def _n_numbers(left) -> int:
    """About how many numbers a kernel works through."""
    return 4 * left.numel()


@njit(**OPTIONS)
def _arrive(left, start, n, arrived):
    """Fill in the fractions of ``n`` rows that arrive at each node."""
    zero, tiny = left.dtype.type(0), left.dtype.type(TINY)
    for r in range(n):
        arrived[0, r] = 1
    for node in range(left.shape[0]):
        here, fraction = arrived[node], left[node, start : start + n]
        to_left, to_right = arrived[2 * node + 1], arrived[2 * node + 2]
        for r in range(n):
            going = here[r] * fraction[r]
            going = going if going > tiny else zero
            rest = here[r] - going
            to_left[r] = going
            to_right[r] = rest if rest > tiny else zero


@njit(parallel=True, **OPTIONS)
def _forward(left, leaf_value, chunks, out):
    n_splits = left.shape[1]
    _, n_leaves, n_outputs = leaf_value.shape
    n_chunks = len(chunks) - 1
    for task in prange(len(left) * n_chunks):
        e, chunk = task // n_chunks, task % n_chunks
        zero, tiny = left.dtype.type(0), left.dtype.type(TINY)
        arrived = np.empty((n_splits + n_leaves, BLOCK), left.dtype)
        for start in range(chunks[chunk], chunks[chunk + 1], BLOCK):
            n = min(BLOCK, chunks[chunk + 1] - start)
            for node in range(n_splits):
                fraction = left[e, node, start : start + n]
                for r in range(n):
                    fraction[r] = fraction[r] if fraction[r] > tiny else zero
            _arrive(left[e], start, n, arrived)
            for c in range(n_outputs):
                total = out[e, c, start : start + n]
                total[:] = zero
                for at in range(n_leaves):
                    fraction, value = arrived[n_splits + at], leaf_value[e, at, c]
                    for r in range(n):
                        total[r] += fraction[r] * value


@njit(parallel=True, **OPTIONS)
def _backward(left, leaf_value, scale, chunks, gradient, grad_margin, grad_leaf):
    n_splits = left.shape[1]
    _, n_leaves, n_outputs = leaf_value.shape
    n_chunks = len(chunks) - 1
    for task in prange(len(left) * n_chunks):
        e, chunk = task // n_chunks, task % n_chunks
        zero, one, slope = left.dtype.type(0), left.dtype.type(1), scale[e]
        arrived = np.empty((n_splits + n_leaves, BLOCK), left.dtype)
        value_at = np.empty((n_splits + n_leaves, BLOCK), left.dtype)
        for start in range(chunks[chunk], chunks[chunk + 1], BLOCK):
            n = min(BLOCK, chunks[chunk + 1] - start)
            _arrive(left[e], start, n, arrived)
            for at in range(n_leaves):
                fraction, here = arrived[n_splits + at], value_at[n_splits + at]
                here[:] = zero
                for c in range(n_outputs):
                    wanted = gradient[e, c, start : start + n]
                    value, total = leaf_value[e, at, c], zero
                    for r in range(n):
                        here[r] += value * wanted[r]
                    for r in range(n):
                        total += fraction[r] * wanted[r]
                    grad_leaf[chunk, e, at, c] += total
            for node in range(n_splits - 1, -1, -1):
                of_left, of_right = value_at[2 * node + 1], value_at[2 * node + 2]
                here, came = value_at[node], arrived[node]
                fraction = left[e, node, start : start + n]
                wanted = grad_margin[e, node, start : start + n]
                for r in range(n):
                    gain = of_left[r] - of_right[r]
                    here[r] = of_right[r] + fraction[r] * gain
                    of_left[r] = gain
                gains = of_left  # one loop over all of these arrays is not vectorised
                for r in range(n):
                    moved = came[r] * fraction[r] * gains[r]
                    wanted[r] = moved * (slope * (one - fraction[r]))
