"""Optimizers: Adam of torch without its compiler, and a quasi-hyperbolic one.

Torch's own load the compiler with their first parameter, to keep it out of themselves:
800 modules, which take every new process a second and are of no use here.
"""

from inspect import unwrap

import torch
from torch import Tensor

_GUARDED = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")


def without_compiler(kind: type) -> type:
    """Take the guards against the compiler off an optimizer's class."""
    for name in _GUARDED:
        setattr(kind, name, unwrap(getattr(kind, name)))
    kind.step = torch.no_grad()(unwrap(kind.step))  # type: ignore[attr-defined]
    return kind


@without_compiler
class Adam(torch.optim.Adam):
    """Adam.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    """


@without_compiler
class AdamW(torch.optim.AdamW):
    """Adam whose weights decay by themselves.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """


# Quasi-hyperbolic Adam for candidates side by side, and their learning rates.


_PLATEAU = ("learning_rate", "best", "waited")  # of a CutOnPlateau


@without_compiler
class QHAdam(torch.optim.Optimizer):
    """Adam whose step mixes the momentum with the plain gradient.

    Source: Ma and Yarats, "Quasi-hyperbolic momentum and Adam for deep learning", ICLR
    2019, arXiv:1810.06801. Libraries offer one learning rate for a whole tensor; here
    each of the K candidates, the first axis of every parameter, has its own:
    ``learning_rate`` (K,), on their device, which a schedule changes in place. The
    betas are the decay of the averages of the gradient and of its square, the nus the
    weight of these averages against the current gradient and its square.
    """

    def __init__(
        self, params, learning_rate: Tensor, *, betas=(0.995, 0.999), nus=(0.7, 1.0)
    ):
        super().__init__(params, {"betas": betas, "nus": nus})
        self.learning_rate = learning_rate

    @torch.no_grad()
    def step(self, closure=None):
        """Move every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group)

    def _move(self, parameter: Tensor, group: dict) -> None:
        """One step of one tensor, eq. 4 and algorithm 2 of the paper."""
        state, grad = self.state[parameter], parameter.grad
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
        state["step"] += 1
        (beta1, beta2), (nu1, nu2) = group["betas"], group["nus"]
        state["mean"].lerp_(grad, 1 - beta1)
        state["square"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        mean = state["mean"] * (nu1 / (1 - beta1 ** state["step"]))
        square = state["square"] * (nu2 / (1 - beta2 ** state["step"]))
        if nu1 < 1:
            mean.add_(grad, alpha=1 - nu1)
        if nu2 < 1:
            square.addcmul_(grad, grad, value=1 - nu2)
        rate = self.learning_rate.view(-1, *[1] * (parameter.dim() - 1))
        parameter.sub_(rate * mean / (square.sqrt_().add_(1e-8)))


class CutOnPlateau:
    """Cuts a candidate's learning rate to a tenth once its validation loss stalls.

    The rates (K,) change in place, after ``patience`` measurements, at least 1, without
    improvement.
    """

    def __init__(self, learning_rate: Tensor, patience: int):
        self.learning_rate = learning_rate
        self.patience = patience
        self.best = torch.full_like(learning_rate, torch.inf)
        self.waited = torch.zeros_like(learning_rate)

    def __call__(self, valid_loss: Tensor) -> None:
        """Count a measurement (K,); fits ``after_epoch`` of the training loop."""
        improved = valid_loss < self.best
        self.best = torch.where(improved, valid_loss, self.best)
        self.waited = torch.where(improved, 0.0, self.waited + 1)
        due = self.waited >= self.patience
        self.learning_rate.mul_(torch.where(due, 0.1, 1.0))
        self.waited.masked_fill_(due, 0.0)

    def state_dict(self) -> dict:
        """State for a checkpoint: the learning rates among it."""
        return {name: getattr(self, name) for name in _PLATEAU}

    def load_state_dict(self, state: dict) -> None:
        """Go back to a state; the learning rates change in place."""
        for name in _PLATEAU:
            getattr(self, name).copy_(state[name])
