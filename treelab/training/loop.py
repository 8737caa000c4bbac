"""The one training loop: candidates side by side, early stopping, the best kept."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pandas as pd
import torch
from torch import Tensor

from treelab.training.events import HISTORY, Callback, Progress, stop_asked

REPORT_SECONDS = 0.5  # a longer epoch reports in between


class Candidates(Protocol):
    """K independent models in one module, trained as one batch.

    Every parameter has the K candidates as its first axis, unless K is 1. Where a
    parameter belongs to some of them alone, ``parameter_candidates`` maps its name to
    the slice of candidates along its first axis.
    """

    n_candidates: int

    def batch_loss(self, rows: Tensor) -> Tensor:
        """Training loss (K,) on the training rows of these indices, with gradient."""
        ...

    def valid_loss(self) -> Tensor:
        """Validation loss (K,) of the model as it would be exported, no gradient."""
        ...


@dataclass
class TrainResult:
    """How a training went; the module itself holds the best parameters found.

    ``best_loss`` and ``best_epoch`` are (K,), on validation. ``reason`` is one of
    "max_epochs", "patience", "callback" and "nan".
    """

    best_loss: Tensor
    best_epoch: Tensor
    reason: str = "max_epochs"
    epochs: int = 0
    history: list = field(default_factory=list)

    @property
    def best(self) -> int:
        """Candidate with the lowest validation loss."""
        return int(torch.argmin(self.best_loss))

    def history_frame(self) -> pd.DataFrame:
        """One row an epoch: epoch, train_loss, valid_loss, seconds, stage."""
        return pd.DataFrame(self.history, columns=HISTORY)


class _Keeper:
    """Keeps each candidate's parameters as they were at its lowest validation losses.

    Parameters
    ----------
    module : Candidates
    n_candidates : int
    n_kept : int
        Checkpoints kept of each candidate: the last that improved.
    """

    def __init__(self, module, n_candidates, n_kept=1):
        self.tensors = dict(module.named_parameters())
        self.kept = [
            {name: t.detach().clone() for name, t in self.tensors.items()}
            for _ in range(n_kept)
        ]
        self.owners = getattr(module, "parameter_candidates", {})
        self.single = n_candidates == 1
        first = next(iter(self.tensors.values()))
        self.times = torch.zeros(n_candidates, dtype=torch.long, device=first.device)

    @torch.no_grad()
    def keep(self, improved: Tensor):
        """Store the parameters of the candidates (K,) that improved."""
        n_kept = len(self.kept)
        for place, kept in enumerate(self.kept):
            here = improved
            if n_kept > 1:
                here = improved & (self.times % n_kept == place)
            if self.single and not bool(here[0]):
                continue
            for name, now in self.tensors.items():
                kept[name].copy_(torch.where(self._of(name, here), now, kept[name]))
        self.times += improved

    @torch.no_grad()
    def restore(self):
        """Put the parameters kept last back into the module."""
        n_kept = len(self.kept)
        last = (self.times - 1).clamp(min=0) % n_kept
        for name, now in self.tensors.items():
            for place, kept in enumerate(self.kept):
                now.copy_(torch.where(self._of(name, last == place), kept[name], now))

    @torch.no_grad()
    def average(self):
        """Put the mean of the parameters kept into the module."""
        filled = self.times.clamp(min=1, max=len(self.kept))
        for name, now in self.tensors.items():
            total = torch.zeros_like(now)
            for place, kept in enumerate(self.kept):
                total += torch.where(self._of(name, filled > place), kept[name], 0)
            now.copy_(total / self._of(name, filled))

    def _of(self, name: str, each: Tensor) -> Tensor:
        """What is said of each candidate (K,), in the shape of its parameters."""
        if self.single:
            return each[0]
        own = each[self.owners.get(name, slice(None))]
        return own.reshape(-1, *[1] * (self.tensors[name].dim() - 1))


def train(
    candidates: "Candidates | torch.nn.Module",
    optimizer: torch.optim.Optimizer,
    *,
    n_rows: int,
    batch_size: int,
    max_epochs: int,
    patience: int,
    generator: torch.Generator,
    callbacks: Sequence[Callback] = (),
    snapshot: Callable[[], Any] | None = None,
    after_step: Callable[[], None] | None = None,
    after_epoch: Callable[[Tensor], None] | None = None,
    evaluate_every: int = 1,
    averaged: int = 1,
    stage: str = "",
    epoch_offset: int = 0,
    total_epochs: int | None = None,
    started: float | None = None,
) -> TrainResult:
    """Train until ``max_epochs``, no improvement for ``patience`` epochs, or a stop.

    The candidates' losses are summed, so each gets its own gradient alone. After
    every ``evaluate_every`` epochs the validation loss is measured, and parameters
    that improved it are kept for each candidate by itself; on return the module
    holds the kept ones. A candidate whose loss is not finite never improves again;
    training ends when no candidate is left.

    Parameters
    ----------
    candidates : Module
        See ``Candidates``.
    n_rows : int
        Training rows; batches are drawn without replacement each epoch.
    batch_size : int
        Rows a step; a last batch under a quarter of it joins no step.
    generator : torch.Generator
        On the device of the data; draws the batches.
    snapshot : callable, optional
        Handed on in every ``Progress``.
    after_step, after_epoch : callable, optional
        For schedules; ``after_epoch`` gets the validation loss (K,).
    averaged : int
        With 2 or more, the mean of that many of a candidate's best checkpoints is
        tried at the end, and kept where its validation loss is lower.
    stage, epoch_offset, total_epochs, started
        For learners that train in several stages: what the reports say.

    Raises
    ------
    FloatingPointError
        If no candidate had a finite validation loss even once.
    """
    started = time.monotonic() if started is None else started
    total_epochs = total_epochs or max_epochs
    k = candidates.n_candidates
    device = generator.device
    keeper = _Keeper(candidates, k, averaged)
    best = torch.full((k,), math.inf, device=device)
    best_epoch = torch.zeros(k, dtype=torch.long, device=device)
    result = TrainResult(best, best_epoch)
    since_best, reported = 0, time.monotonic()

    def report(epoch, train_loss, valid_loss):
        nonlocal reported
        reported = time.monotonic()
        seconds = reported - started
        progress = Progress(
            epoch=epoch_offset + epoch,
            max_epochs=total_epochs,
            train_loss=train_loss,
            valid_loss=valid_loss,
            seconds=seconds,
            stage=stage,
            snapshot=snapshot,
        )
        if math.isfinite(valid_loss):
            result.history.append(
                (progress.epoch, train_loss, valid_loss, seconds, stage)
            )
        return stop_asked(callbacks, progress)

    stopped = False
    for epoch in range(1, max_epochs + 1):
        due = epoch % evaluate_every == 0 or epoch == max_epochs
        batches = _batches(n_rows, batch_size, generator)
        total = torch.zeros(k, device=device)
        for step, rows in enumerate(batches, start=1):
            optimizer.zero_grad(set_to_none=True)
            loss = candidates.batch_loss(rows)  # (K,)
            loss.sum().backward()
            optimizer.step()
            if after_step is not None:
                after_step()
            total += loss.detach()
            if due and step == len(batches):
                break  # the epoch's own report follows at once
            if callbacks and time.monotonic() - reported > REPORT_SECONDS:
                leader = int(torch.argmin(best))
                done = epoch - 1 + step / len(batches)
                stopped = report(done, float(total[leader]) / step, math.nan)
                if stopped:
                    break
        result.epochs = epoch
        if not due and not stopped:
            continue
        with torch.no_grad():
            valid = candidates.valid_loss().to(best.dtype)  # (K,)
        improved = valid < best  # False for NaN
        best.copy_(torch.where(improved, valid, best))
        best_epoch.copy_(
            torch.where(
                improved, torch.full_like(best_epoch, epoch_offset + epoch), best_epoch
            )
        )
        keeper.keep(improved)
        if after_epoch is not None:
            after_epoch(valid)
        finite = torch.isfinite(valid)
        leader = int(torch.argmin(torch.where(finite, valid, math.inf)))
        stopped |= report(epoch, float(total[leader]) / step, float(valid[leader]))
        since_best = 0 if bool(improved.any()) else since_best + evaluate_every
        if stopped:
            result.reason = "callback"
        elif not bool(finite.any()):
            result.reason = "nan"
        elif since_best >= patience:
            result.reason = "patience"
        else:
            continue
        break
    if not bool(torch.isfinite(best).any()):
        raise FloatingPointError(
            f"The loss was not a number from epoch {epoch_offset + 1} on. Try a "
            "smaller learning_rate, and look for extreme values in the table."
        )
    if averaged > 1:
        keeper.average()
        valid = candidates.valid_loss().to(best.dtype)
        improved = valid < best
        best.copy_(torch.where(improved, valid, best))
        keeper.keep(improved)
    keeper.restore()
    return result


def steps_an_epoch(n_rows: int, batch_size: int) -> int:
    """Batches that an epoch has: a last one under a quarter of the size is left out."""
    whole, rest = divmod(n_rows, batch_size)
    return max(1, whole + (rest >= batch_size // 4 and rest > 0))


def _batches(n_rows: int, batch_size: int, generator: torch.Generator):
    """Shuffled row indices in batches; a tiny rest is left for the next shuffle."""
    order = torch.randperm(n_rows, generator=generator, device=generator.device)
    return order.split(batch_size)[: steps_an_epoch(n_rows, batch_size)]
