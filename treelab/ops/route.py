"""Bring leaf values up a tree: ``2**depth`` work, and a gradient by reach."""

import torch
from torch import Tensor


def route(left: Tensor, leaf_value: Tensor, *, hard: bool = False) -> Tensor:
    """Value (E, C, B) that reaches the root when splits send fractions of rows left.

    It is ``sum_l lambda_l L(x | l)`` with the leaf indicator
    ``L(x | l) = prod_j (1 - p(l, j)) S_j + p(l, j) (1 - S_j)`` over the splits ``j``
    above leaf ``l``, where ``p`` is 0 if the leaf lies to their left and else 1
    (GradTree, arXiv:2305.03515, section 3.1, eq. 1 and 3; GRANDE, arXiv:2309.17130,
    section 2, eq. 2 and 3; GET, arXiv:2411.17003, section 3.1, eq. 2). It is computed
    level by level. The gradient of a split is ``reach * (V_left - V_right)``, where
    ``reach`` is the fraction of the row that arrives at the split and the ``V`` are the
    values that come up from its two children.

    ``left`` (E, N, B) are the fractions S in [0, 1] that splits, breadth first, send
    left; ``leaf_value`` (E, L, C) the values lambda at each leaf, left to right, or
    (E, L, C, B), where they differ from row to row (linear leaves). ``hard`` says that
    every fraction is 0 or 1: forward is then a walk, of the same results. ValueError if
    there is not one split fewer than leaves, or not ``2**depth`` leaves.
    """
    check_complete(left.shape[1], leaf_value.shape[1])
    return _Route.apply(left, leaf_value, hard)


def check_complete(n_splits: int, n_leaves: int) -> None:
    """Refuse splits and leaves that make no complete tree."""
    if n_splits != n_leaves - 1:
        raise ValueError(f"{n_leaves} leaves, but {n_splits} splits.")
    if n_leaves & (n_leaves - 1):
        raise ValueError(f"{n_leaves} leaves are no power of two.")


def reached_leaf(left: Tensor) -> Tensor:
    """Leaf (E, B) that each row reaches under hard decisions, left to right from 0.

    ``left`` (E, N, B) is True or non-zero where a row would go left.
    """
    n_trees, n_splits, n_rows = left.shape
    node = torch.zeros(n_trees, n_rows, dtype=torch.long, device=left.device)
    for _ in range((n_splits + 1).bit_length() - 1):
        goes_left = left.gather(1, node[:, None])[:, 0] > 0
        node = 2 * node + 2 - goes_left.long()
    return node - n_splits


def reach(left: Tensor) -> tuple[Tensor, Tensor]:
    """Fraction of each row that arrives at every split (E, N, B), and at every leaf.

    At leaves (E, L, B) it is the leaf indicator ``L(x | l)`` (see `route`); those of
    one tree sum to 1. ``left`` (E, N, B) is the fraction that each split sends left.
    """
    n_splits = left.shape[1]
    levels = []
    arriving = left.new_ones(len(left), 1, left.shape[2])  # (E, nodes on this level, B)
    while (width := arriving.shape[1]) <= n_splits:
        levels.append(arriving)
        going_left = arriving * left[:, width - 1 : 2 * width - 1]
        arriving = torch.stack([going_left, arriving - going_left], 2).flatten(1, 2)
    splits = torch.cat(levels, 1) if levels else left
    return splits, arriving


class _Route(torch.autograd.Function):
    """`route` with its backward pass written out."""

    @staticmethod
    def forward(ctx, left, leaf_value, hard):
        ctx.hard = hard
        if hard:
            leaf = reached_leaf(left)  # (E, B)
            ctx.save_for_backward(left, leaf_value, leaf)
            index = leaf[:, :, None].expand(-1, -1, leaf_value.shape[2])  # (E, B, C)
            if leaf_value.ndim == 3:
                return leaf_value.gather(1, index).transpose(1, 2)
            index = index.transpose(1, 2)[:, None]  # (E, 1, C, B)
            return leaf_value.gather(1, index)[:, 0]
        arrived, at_leaf = reach(left)
        ctx.save_for_backward(left, leaf_value, arrived, at_leaf)
        if leaf_value.ndim == 3:
            return torch.bmm(leaf_value.transpose(1, 2), at_leaf)
        return (at_leaf[:, :, None] * leaf_value).sum(1)

    @staticmethod
    def backward(ctx, gradient):
        left, leaf_value, *saved = ctx.saved_tensors
        if ctx.hard:
            (leaf,) = saved
            at_leaf = torch.zeros_like(left[:, :1]).expand(-1, left.shape[1] + 1, -1)
            at_leaf = at_leaf.scatter(1, leaf[:, None], 1.0)
            arrived = _reach_of_splits(leaf, left)
        else:
            arrived, at_leaf = saved
        constant = leaf_value.ndim == 3
        grad_left = grad_leaf = None
        if ctx.needs_input_grad[1]:
            grad_leaf = (
                torch.bmm(at_leaf, gradient.transpose(1, 2))
                if constant
                else at_leaf[:, :, None] * gradient[:, None]
            )
        if ctx.needs_input_grad[0]:
            # With C outputs the values are contracted with the incoming gradient
            # first, so that one number a leaf and row comes up the tree.
            contracted = (
                torch.bmm(leaf_value, gradient)
                if constant
                else (leaf_value * gradient[:, None]).sum(2)
            )  # (E, L, B)
            grad_left = _child_differences(contracted, left, ctx.hard)
            grad_left = grad_left.mul_(arrived)
        return grad_left, grad_leaf, None


def _child_differences(value: Tensor, left: Tensor, hard: bool) -> Tensor:
    """Value from the left child of each split less that from the right, (E, N, B).

    ``value`` (E, L, B) is one number for each leaf and row.
    """
    difference = torch.empty_like(left)
    while (width := value.shape[1] // 2) > 0:
        level = slice(width - 1, 2 * width - 1)
        of_left, of_right = value[:, 0::2], value[:, 1::2]
        torch.sub(of_left, of_right, out=difference[:, level])
        if width == 1:
            break
        value = (
            torch.where(left[:, level] > 0, of_left, of_right)
            if hard
            else torch.addcmul(of_right, left[:, level], difference[:, level])
        )
    return difference


def _reach_of_splits(leaf: Tensor, left: Tensor) -> Tensor:
    """One at each split that a row passes on its path to `leaf`, else 0, (E, N, B)."""
    passed = torch.zeros_like(left)
    node = leaf + left.shape[1]
    for _ in range((left.shape[1] + 1).bit_length() - 1):
        node = (node - 1) // 2
        passed.scatter_(1, node[:, None], 1.0)
    return passed
