"""Learning rates that change from step to step."""

import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def cosine_decay(
    optimizer: torch.optim.Optimizer,
    n_steps: int,
    *,
    warm_up: float = 0.0,
    lowest: float = 0.05,
) -> LambdaLR:
    """Warm up in a straight line, then decay along a cosine.

    Source of the cosine: Loshchilov and Hutter, "SGDR", ICLR 2017, arXiv:1608.03983,
    eq. 5, with one period.

    Parameters
    ----------
    optimizer : Optimizer
        Its groups' learning rates are the highest that are reached.
    n_steps : int
        Steps until the lowest rate; it stays there.
    warm_up : float, default=0.0
        Fraction of the steps in which the rates rise from a tenth.
    lowest : float, default=0.05
        Fraction of the highest rate that is left in the end.

    Returns
    -------
    LambdaLR
        Its ``step`` is called after each step of the optimizer.
    """
    n_warm_up = int(warm_up * n_steps)
    n_decay = max(1, n_steps - n_warm_up)

    def factor(step: int) -> float:
        if step < n_warm_up:
            return 0.1 + 0.9 * step / n_warm_up
        cosine = math.cos(math.pi * min(1.0, (step - n_warm_up) / n_decay))
        return lowest + (1 - lowest) * (1 + cosine) / 2

    return LambdaLR(optimizer, factor)
