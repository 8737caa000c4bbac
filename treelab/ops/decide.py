"""Turn margins into decisions: soft ones, or hard ones with a soft gradient."""

import torch
from torch import Tensor

SOFT = ("logistic", "softsign", "entmoid")  # kernels know them by their places


def decide(margin: Tensor, *, soft: str = "logistic", hard: bool = True) -> Tensor:
    """Fraction of a row that each split sends left, S(z) in [0, 1] of the margin z.

    - "logistic": ``S(z) = 1 / (1 + exp(-z))`` (GradTree, section 3.2, eq. 6).
    - "softsign": ``S(z) = (z / (1 + |z|) + 1) / 2`` (GRANDE, section 3.2, eq. 6).
    - "entmoid": 1.5-entmax over the pair ``(z, 0)`` (Peters et al., 2019).

    The hard decision rounds it (GradTree, eq. 7). The papers' split function holds
    where ``x >= T`` (GradTree, eq. 2), and algorithm 1 of GradTree takes ``T - x``; we
    do as that algorithm, so left is ``x <= T``, as in scikit-learn. The margin z, of
    any shape, is threshold minus value; the split holds (left) where it is >= 0.

    ``hard`` is straight-through: 0 or 1 forward, the soft decision's gradient backward;
    without it the soft decision itself. Sources: Bengio et al., arXiv:1308.3432
    (straight-through); Marton et al., "GradTree", arXiv:2305.03515, section 3.3;
    "GRANDE", arXiv:2309.17130, section 3.2; Peters et al., arXiv:1905.05702 (entmax).
    """
    if soft not in SOFT:
        raise ValueError(f"soft must be one of {SOFT}, got {soft!r}.")
    if hard:
        return _HardDecision.apply(margin, soft)
    if soft == "logistic":
        return torch.sigmoid(margin)
    if soft == "softsign":
        return 0.5 + 0.5 * torch.nn.functional.softsign(margin)
    return entmoid(margin)


def entmoid(x: Tensor) -> Tensor:
    """First probability of 1.5-entmax over ``(x, 0)``; 0 or 1 for |x| >= 2."""
    # The two probabilities are (x/2 - tau)^2 and tau^2 with sum 1, so
    # tau = (x - sqrt(8 - x^2)) / 4; beyond |x| = 2 one of them is cut off.
    x = x.clamp(-2.0, 2.0)
    return ((x + (8.0 - x * x).sqrt()) / 4.0).square()


def decision_gradient(margin: Tensor, soft: str) -> Tensor:
    """Derivative of the soft decision, S'(z), of the shape of `margin`.

    - logistic: ``S (1 - S)``
    - softsign: ``1 / (2 (1 + |z|)^2)``
    - entmoid: ``sqrt(p q) / (sqrt(p) + sqrt(q))`` with ``p``, ``q`` the probabilities
      of ``(z, 0)``, zero where one of them is.
    """
    if soft == "logistic":
        left = torch.sigmoid(margin)
        return left * (1.0 - left)
    if soft == "softsign":
        return 0.5 / (1.0 + margin.abs()).square()
    root, other = entmoid(margin).sqrt(), entmoid(-margin).sqrt()
    return root * other / (root + other)


class _HardDecision(torch.autograd.Function):
    """One where the margin is >= 0, else zero; backward the soft decision's slope."""

    @staticmethod
    def forward(ctx, margin, soft):
        ctx.save_for_backward(margin)
        ctx.soft = soft
        return (margin >= 0).to(margin.dtype)

    @staticmethod
    def backward(ctx, gradient):
        (margin,) = ctx.saved_tensors
        return decision_gradient(margin, ctx.soft).mul_(gradient), None
