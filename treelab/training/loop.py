"""The one training loop: candidates side by side, early stopping, the best restored."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from treelab.training.checkpoints import BestCheckpoints
from treelab.training.events import Monitor


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
    """

    n_rows: int
    batch_size: int
    max_epochs: int
    patience: int
    evaluate_every: int = 1
    n_averaged: int = 1
    first_epoch: int = 1
    validates: bool = True

    def evaluates(self, epoch: int) -> bool:
        """Whether the validation loss is measured after an epoch, counted from 1."""
        return epoch % self.evaluate_every == 0 or epoch == self.max_epochs


@dataclass
class TrainResult:
    """How a training went; the module itself holds the best parameters found.

    Attributes
    ----------
    best_loss : Tensor of shape (K,)
        Lowest validation loss of each candidate.
    best_epoch : LongTensor of shape (K,)
        Its epoch, counted from 1.
    reason : {"max_epochs", "patience", "callback", "nan"}
        Why training ended.
    epochs : int
        Epochs begun.
    """

    best_loss: Tensor
    best_epoch: Tensor
    reason: str = "max_epochs"
    epochs: int = 0

    @property
    def best(self) -> int:
        """Candidate with the lowest validation loss."""
        return int(torch.argmin(self.best_loss))

    def warn_if_diverged(self) -> None:
        """Warn, by epoch, that the loss was NaN and the best model before is used."""
        if self.reason == "nan":
            warnings.warn(
                f"The loss was no longer a number at epoch {self.epochs}; training "
                "stopped with the best model before it. Try a smaller learning_rate.",
                RuntimeWarning,
                stacklevel=4,
            )


def train(
    candidates: Candidates,
    optimizer: torch.optim.Optimizer,
    plan: TrainingPlan,
    *,
    generator: torch.Generator,
    monitor: Monitor | None = None,
    scheduler: Scheduler | None = None,
    after_epoch: Callable[[Tensor], None] | None = None,
) -> TrainResult:
    """Train until ``max_epochs``, no improvement for ``patience`` epochs, or a stop.

    The candidates' losses are summed, so each gets its own gradient alone. After
    every ``evaluate_every`` epochs the validation loss is measured, and parameters
    that improved it are saved for each candidate by itself; on return the module
    holds the best ones. A candidate whose loss is not finite never improves again;
    training ends when no candidate is left.

    Parameters
    ----------
    candidates : Module
        See ``Candidates``.
    optimizer : Optimizer
        Of the candidates' parameters.
    plan : TrainingPlan
        Batches, epochs and patience.
    generator : torch.Generator
        On the device of the data; draws the batches.
    monitor : Monitor, optional
        Gets the reports and records the history.
    scheduler : Scheduler, optional
        Its ``step`` is called after each step of the optimizer.
    after_epoch : callable, optional
        Gets each validation loss (K,), for schedules that depend on it.

    Raises
    ------
    FloatingPointError
        If no candidate had a finite validation loss even once.
    """
    monitor = Monitor(plan.max_epochs) if monitor is None else monitor
    checkpoints = BestCheckpoints(candidates, plan.n_averaged)
    steps = _Steps(candidates, optimizer, scheduler, plan, generator)
    epoch, epochs_in_vain, reason = 0, 0, None
    while reason is None and epoch < plan.max_epochs:
        epoch += 1
        train_loss, stopped = steps.run_epoch(epoch, monitor, checkpoints)
        if not plan.evaluates(epoch) and not stopped:
            continue
        valid_loss = torch.full_like(checkpoints.loss, math.nan)
        if plan.validates:
            valid_loss = _valid_loss(candidates)
            if after_epoch is not None:
                after_epoch(valid_loss)
        stopped |= monitor.report(
            epoch, train_loss.cpu().numpy(), valid_loss.cpu().numpy()
        )
        if plan.validates and (epoch >= plan.first_epoch or stopped):
            improved = checkpoints.update(valid_loss, epoch)
            epochs_in_vain += plan.evaluate_every
            if bool(improved.any()):
                epochs_in_vain = 0
        if not plan.validates and plan.n_averaged > 1:
            checkpoints.update(torch.full_like(checkpoints.loss, -epoch))
        measured = valid_loss if plan.validates else train_loss
        if stopped:
            reason = "callback"
        elif not bool(torch.isfinite(measured).any()):
            reason = "nan"
        elif epochs_in_vain >= plan.patience:
            reason = "patience"
    if plan.validates:
        _restore_best(candidates, checkpoints, plan, monitor)
    elif plan.n_averaged > 1:
        checkpoints.average()
    return TrainResult(
        checkpoints.loss, checkpoints.epoch, reason or "max_epochs", epoch
    )


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Batches that an epoch has: a last one under a quarter of the size is left out."""
    n_full, rest = divmod(n_rows, batch_size)
    return max(1, n_full + (rest >= batch_size // 4 and rest > 0))


@dataclass(frozen=True)
class _Steps:
    """The optimizer's steps of one training."""

    candidates: Candidates
    optimizer: torch.optim.Optimizer
    scheduler: Scheduler | None
    plan: TrainingPlan
    generator: torch.Generator

    def run_epoch(
        self, epoch: int, monitor: Monitor, checkpoints: BestCheckpoints
    ) -> tuple[Tensor, bool]:
        """Take an epoch's steps, with interim reports when they are due.

        Returns the mean training loss of the steps taken, (K,), float64, and whether a
        callback asked to stop.
        """
        batches = self._draw_batches()
        total = torch.zeros_like(checkpoints.loss)
        for step, rows in enumerate(batches, start=1):
            total += self._step(rows)
            if step == len(batches) and self.plan.evaluates(epoch):
                break  # the epoch's own report follows at once
            if monitor.is_due():
                leader = int(torch.argmin(checkpoints.loss))
                done = epoch - 1 + step / len(batches)
                if monitor.notify(done, float(total[leader]) / step, math.nan):
                    return total.double() / step, True
        return total.double() / len(batches), False

    def _step(self, rows: Tensor) -> Tensor:
        """Take one step on a batch of rows; return its loss (K,)."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.candidates.batch_loss(rows)  # (K,)
        loss.sum().backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return loss.detach()

    def _draw_batches(self) -> tuple[Tensor, ...]:
        """Shuffled row indices in batches; a tiny rest is left for the next shuffle."""
        plan, device = self.plan, self.generator.device
        order = torch.randperm(plan.n_rows, generator=self.generator, device=device)
        n_steps = steps_per_epoch(plan.n_rows, plan.batch_size)
        return order.split(plan.batch_size)[:n_steps]


@torch.no_grad()
def _valid_loss(candidates: Candidates) -> Tensor:
    """Validation loss (K,), float32."""
    return candidates.valid_loss().float()


def _restore_best(
    candidates: Candidates,
    checkpoints: BestCheckpoints,
    plan: TrainingPlan,
    monitor: Monitor,
) -> None:
    """Put the best parameters of each candidate into the module, or their mean."""
    if not bool(torch.isfinite(checkpoints.loss).any()):
        raise FloatingPointError(
            f"The loss was not a number from epoch {monitor.epoch_offset + 1} on. Try "
            "a smaller learning_rate, and look for extreme values in the table."
        )
    if plan.n_averaged > 1:
        checkpoints.average()
        checkpoints.update(_valid_loss(candidates))
    checkpoints.restore()
