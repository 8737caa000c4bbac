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
    """Keeps each candidate's parameters as they were at its lowest validation loss."""

    def __init__(self, module, n_candidates):
        self.tensors = dict(module.named_parameters())
        self.kept = {name: t.detach().clone() for name, t in self.tensors.items()}
        self.single = n_candidates == 1
        self.owners = getattr(module, "parameter_candidates", {})

    @torch.no_grad()
    def keep(self, improved: Tensor):
        """Store the parameters of the candidates (K,) that improved."""
        if self.single:
            if bool(improved[0]):
                for name, now in self.tensors.items():
                    self.kept[name].copy_(now)
            return
        for name, now in self.tensors.items():
            mask = improved[self.owners.get(name, slice(None))]
            mask = mask.reshape(-1, *[1] * (now.dim() - 1))
            self.kept[name].copy_(torch.where(mask, now, self.kept[name]))

    @torch.no_grad()
    def restore(self):
        """Put the kept parameters back into the module."""
        for name, now in self.tensors.items():
            now.copy_(self.kept[name])


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
    keeper = _Keeper(candidates, k)
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
