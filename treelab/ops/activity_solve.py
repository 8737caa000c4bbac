"""Isotonic regression on a batch of binary trees, by threshold decomposition.

Source: Zantedeschi, Kusner and Niculae, arXiv:2010.04627; equations of its first
version. The program is theirs (eq. 7). Its solution differs from algorithm 1, which
pools two nodes after another: thresholds are tried for all nodes and trees at once. Let
``f_t(a) = penalty * a - preference_t - sum_b max(score_bt - a, 0)``, the derivative of
g_t. Then a node's activity is above a threshold theta exactly when the node is in the
minimal set that is closed towards the root under the weights f_t(theta) (Hochbaum and
Queyranne 2003).
"""

import torch
from torch import Tensor

N_THRESHOLDS = 32  # tried at once; each round makes every interval so much shorter


def solve_activity(
    score: Tensor, preference: Tensor, penalty: Tensor, *, offset: float = 0.0
) -> Tensor:
    """Minimise ``sum_t penalty/2 a^2 - preference_t a + 1/2 sum_b max(q_bt - a, 0)^2``.

    Subject to 0 <= a <= 1 and no node above its parent: eq. 7 for penalty 1 and
    preference eta. Exact: thresholds only find which nodes share a value and which
    scores are active; the value (eq. 9) and its Jacobian are then the closed form, all
    without ever waiting for the device.

    The ``score`` q (E, T, B), float32 or float64, are path scores, nodes breadth first,
    to each of which the offset is added; ``preference`` (E, T), ``penalty`` (E,) at
    least 0. Returned are the activities (E, T); where the minimiser is not unique
    (penalty 0), the smallest.
    """
    return _Activity.apply(score + offset, preference, penalty)


class _Activity(torch.autograd.Function):
    """The solution forward; backward, the Jacobian of each group's closed form."""

    @staticmethod
    def forward(ctx, score: Tensor, preference: Tensor, penalty: Tensor) -> Tensor:
        """Solve; save what the Jacobian needs."""
        rounded, group = find_groups(score, preference, penalty)
        active = score > rounded[..., None]  # (E, T, B), the set S(k) of proposition 2
        total = preference + (score * active).sum(-1)
        weight = penalty[:, None] + active.sum(-1)
        total = _group_sum(total, group)
        weight = _group_sum(weight, group)
        # A group without a penalty and without an active score has weight 0.
        unclipped = total / weight.where(weight > 0, torch.ones_like(weight))  # eq. 9
        activity = unclipped.clamp(0, 1)
        inside = (unclipped > 0) & (unclipped < 1)
        ctx.save_for_backward(active, activity, weight, inside, group)
        return activity

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Divide each group's gradient among what it averages (end of section 3.2)."""
        active, activity, weight, inside, group = ctx.saved_tensors
        score_grad = torch.where(inside, _group_sum(grad, group) / weight, 0.0)
        penalty_grad = -(score_grad * activity).sum(1)
        return active * score_grad[..., None], score_grad, penalty_grad


def find_groups(
    score: Tensor, preference: Tensor, penalty: Tensor
) -> tuple[Tensor, Tensor]:
    """Which nodes share a value, and that value to about the precision of floats.

    The solution (E, T) is rounded down, by at most ``2**-20`` (float64: ``2**-50``).
    Groups (E, T), int64, are the topmost node of each node's group; nodes at 0 that
    touch are one group, and so are nodes at 1.
    """
    # No threshold is below 0, so a score below 0 is never active.
    ranked = score.clamp(min=0).sort(dim=-1).values
    above = ranked.flip(-1).cumsum(-1).flip(-1)  # sum of ranked[i:]
    above = torch.nn.functional.pad(above, (0, 1))  # (E, T, B + 1)
    digits = torch.arange(N_THRESHOLDS + 1, device=score.device, dtype=score.dtype)

    def passed(start: Tensor, step: float) -> Tensor:
        """Count each interval's thresholds that its node is above, (E, T)."""
        thresholds = start[..., None] + step * digits  # (E, T, K + 1)
        slope = _slope(ranked, above, preference, penalty, thresholds)
        return _closed_set(slope, start).sum(-1)

    # The first round also finds the nodes that are not above 0, or above 1.
    step = 1 / N_THRESHOLDS
    rank = passed(torch.zeros_like(preference), step)
    settled = (rank == 0) | (rank == N_THRESHOLDS + 1)
    start = torch.where(settled, (rank - 1).sign(), (rank - 1) * step).to(
        preference.dtype
    )
    bits = 50 if score.dtype == torch.float64 else 20
    while step > 2.0**-bits:
        step /= N_THRESHOLDS
        digit = (passed(start, step) - 1).clamp(0, N_THRESHOLDS - 1)
        start = torch.where(settled, start, start + step * digit)
    return start.clamp(min=0), _top_of_group(start)


def _slope(
    ranked: Tensor,
    above: Tensor,
    preference: Tensor,
    penalty: Tensor,
    thresholds: Tensor,
) -> Tensor:
    """Derivative f_t at each of a node's thresholds, (E, T, K + 1)."""
    first = torch.searchsorted(ranked, thresholds, right=True)  # the first active score
    count = ranked.shape[-1] - first
    excess = above.gather(-1, first) - count * thresholds
    return penalty[:, None, None] * thresholds - preference[..., None] - excess


def _closed_set(slope: Tensor, start: Tensor) -> Tensor:
    """Whether each node is above each threshold: in the minimal set closed to the root.

    Nodes of other intervals are decided already: a parent is above, children are not.
    """
    depth = start.shape[1].bit_length() - 1
    cost = [slope[:, 2**d - 1 : 2 ** (d + 1) - 1] for d in range(depth + 1)]
    tied = [_tied_to_parent(start, d)[..., None] for d in range(1, depth + 1)]
    for d in range(depth, 0, -1):  # what a node's best set costs, itself included
        gain = torch.where(tied[d - 1], cost[d].clamp(max=0), 0.0)
        cost[d - 1] = cost[d - 1] + gain.unflatten(1, (-1, 2)).sum(2)
    inside = [cost[0] < 0]
    for d in range(1, depth + 1):
        parent = inside[-1].repeat_interleave(2, dim=1)
        inside.append((cost[d] < 0) & (parent | ~tied[d - 1]))
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
