"""CUDA kernels of `axis_trees`: the walks of the CPU kernel, a block of rows a program.

The backward kernel writes the gradient of every margin on a row's path, (E, N, B); the
selectors' gradient is then one matrix product, as in `select`.
"""

import torch
import triton
import triton.language as tl

from treelab.ops.decide import SOFT
from treelab.ops.select import chosen_split, gradient_times_rows, transform_gradient

ROWS_A_PROGRAM = 128


class AxisTreesOnCuda(torch.autograd.Function):
    """`axis_trees` by the Triton kernels; its arguments are checked already."""

    @staticmethod
    def forward(ctx, x, logits, threshold, leaf_value, columns, options):
        """Walk each row to its leaf in each tree; save the leaves."""
        position, feature, bound = chosen_split(logits, threshold, columns)
        by_feature = x.t().contiguous()  # (F, B)
        leaf_value = leaf_value.contiguous()
        feature, bound = feature.int().contiguous(), bound.contiguous()
        n_trees, n_leaves, n_outputs = leaf_value.shape
        n_rows = len(x)
        out = x.new_empty(n_trees, n_outputs, n_rows)
        leaf = torch.empty(n_trees, n_rows, dtype=torch.int32, device=x.device)
        _forward[_grid(n_trees, n_rows)](
            by_feature,
            feature,
            bound,
            leaf_value,
            out,
            leaf,
            n_rows,
            n_leaves,
            N_OUTPUTS=n_outputs,
            DEPTH=n_leaves.bit_length() - 1,
            BLOCK=ROWS_A_PROGRAM,
        )
        ctx.save_for_backward(
            x, logits, threshold, leaf_value, columns, position, feature, bound, leaf
        )
        ctx.by_feature, ctx.options = by_feature, options
        return out

    @staticmethod
    def backward(ctx, gradient):
        """Add up the straight-through gradient along each row's path."""
        x, logits, threshold, leaf_value, columns, position, *walk = ctx.saved_tensors
        feature, bound, leaf = walk
        transform, soft = ctx.options
        n_trees, n_leaves, n_outputs = leaf_value.shape
        n_rows = len(x)
        of_margin = x.new_zeros(n_trees, n_leaves - 1, n_rows)
        grad_leaf = torch.zeros_like(leaf_value)
        _backward[_grid(n_trees, n_rows)](
            ctx.by_feature,
            feature,
            bound,
            leaf_value,
            leaf,
            gradient.contiguous(),
            of_margin,
            grad_leaf,
            n_rows,
            n_leaves,
            SOFT=SOFT.index(soft),
            N_OUTPUTS=n_outputs,
            DEPTH=n_leaves.bit_length() - 1,
            BLOCK=ROWS_A_PROGRAM,
        )
        total = of_margin.sum(-1)  # (E, N)
        grad_threshold = torch.zeros_like(threshold)
        grad_threshold.scatter_(-1, position[..., None], total[..., None])
        moved = gradient_times_rows(of_margin, x, columns)  # (E, N, K)
        moved = torch.addcmul(-moved, threshold, total[..., None])
        grad_logits = transform_gradient(logits, moved, transform)
        return None, grad_logits, grad_threshold, grad_leaf, None, None


def _grid(n_trees: int, n_rows: int) -> tuple[int, int]:
    """One program for each tree and block of rows."""
    return n_trees, triton.cdiv(n_rows, ROWS_A_PROGRAM)


@triton.jit
def _step_down(node, going, x_ptr, feature_ptr, bound_ptr, row, n_rows):
    """Move the rows that are still going one level down."""
    feature = tl.load(feature_ptr + node, mask=going, other=0)
    bound = tl.load(bound_ptr + node, mask=going, other=0.0)
    value = tl.load(x_ptr + feature * n_rows + row, mask=going, other=0.0)
    below = 2 * node + tl.where(value <= bound, 1, 2)
    return tl.where(going, below, node)


@triton.jit
def _forward(
    x_ptr,
    feature_ptr,
    bound_ptr,
    leaf_value_ptr,
    out_ptr,
    leaf_ptr,
    n_rows,
    n_leaves,
    N_OUTPUTS: tl.constexpr,
    DEPTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = row < n_rows
    n_splits = n_leaves - 1
    feature_ptr += tree * n_splits
    bound_ptr += tree * n_splits
    node = tl.zeros((BLOCK,), dtype=tl.int32)
    for _ in range(DEPTH):
        going = inside & (node < n_splits)
        node = _step_down(node, going, x_ptr, feature_ptr, bound_ptr, row, n_rows)
    leaf = node - n_splits
    tl.store(leaf_ptr + tree * n_rows + row, leaf, mask=inside)
    for c in range(N_OUTPUTS):
        place = (tree * n_leaves + leaf) * N_OUTPUTS + c
        value = tl.load(leaf_value_ptr + place, mask=inside, other=0.0)
        tl.store(out_ptr + (tree * N_OUTPUTS + c) * n_rows + row, value, mask=inside)


@triton.jit
def _entmoid_root(z):
    """Square root of 1.5-entmax's first probability of (z, 0), for |z| <= 2."""
    return (z + tl.sqrt(8.0 - z * z)) / 4.0


@triton.jit
def _slope(margin, SOFT: tl.constexpr):
    """Derivative of the soft decision at a margin; see `decision_gradient`."""
    if SOFT == 0:
        left = 1.0 / (1.0 + tl.exp(-tl.abs(margin)))
        slope = left * (1.0 - left)
    elif SOFT == 1:
        slope = 0.5 / ((1.0 + tl.abs(margin)) * (1.0 + tl.abs(margin)))
    else:
        z = tl.minimum(tl.maximum(margin, -2.0), 2.0)
        root, other = _entmoid_root(z), _entmoid_root(-z)
        slope = root * other / (root + other)
    return slope


@triton.jit
def _backward(
    x_ptr,
    feature_ptr,
    bound_ptr,
    leaf_value_ptr,
    leaf_ptr,
    gradient_ptr,
    of_margin_ptr,
    grad_leaf_ptr,
    n_rows,
    n_leaves,
    SOFT: tl.constexpr,
    N_OUTPUTS: tl.constexpr,
    DEPTH: tl.constexpr,
    BLOCK: tl.constexpr,
):
    tree = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = row < n_rows
    n_splits = n_leaves - 1
    feature_ptr += tree * n_splits
    bound_ptr += tree * n_splits
    leaf_value_ptr += tree * n_leaves * N_OUTPUTS
    gradient_ptr += tree * N_OUTPUTS * n_rows
    leaf = tl.load(leaf_ptr + tree * n_rows + row, mask=inside, other=0)
    for c in range(N_OUTPUTS):
        incoming = tl.load(gradient_ptr + c * n_rows + row, mask=inside, other=0.0)
        place = (tree * n_leaves + leaf) * N_OUTPUTS + c
        tl.atomic_add(grad_leaf_ptr + place, incoming, mask=inside)
    child = leaf + n_splits
    for _ in range(DEPTH):
        going = inside & (child > 0)
        node = tl.where(going, (child - 1) // 2, 0)
        went_left = child % 2 == 1
        # The leaf that the row would reach if it turned the other way here.
        turn = tl.where(went_left, child + 1, child - 1)
        for _ in range(DEPTH):
            walking = going & (turn < n_splits)
            turn = _step_down(turn, walking, x_ptr, feature_ptr, bound_ptr, row, n_rows)
        turn = turn - n_splits
        difference = tl.zeros((BLOCK,), dtype=tl.float32)
        for c in range(N_OUTPUTS):
            incoming = tl.load(gradient_ptr + c * n_rows + row, mask=going, other=0.0)
            own = tl.load(leaf_value_ptr + leaf * N_OUTPUTS + c, mask=going, other=0.0)
            other = tl.load(
                leaf_value_ptr + turn * N_OUTPUTS + c, mask=going, other=0.0
            )
            difference += incoming * (own - other)
        difference = tl.where(went_left, difference, -difference)
        feature = tl.load(feature_ptr + node, mask=going, other=0)
        bound = tl.load(bound_ptr + node, mask=going, other=0.0)
        value = tl.load(x_ptr + feature * n_rows + row, mask=going, other=0.0)
        slope = _slope(bound - value, SOFT)
        place = (tree * n_splits + node) * n_rows + row
        tl.store(of_margin_ptr + place, difference * slope, mask=going)
        child = tl.where(going, node, 0)
