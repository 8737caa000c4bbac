"""The one training loop: candidates side by side, early stopping, the best restored."""

import math
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from treelab.training.checkpointer import Stage
from treelab.training.checkpoints import BestCheckpoints
from treelab.training.events import Monitor
from treelab.training.plan import Candidates, Scheduler, TrainingPlan
from treelab.training.state import (
    fits,
    generators_of,
    pack,
    set_generators,
    set_parameters,
    unpack,
)
from treelab.training.steps import Epoch, Steps

START_ROWS = 10_000  # at most, evenly spaced, for the training loss of the start


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
        Gets the reports and records the history. Where its callbacks have a
        ``Checkpointer``, training is saved now and then, and goes on from what was
        saved before.
    scheduler : Scheduler, optional
        Its ``step`` is called after each step of the optimizer.
    after_epoch : callable, optional
        Gets each validation loss (K,), for schedules that depend on it. One that has
        a ``state_dict`` is saved in checkpoints, too.

    Raises
    ------
    FloatingPointError
        If no candidate had a finite validation loss even once.
    """
    monitor = Monitor(plan.max_epochs) if monitor is None else monitor
    stage = monitor.begin_stage()
    training = _Training(
        candidates,
        plan,
        Steps(candidates, optimizer, scheduler, plan, generator, after_epoch),
        BestCheckpoints(candidates, plan.n_averaged),
        monitor,
        stage,
    )
    if stage.saved is not None and training.resume(unpack(stage.saved)):
        return training.result()
    training.run()
    return training.result()


@dataclass
class _Training:
    """One call of ``train``, and how far it has come."""

    candidates: Candidates
    plan: TrainingPlan
    steps: Steps
    checkpoints: BestCheckpoints
    monitor: Monitor
    stage: Stage
    epoch: int = 0  # begun
    epochs_in_vain: int = 0
    reason: str | None = None
    under_way: Epoch | None = None

    def __post_init__(self) -> None:
        """Note what the monitor had before this training."""
        self._before = self.monitor.position()

    def run(self) -> None:
        """Train to the end, and put the best parameters into the module."""
        plan, monitor = self.plan, self.monitor
        if self.epoch == 0 and plan.measures_start:
            apart = -(-plan.n_rows // START_ROWS)
            device = self.steps.generator.device
            rows = torch.arange(0, plan.n_rows, apart, device=device)
            with torch.no_grad():
                train_loss = self.candidates.batch_loss(rows)
            valid_loss = _valid_loss(self.candidates)
            self._report(0, train_loss, valid_loss)
            self.checkpoints.update(valid_loss, 0)
        while self.reason is None:
            if self.under_way is None:
                if self.epoch >= plan.max_epochs:
                    break
                self.epoch += 1
            train_loss, stopped = self._run_epoch()
            if plan.evaluates(self.epoch) or stopped:
                self._evaluate(train_loss, stopped)
        on = None
        if self.reason is None and plan.has_open_end and self.stage.is_saved:
            on = deepcopy(self._state(None))  # before the best parameters are restored
        if plan.validates:
            _restore_best(self.candidates, self.checkpoints, plan, monitor)
        elif plan.n_averaged > 1:
            self.checkpoints.average()
        if self.reason == "callback":
            self.stage.stop()
        else:
            self.stage.finish(
                lambda: pack(self._ended() | {"goes_on": on}),
                has_open_end=on is not None,
            )

    def result(self) -> TrainResult:
        """How the training went."""
        best = self.checkpoints
        return TrainResult(
            best.loss, best.epoch, self.reason or "max_epochs", self.epoch
        )

    def resume(self, saved: dict) -> bool:
        """Go back to where a checkpoint was; return whether training had ended then."""
        if not fits(self.candidates, self._generators, saved):
            return False
        goes_on = saved.get("goes_on")
        if goes_on is not None and saved["epoch"] < self.plan.max_epochs:
            saved = goes_on
            self.stage.reopen()
        set_parameters(self.candidates, saved["parameters"])
        set_generators(self._generators, saved["generators"])
        self.checkpoints.load_state_dict(saved["best"])
        self.epoch, self.reason = saved["epoch"], saved["reason"]
        self.monitor.resume(self._before, saved["monitor"])
        if self.stage.is_finished:
            return True
        self.epochs_in_vain = saved["epochs_in_vain"]
        self.steps.load_state_dict(saved["steps"])
        epoch, total = saved["under_way"], self.checkpoints.loss
        if epoch is not None:
            self.under_way = Epoch(
                epoch["order"].to(self.steps.generator.device),
                epoch["total"].to(total.device),
                epoch["step"],
            )
        return False

    def _evaluate(self, train_loss: Tensor, stopped: bool) -> None:
        """Measure and report the losses; see whether training is to end."""
        plan, epoch, checkpoints = self.plan, self.epoch, self.checkpoints
        valid_loss = torch.full_like(checkpoints.loss, math.nan)
        if plan.validates:
            valid_loss = _valid_loss(self.candidates)
            if self.steps.after_epoch is not None:
                self.steps.after_epoch(valid_loss)
        stopped |= self._report(epoch, train_loss, valid_loss)
        if plan.validates and (epoch >= plan.first_epoch or stopped):
            improved = checkpoints.update(valid_loss, epoch)
            self.epochs_in_vain += plan.evaluate_every
            if bool(improved.any()):
                self.epochs_in_vain = 0
        if not plan.validates and plan.n_averaged > 1:
            checkpoints.update(torch.full_like(checkpoints.loss, -epoch))
        of_steps = plan.on_training_rows or not plan.validates
        measured = train_loss if of_steps else valid_loss
        if stopped:
            self.reason = "callback"
        elif not bool(torch.isfinite(measured).any()):
            self.reason = "nan"
        elif self.epochs_in_vain >= plan.patience:
            self.reason = "patience"

    def _report(self, epoch: int, train_loss: Tensor, valid_loss: Tensor) -> bool:
        """Report the losses; return whether a callback asked to stop."""
        if self.plan.on_training_rows:
            valid_loss = torch.full_like(valid_loss, math.nan)
        return self.monitor.report(
            epoch, train_loss.cpu().numpy(), valid_loss.cpu().numpy()
        )

    def _run_epoch(self) -> tuple[Tensor, bool]:
        """Take an epoch's steps, with interim reports when they are due.

        Returns the mean training loss of the steps taken, (K,), float64, and whether a
        callback asked to stop.
        """
        if self.under_way is None:
            nothing = torch.zeros_like(self.checkpoints.loss)
            self.under_way = Epoch(self.steps.draw_order(), nothing)
        epoch = self.under_way
        batches = self.steps.batches(epoch.order)
        while epoch.step < len(batches):
            if self.stage.is_due:
                self.stage.save(pack(self._state(epoch)))
            epoch.total = epoch.total + self.steps.take(batches[epoch.step])
            epoch.step += 1
            if epoch.step == len(batches) and self.plan.evaluates(self.epoch):
                break  # the epoch's own report follows at once
            if self.monitor.is_due():
                leader = int(torch.argmin(self.checkpoints.loss))
                done = self.epoch - 1 + epoch.step / len(batches)
                loss = float(epoch.total[leader]) / epoch.step
                if self.monitor.notify(done, loss, math.nan):
                    self.under_way = None
                    return epoch.total.double() / epoch.step, True
        self.under_way = None
        return epoch.total.double() / len(batches), False

    @property
    def _generators(self) -> list[torch.Generator]:
        """What draws batches, and what the candidates draw from."""
        return generators_of(self.steps.generator, self.candidates)

    def _ended(self) -> dict:
        """State in the end: what follows reads no more than this."""
        return {
            "parameters": dict(self.candidates.named_parameters()),
            "generators": [each.get_state() for each in self._generators],
            "best": self.checkpoints.state_dict(of_saved=False),
            "epoch": self.epoch,
            "reason": self.reason,
            "monitor": self.monitor.since(self._before),
        }

    def _state(self, epoch: Epoch | None) -> dict:
        """State before a step, or between epochs."""
        return self._ended() | {
            "best": self.checkpoints.state_dict(),
            "epochs_in_vain": self.epochs_in_vain,
            "steps": self.steps.state_dict(),
            "under_way": None if epoch is None else vars(epoch),
        }


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
