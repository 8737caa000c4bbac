"""What the training loop trains, how long, and in what batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Candidates(Protocol):
    """K independent models in one module, trained as one batch.

    Every parameter has the K candidates as its first axis, unless K is 1. Where a
    parameter belongs to some of them alone, ``parameter_candidates`` maps its name to
    the slice of candidates along its first axis.
    """

    n_candidates: int

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Names and parameters, as an ``nn.Module`` has them."""
        ...

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Training loss (K,) on the training rows of these indices, with gradient."""
        ...

    def valid_loss(self) -> Tensor:
        """Validation loss (K,) of the model as it would be exported, no gradient."""
        ...


class Scheduler(Protocol):
    """What changes from step to step, as learning rates do."""

    def step(self) -> None:
        """Called after each step of the optimizer."""
        ...

    def state_dict(self) -> dict:
        """Plain values and tensors, from which ``load_state_dict`` goes on."""
        ...

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state."""
        ...


@dataclass(frozen=True)
class TrainingPlan:
    """How long to train, and in what batches.

    Attributes
    ----------
    n_rows : int
        Training rows; batches are drawn without replacement each epoch.
    batch_size : int
        Rows a step; a last batch under a quarter of it is left out of the epoch.
    max_epochs : int
        Epochs at the latest.
    patience : int
        Epochs without a better validation loss of any candidate until training ends.
    evaluate_every : int, default=1
        Epochs from one measurement of the validation loss to the next.
    n_averaged : int, default=1
        With 2 or more, the mean of that many of a candidate's best checkpoints is
        tried at the end and retained where its validation loss is lower; where nothing
        is validated, the mean of the last epochs' parameters is retained.
    first_epoch : int, default=1
        The first whose parameters may be retained; patience counts from it.
    validates : bool, default=True
        Whether a validation loss is measured; without one training goes to its end.
    has_open_end : bool, default=False
        Whether no schedule depends on ``max_epochs``, so that a training that reached
        it may go on later, as if there had been more from the start.
    on_training_rows : bool, default=False
        Whether what validates are the training rows themselves: it selects, and is not
        reported.
    measures_start : bool, default=False
        Whether the start is measured, too: it is reported as epoch 0, and retained
        where no epoch is better.
    """

    n_rows: int
    batch_size: int
    max_epochs: int
    patience: int
    evaluate_every: int = 1
    n_averaged: int = 1
    first_epoch: int = 1
    validates: bool = True
    has_open_end: bool = False
    on_training_rows: bool = False
    measures_start: bool = False

    def evaluates(self, epoch: int) -> bool:
        """Whether the validation loss is measured after an epoch, counted from 1."""
        return epoch % self.evaluate_every == 0 or epoch == self.max_epochs


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Batches that an epoch has: a last one under a quarter of the size is left out."""
    n_full, rest = divmod(n_rows, batch_size)
    return max(1, n_full + (rest >= batch_size // 4 and rest > 0))
