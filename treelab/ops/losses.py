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
    """Classification loss of each row, in nats for cross-entropy.

    Only Brier's is bounded (by 2), so sure and wrong predictions pull less.

    Parameters
    ----------
    output : Tensor of shape (..., C, B)
        Logits; ``C`` is 1 for two classes (the logit of the second).
    target : LongTensor of shape (B,) or FloatTensor of shape (B, n_classes)
        Class of each row, or the shares that a teacher gives each class.
    kind : {"cross_entropy", "focal", "poly", "brier"}, default="cross_entropy"
        Focal loss multiplies cross-entropy by ``(1 - p) ** focal_gamma``, Poly-1 adds
        ``poly_epsilon * (1 - p)``, with ``p`` the share given to the true class;
        Brier's is the squared distance of the shares from those of the target.

    Returns
    -------
    Tensor of shape (..., B)

    References
    ----------
    Lin et al., arXiv:1708.02002 (focal); Leng et al., arXiv:2204.12511 (poly); Brier,
    "Verification of forecasts expressed in terms of probability", 1950.
    """
    if kind not in LOSSES:
        raise ValueError(f"loss must be one of {LOSSES}, got {kind!r}.")
    if kind == "brier":
        share = log_shares(output).exp()  # (..., n_classes, B)
        if target.ndim == 1:
            target = functional.one_hot(target, share.shape[-2]).to(share.dtype)
        return (share - target.t()).square().sum(-2)
    if target.ndim == 2:
        log_p = log_shares(output)  # (..., n_classes, B)
        share = target.t()
        return (share * _row_loss(log_p, kind, focal_gamma, poly_epsilon)).sum(-2)
    if output.shape[-2] == 1:
        sign = 2 * target.to(output.dtype) - 1
        log_p = functional.logsigmoid(sign * output[..., 0, :])
    else:
        index = target.expand(*output.shape[:-2], 1, -1)
        log_p = output.log_softmax(-2).gather(-2, index)[..., 0, :]
    return _row_loss(log_p, kind, focal_gamma, poly_epsilon)


def log_shares(output: Tensor) -> Tensor:
    """Log-probabilities (..., n_classes, B) of logits (..., C, B)."""
    if output.shape[-2] > 1:
        return output.log_softmax(-2)
    return functional.logsigmoid(torch.cat([-output, output], -2))


def _row_loss(log_p: Tensor, kind: str, gamma: float, epsilon: float) -> Tensor:
    """Loss from the log-probability of the true class, elementwise."""
    if kind == "focal":
        return -((1 - log_p.exp()) ** gamma) * log_p
    if kind == "poly":
        return epsilon * (1 - log_p.exp()) - log_p
    return -log_p


def squared_error(output: Tensor, target: Tensor) -> Tensor:
    """Squared error (..., B) of outputs (..., 1, B) on targets (B,)."""
    return (output[..., 0, :] - target).square()
