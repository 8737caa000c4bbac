"""How the learning rates change from step to step."""

import math

import torch


class CosineDecay:
    """Called after each step: warm up in a straight line, then fall along a cosine.

    Parameters
    ----------
    optimizer : Optimizer
        Its groups' learning rates are the highest that are reached.
    n_steps : int
        Steps until the lowest rate; it stays there.
    warm_up : float, default=0.0
        Share of the steps in which the rates rise from a tenth.
    lowest : float, default=0.05
        Share of the highest rate that is left in the end.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        n_steps: int,
        *,
        warm_up: float = 0.0,
        lowest: float = 0.05,
    ):
        self.optimizer = optimizer
        self.highest = [group["lr"] for group in optimizer.param_groups]
        self.n_steps = max(1, n_steps)
        self.n_warm_up = int(warm_up * n_steps)
        self.lowest = lowest
        self.step = 0
        self._set()

    def __call__(self):
        """Count one step and set the rates of the next."""
        self.step += 1
        self._set()

    def share(self) -> float:
        """Share of the highest rate at this step."""
        if self.step < self.n_warm_up:
            return 0.1 + 0.9 * self.step / self.n_warm_up
        done = (self.step - self.n_warm_up) / max(1, self.n_steps - self.n_warm_up)
        falling = (1 + math.cos(math.pi * min(1.0, done))) / 2
        return self.lowest + (1 - self.lowest) * falling

    def _set(self):
        """Write the rates into the optimizer."""
        share = self.share()
        for group, highest in zip(self.optimizer.param_groups, self.highest):
            group["lr"] = highest * share
