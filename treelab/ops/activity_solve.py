"""Isotonic regression on a batch of binary trees, by threshold decomposition.

With ``f_t(a) = price * a - pull_t - sum_b max(target_bt - a, 0)``, which never falls,
the program of both argmin formulations is to find the smallest a in [0, 1]^T whose
nodes stay below their parents and whose f has the sign that a minimiser wants.
A node lies above a threshold theta exactly when it is in the minimal set that is
closed towards the root under the weights f_t(theta) (Hochbaum and Queyranne 2003).
"""

import torch
from torch import Tensor

from treelab.ops.activity_numba import ActivityOnCpu

CUTS = 32  # thresholds tried at once; each round makes every interval so much shorter


def solve_activity(
    target: Tensor, pull: Tensor, price: Tensor, *, offset: float = 0.0
) -> Tensor:
    """Minimise ``sum_t price/2 a^2 - pull_t a + 1/2 sum_b max(target_bt - a, 0)^2``.

    Subject to 0 <= a <= 1 and no node above its parent. Exact: thresholds only find
    which nodes share a value and which rows act on it; the value, and its Jacobian,
    are then the closed form. On the CPU numba kernels do it, elsewhere torch, without
    ever waiting for the device.

    Parameters
    ----------
    target : Tensor of shape (E, T, B)
        Nodes breadth first, T = 2**(depth + 1) - 1. float32 or float64.
    pull : Tensor of shape (E, T)
    price : Tensor of shape (E,)
        At least 0.
    offset : float, default=0
        Added to every target.

    Returns
    -------
    Tensor of shape (E, T)
        Where the minimiser is not unique (price 0), the smallest.
    """
    if target.device.type == "cpu":
        return ActivityOnCpu.apply(target, pull, price, offset)
    return ActivityInTorch.apply(target + offset, pull, price)


class ActivityInTorch(torch.autograd.Function):
    """The solution forward; backward, the Jacobian of each group's closed form."""

    @staticmethod
    def forward(ctx, target: Tensor, pull: Tensor, price: Tensor) -> Tensor:
        """Solve; keep what the Jacobian needs."""
        rough, group = find_groups(target, pull, price)
        acts = target > rough[..., None]  # (E, T, B), the active scores S
        total = pull + (target * acts).sum(-1)
        weight = price[:, None] + acts.sum(-1)
        total = _group_sum(total, group)
        weight = _group_sum(weight, group)
        # A group that costs nothing and that no row wants has weight 0: it is empty.
        free = total / weight.where(weight > 0, torch.ones_like(weight))
        activity = free.clamp(0, 1)
        inside = (free > 0) & (free < 1)
        ctx.save_for_backward(acts, activity, weight, inside, group)
        return activity

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hand each group's gradient to the scores and pulls that it averages."""
        acts, activity, weight, inside, group = ctx.saved_tensors
        share = torch.where(inside, _group_sum(grad, group) / weight, 0.0)
        return acts * share[..., None], share, -(share * activity).sum(1)


def find_groups(target: Tensor, pull: Tensor, price: Tensor) -> tuple[Tensor, Tensor]:
    """Which nodes share a value, and that value to about the precision of floats.

    Parameters
    ----------
    target : Tensor of shape (E, T, B)
    pull : Tensor of shape (E, T)
    price : Tensor of shape (E,)

    Returns
    -------
    rough : Tensor of shape (E, T)
        The solution rounded down, by at most ``2**-20`` (float64: ``2**-50``).
    group : Tensor of shape (E, T), int64
        The topmost node of each node's group; nodes at 0 that touch are one group,
        and so are nodes at 1.
    """
    # No threshold is below 0, so a target below 0 never acts.
    ranked = target.clamp(min=0).sort(dim=-1).values
    above = ranked.flip(-1).cumsum(-1).flip(-1)  # sum of ranked[i:]
    above = torch.nn.functional.pad(above, (0, 1))  # (E, T, B + 1)
    digits = torch.arange(CUTS + 1, device=target.device, dtype=target.dtype)

    def passed(start: Tensor, step: float) -> Tensor:
        """How many of the cuts from start to the interval's end each node is above."""
        cuts = start[..., None] + step * digits  # (E, T, K + 1)
        slope = _slope(ranked, above, pull, price, cuts)
        return _closed_set(slope, start).sum(-1)

    # The first round also tells who is not above 0 and who is above 1.
    step = 1 / CUTS
    rank = passed(torch.zeros_like(pull), step)
    settled = (rank == 0) | (rank == CUTS + 1)
    start = torch.where(settled, (rank - 1).sign(), (rank - 1) * step).to(pull.dtype)
    bits = 50 if target.dtype == torch.float64 else 20
    while step > 2.0**-bits:
        step /= CUTS
        digit = (passed(start, step) - 1).clamp(0, CUTS - 1)
        start = torch.where(settled, start, start + step * digit)
    return start.clamp(min=0), _top_of_group(start)


def _slope(
    ranked: Tensor, above: Tensor, pull: Tensor, price: Tensor, cuts: Tensor
) -> Tensor:
    """Derivative f_t at each of a node's cuts, (E, T, K + 1)."""
    first = torch.searchsorted(ranked, cuts, right=True)  # the first target that acts
    count = ranked.shape[-1] - first
    act = above.gather(-1, first) - count * cuts
    return price[:, None, None] * cuts - pull[..., None] - act


def _closed_set(slope: Tensor, start: Tensor) -> Tensor:
    """Whether each node is above each cut: in the minimal set closed to the root.

    Nodes of other intervals are decided already: a parent is above, children are not.
    """
    depth = start.shape[1].bit_length() - 1
    wish = [slope[:, 2**d - 1 : 2 ** (d + 1) - 1] for d in range(depth + 1)]
    tied = [_tied_to_parent(start, d)[..., None] for d in range(1, depth + 1)]
    for d in range(depth, 0, -1):  # what a node's best set costs, itself included
        gain = torch.where(tied[d - 1], wish[d].clamp(max=0), 0.0)
        wish[d - 1] = wish[d - 1] + gain.unflatten(1, (-1, 2)).sum(2)
    inside = [wish[0] < 0]
    for d in range(1, depth + 1):
        parent = inside[-1].repeat_interleave(2, dim=1)
        inside.append((wish[d] < 0) & (parent | ~tied[d - 1]))
    return torch.cat(inside, dim=1)


def _top_of_group(start: Tensor) -> Tensor:
    """The topmost node that each node is joined to by edges of equal value, (E, T)."""
    n_trees, n_nodes = start.shape
    node = torch.arange(n_nodes, device=start.device).expand(n_trees, -1)
    tops = [node[:, :1]]
    for d in range(1, n_nodes.bit_length()):
        own = node[:, 2**d - 1 : 2 ** (d + 1) - 1]
        parent = tops[-1].repeat_interleave(2, dim=1)
        tops.append(torch.where(_tied_to_parent(start, d), parent, own))
    return torch.cat(tops, dim=1)


def _tied_to_parent(start: Tensor, d: int) -> Tensor:
    """Whether each node of level d shares its parent's interval, (E, 2**d)."""
    parent = start[:, 2 ** (d - 1) - 1 : 2**d - 1].repeat_interleave(2, dim=1)
    return start[:, 2**d - 1 : 2 ** (d + 1) - 1] == parent


def _group_sum(value: Tensor, group: Tensor) -> Tensor:
    """Sum of each node's group, (E, T)."""
    total = torch.zeros_like(value).scatter_add(1, group, value)
    return total.gather(1, group)
