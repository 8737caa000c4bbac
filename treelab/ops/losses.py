"""Losses of every candidate on every row, from raw outputs."""

import torch
from torch import Tensor
from torch.nn import functional

LOSSES = ("cross_entropy", "focal", "poly", "brier")


def class_loss(
    output: Tensor,
    target: Tensor,
    *,
    kind: str = "cross_entropy",
    focal_gamma: float = 2.0,
    poly_epsilon: float = 1.0,
) -> Tensor:
    """Classification loss (..., B) of each row, in nats for cross-entropy.

    With ``p`` the probability of the true class:

    - "cross_entropy": ``-log p``
    - "focal": ``-(1 - p)^gamma log p`` (Lin et al., arXiv:1708.02002, eq. 4)
    - "poly": ``-log p + epsilon (1 - p)``, Poly-1 (Leng et al., arXiv:2204.12511)
    - "brier": the squared distance of the probabilities from those of the target
      (Brier, "Verification of forecasts expressed in terms of probability", 1950). It
      is bounded, by 2, so rows that are predicted surely and wrongly pull less.

    Marton et al., "GradTree", arXiv:2305.03515, appendix C, uses the first three. The
    ``output`` (..., C, B) are logits, one for two classes (that of the second), the
    ``target`` (B,) the class of each row.
    """
    if kind not in LOSSES:
        raise ValueError(f"loss must be one of {LOSSES}, got {kind!r}.")
    if kind == "brier":
        proba = log_proba(output).exp()  # (..., n_classes, B)
        truth = functional.one_hot(target, proba.shape[-2]).to(proba.dtype)
        return (proba - truth.t()).square().sum(-2)
    if output.shape[-2] == 1:
        sign = 2 * target.to(output.dtype) - 1
        log_p = functional.logsigmoid(sign * output[..., 0, :])
    else:
        index = target.expand(*output.shape[:-2], 1, -1)
        log_p = output.log_softmax(-2).gather(-2, index)[..., 0, :]
    return _row_loss(log_p, kind, focal_gamma, poly_epsilon)


def log_proba(output: Tensor) -> Tensor:
    """Log-probabilities (..., n_classes, B) of logits (..., C, B)."""
    if output.shape[-2] > 1:
        return output.log_softmax(-2)
    return functional.logsigmoid(torch.cat([-output, output], -2))


def _row_loss(log_p: Tensor, kind: str, gamma: float, epsilon: float) -> Tensor:
    """Loss from the log-probability of the true class, elementwise."""
    # Above 0, as a power below 1 has an infinite slope there.
    missed = (-torch.expm1(log_p)).clamp(min=torch.finfo(log_p.dtype).tiny)  # 1 - p
    if kind == "focal":
        return -(missed**gamma) * log_p
    if kind == "poly":
        return epsilon * missed - log_p
    return -log_p


def squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Squared error (..., B) of outputs (..., 1, B) on targets (B,)."""
    return (output[..., 0, :] - target).square()
