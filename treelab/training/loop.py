"""The training loop: schedules, steps, early stopping, the best parameters."""

import math
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from treelab.training.checkpointer import State
from treelab.training.events import Monitor
from treelab.training.gradients import Gradients

# What the training loop trains, how long, and in what batches.


class Candidates(Protocol):
    """K independent models in one module, trained as one batch.

    Every parameter has the K candidates as its first axis, unless K is 1.
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


@dataclass(frozen=True)
class TrainingPlan:
    """How long to train, and in what batches."""

    n_rows: int  # training rows; batches are drawn without replacement each epoch
    # Rows a step; a last batch under a quarter of it is left out of the epoch.
    batch_size: int
    max_epochs: int  # epochs at the latest
    # Epochs without a better validation loss of any candidate until training ends.
    patience: int
    # Epochs from one measurement of the validation loss to the next.
    evaluate_every: int = 1
    # With 2 or more, the mean of that many of a candidate's best checkpoints is tried
    # at the end and retained where its validation loss is lower; where nothing is
    # validated, the mean of the last epochs' parameters is retained.
    n_averaged: int = 1
    # The first whose parameters may be retained; patience counts from it.
    first_epoch: int = 1
    # Whether a validation loss is measured; without one training goes to its end.
    validates: bool = True
    # Whether no schedule depends on ``max_epochs``, so that a training that reached it
    # may go on later, as if there had been more from the start.
    has_open_end: bool = False
    # Whether what validates are the training rows themselves: it selects, and is not
    # reported.
    on_training_rows: bool = False
    # Whether the start is measured, too: it is reported as epoch 0, and retained where
    # no epoch is better.
    measures_start: bool = False

    def evaluates(self, epoch: int) -> bool:
        """Whether the validation loss is measured after an epoch, counted from 1."""
        return epoch % self.evaluate_every == 0 or epoch == self.max_epochs


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Batches that an epoch has: a last one under a quarter of the size is left out."""
    n_full, rest = divmod(n_rows, batch_size)
    return max(1, n_full + (rest >= batch_size // 4 and rest > 0))


# Learning rates that change from step to step.


def cosine_decay(
    optimizer: torch.optim.Optimizer,
    n_steps: int,
    *,
    warm_up: float = 0.0,
    lowest: float = 0.05,
) -> LambdaLR:
    """Warm up in a straight line, then decay along a cosine to the ``lowest`` fraction.

    Source of the cosine: Loshchilov and Hutter, "SGDR", ICLR 2017, arXiv:1608.03983,
    eq. 5, with one period. The learning rates of the optimizer's groups are the highest
    that are reached: they rise from a tenth in the fraction ``warm_up`` of the steps,
    are at the lowest after ``n_steps``, and stay there. ``step`` of what is returned is
    called after each step of the optimizer.
    """
    n_warm_up = int(warm_up * n_steps)
    n_decay = max(1, n_steps - n_warm_up)

    def factor(step: int) -> float:
        if step < n_warm_up:
            return 0.1 + 0.9 * step / n_warm_up
        cosine = math.cos(math.pi * min(1.0, (step - n_warm_up) / n_decay))
        return lowest + (1 - lowest) * (1 + cosine) / 2

    return LambdaLR(optimizer, factor)


# The state of modules, optimizers and generators as plain values and arrays.


def pack(value: Any) -> State:
    """Take a nest of dicts, lists, tensors and plain values apart; see ``unpack``."""
    arrays: dict[str, np.ndarray] = {}

    def plain(part):
        if isinstance(part, Tensor | np.ndarray):
            is_tensor = isinstance(part, Tensor)
            array = part.detach().cpu().numpy().copy() if is_tensor else part.copy()
            name = str(len(arrays))
            arrays[name] = array
            return {"tensor" if is_tensor else "array": name}
        if isinstance(part, dict):  # JSON has no numbers as keys
            return {"items": [[key, plain(each)] for key, each in part.items()]}
        if isinstance(part, list | tuple):
            return [plain(each) for each in part]
        if isinstance(part, np.generic):
            return part.item()
        return part

    return plain(value), arrays


def unpack(state: State) -> Any:
    """Put together what ``pack`` took apart; tensors on the CPU, tuples as lists."""
    plain, arrays = state

    def whole(part):
        if isinstance(part, list):
            return [whole(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "tensor" in part:
            return torch.from_numpy(arrays[part["tensor"]])
        if "array" in part:
            return arrays[part["array"]]
        return {key: whole(each) for key, each in part["items"]}

    return whole(plain)


def generators_of(*owners: Any) -> list[torch.Generator]:
    """List the generators that objects hold, or are, in a fixed order."""
    found = []
    for owner in owners:
        held = [owner] if isinstance(owner, torch.Generator) else vars(owner).values()
        found += [each for each in held if isinstance(each, torch.Generator)]
    return found


def fits(module, generators: list[torch.Generator], saved: dict) -> bool:
    """Whether saved parameters are of a module, and generators of the same device."""
    own = {name: each.shape for name, each in module.named_parameters()}
    states = [each.get_state().shape for each in generators]
    return own == {
        name: each.shape for name, each in saved["parameters"].items()
    } and states == [each.shape for each in saved["generators"]]


# The parameters of each candidate at its best validation losses.


class BestCheckpoints:
    """Saves each candidate's parameters at its last improvements, ``n_saved`` of them.

    ``loss`` (K,) are the lowest validation losses so far, infinite before the first,
    ``epoch`` (K,) their epochs, 0 before the first.
    """

    def __init__(self, candidates, n_saved: int = 1):
        k, self._n_saved = candidates.n_candidates, n_saved
        named = dict(candidates.named_parameters())
        device = next(iter(named.values())).device
        self._trained = {name for name, t in named.items() if t.requires_grad}
        # Of each parameter the values of now (K, ...), and what is saved of it,
        # (n_saved, K, ...).
        self._now = {
            n: t.detach() if k > 1 else t.detach()[None] for n, t in named.items()
        }
        self._saved = {
            name: now.expand(n_saved, *now.shape).clone()
            for name, now in self._now.items()
        }
        self.loss = torch.full((k,), math.inf, device=device)
        self.epoch = torch.zeros(k, dtype=torch.long, device=device)
        self._n_improved = torch.zeros(k, dtype=torch.long, device=device)

    @torch.no_grad()
    def update(self, valid_loss: Tensor, epoch: int | None = None) -> Tensor:
        """Save the candidates whose validation loss (K,) improved; return which, (K,).

        A loss that is NaN is no improvement. Without ``epoch`` the best epochs stay.
        """
        improved = valid_loss < self.loss  # False for NaN
        self.loss = torch.where(improved, valid_loss, self.loss)
        if epoch is not None:
            self.epoch = torch.where(improved, epoch, self.epoch)
        (at,) = improved.nonzero(as_tuple=True)
        place = self._n_improved[at] % self._n_saved
        for name, now in self._now.items():
            self._saved[name][place, at] = now[at]
        self._n_improved += improved
        return improved

    @torch.no_grad()
    def restore(self, where: Tensor | None = None):
        """Put the parameters saved last back into the module.

        Before the first improvement these are the parameters at the beginning. With
        ``where`` (K,) only those of some candidates.
        """
        last = (self._n_improved - 1).clamp(min=0) % self._n_saved
        at = torch.arange(len(last), device=last.device)
        at = at if where is None else at[where]
        for name, now in self._now.items():
            now[at] = self._saved[name][last[at], at]

    @torch.no_grad()
    def average(self):
        """Put the mean of the saved parameters into the module.

        Those that no gradient trains follow a schedule, and stay where it left them.
        """
        for name in self._trained:
            now, saved = self._now[name], self._saved[name]
            n_filled = self._n_improved.clamp(1, self._n_saved)
            n_filled = n_filled.view(-1, *[1] * (now.dim() - 1))
            filled = (torch.where(n_filled > i, own, 0) for i, own in enumerate(saved))
            now.copy_(sum(filled) / n_filled)

    def state_dict(self, *, of_saved: bool = True) -> dict:
        """State for a checkpoint; without the parameters once they are restored."""
        return {
            "loss": self.loss,
            "epoch": self.epoch,
            "n_improved": self._n_improved,
            "saved": self._saved if of_saved else {},
        }

    def load_state_dict(self, state: dict) -> None:
        """Go back to a state."""
        self.loss = state["loss"].to(self.loss.device)
        self.epoch = state["epoch"].to(self.epoch.device)
        self._n_improved = state["n_improved"].to(self._n_improved.device)
        for name, saved in state["saved"].items():
            self._saved[name].copy_(saved)


# The one training loop: candidates side by side, early stopping, the best restored.


START_ROWS = 10_000  # at most, evenly spaced, for the training loss of the start


@dataclass
class TrainResult:
    """How a training went; the module itself holds the best parameters found."""

    best_loss: Tensor  # (K,): lowest validation loss of each candidate
    best_epoch: Tensor  # (K,): its epoch, counted from 1
    # "max_epochs", "patience", "callback" or "nan": why training ended.
    reason: str = "max_epochs"
    epochs: int = 0  # epochs begun

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
    scheduler: Any = None,
    after_epoch: Callable[[Tensor], None] | None = None,
) -> TrainResult:
    """Train until ``max_epochs``, no improvement for ``patience`` epochs, or a stop.

    The candidates' losses are summed, so each gets its own gradient alone. After every
    ``evaluate_every`` epochs the validation loss is measured, and parameters that
    improved it are saved for each candidate by itself; on return the module holds the
    best ones. A candidate whose loss is not finite never improves again; training ends
    when no candidate is left, and FloatingPointError is raised if none had a finite
    validation loss even once.

    The ``generator``, on the device of the data, draws the batches. The ``monitor``
    gets the reports; where its callbacks have a ``Checkpointer``, training is saved now
    and then, and goes on from what was saved before. The ``scheduler``, an LRScheduler
    or what is like it, steps after each step of the optimizer; ``after_epoch`` gets
    each validation loss (K,). Checkpoints take the ``state_dict`` of both, of plain
    values and tensors.
    """
    monitor = Monitor(plan.max_epochs) if monitor is None else monitor
    own = optimizer, scheduler, after_epoch, generator, monitor
    training = Training(candidates, plan, *own)
    saved = training.stage.saved
    if saved is None or not training.resume(unpack(saved)):
        training.run()
    best = training.checkpoints
    reason = training.reason or "max_epochs"
    return TrainResult(best.loss, best.epoch, reason, training.epoch)


@dataclass
class Epoch:
    """An epoch under way."""

    order: Tensor  # (n_rows,): of the rows
    total: Tensor  # (K,): training losses of its steps so far, added up
    step: int = 0  # steps taken


@dataclass
class Training:
    """One call of ``train``, and how far it has come."""

    candidates: Candidates
    plan: TrainingPlan
    optimizer: torch.optim.Optimizer
    scheduler: Any
    after_epoch: Callable[[Tensor], None] | None
    generator: torch.Generator
    monitor: Monitor
    epoch: int = 0  # begun
    epochs_in_vain: int = 0
    reason: str | None = None
    under_way: Epoch | None = None

    def __post_init__(self) -> None:
        self.stage = self.monitor.begin_stage()
        self.before = self.monitor.position()  # what it had before this training
        drawn_from = generators_of(self.candidates)
        self.gradients = Gradients(self.candidates, drawn_from)
        self.checkpoints = BestCheckpoints(self.candidates, self.plan.n_averaged)

    def run(self) -> None:
        """Train to the end, and put the best parameters into the module."""
        plan = self.plan
        if self.epoch == 0 and plan.measures_start:
            apart = -(-plan.n_rows // START_ROWS)
            rows = torch.arange(0, plan.n_rows, apart, device=self.generator.device)
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
            self._restore_best()
        elif plan.n_averaged > 1:
            self.checkpoints.average()
        if self.reason == "callback":
            self.stage.stop()
        else:
            self.stage.finish(
                lambda: pack(self._ended() | {"goes_on": on}),
                has_open_end=on is not None,
            )

    @torch.no_grad()
    def resume(self, saved: dict) -> bool:
        """Go back to where a checkpoint was; return whether training had ended then."""
        if not fits(self.candidates, self._generators, saved):
            return False
        goes_on = saved.get("goes_on")
        if goes_on is not None and saved["epoch"] < self.plan.max_epochs:
            saved = goes_on
            self.stage.reopen()
        for name, parameter in self.candidates.named_parameters():
            parameter.copy_(saved["parameters"][name])
        for generator, state in zip(self._generators, saved["generators"]):
            generator.set_state(state)
        self.checkpoints.load_state_dict(saved["best"])
        self.epoch, self.reason = saved["epoch"], saved["reason"]
        self.monitor.resume(self.before, saved["monitor"])
        for name, each in self._stateful.items():
            if saved["steps"][name] is not None:  # nothing is saved of the optimizer
                each.load_state_dict(saved["steps"][name])
        if self.stage.is_finished:
            return True
        self.epochs_in_vain = saved["epochs_in_vain"]
        epoch, total = saved["under_way"], self.checkpoints.loss
        if epoch is not None:
            self.under_way = Epoch(
                epoch["order"].to(self.generator.device),
                epoch["total"].to(total.device),
                epoch["step"],
            )
        return False

    def take(self, rows: Tensor) -> Tensor:
        """Take one step of the optimizer on a batch of rows; return its loss (K,)."""
        loss = self.gradients(rows)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return loss

    def _evaluate(self, train_loss: Tensor, stopped: bool) -> None:
        """Measure and report the losses; see whether training is to end."""
        plan, epoch, checkpoints = self.plan, self.epoch, self.checkpoints
        valid_loss = torch.full_like(checkpoints.loss, math.nan)
        if plan.validates:
            valid_loss = _valid_loss(self.candidates)
            if self.after_epoch is not None:
                self.after_epoch(valid_loss)
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

    def _restore_best(self) -> None:
        """Put the best parameters of each candidate into the module, or their mean."""
        if not bool(torch.isfinite(self.checkpoints.loss).any()):
            raise FloatingPointError(
                f"The loss was not a number from epoch {self.monitor.epoch_offset + 1} "
                "on. Try a smaller learning_rate, and look for extreme values in the "
                "table."
            )
        if self.plan.n_averaged > 1:
            self.checkpoints.average()
            self.checkpoints.update(_valid_loss(self.candidates))
        self.checkpoints.restore()

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
        plan = self.plan
        if self.under_way is None:
            own, device = self.generator, self.generator.device
            order = torch.randperm(plan.n_rows, generator=own, device=device)
            self.under_way = Epoch(order, torch.zeros_like(self.checkpoints.loss))
        epoch, n_steps = self.under_way, steps_per_epoch(plan.n_rows, plan.batch_size)
        batches = epoch.order.split(plan.batch_size)  # a tiny rest is left out
        while epoch.step < n_steps:
            if self.stage.is_due:
                self.stage.save(pack(self._state(epoch)))
            epoch.total = epoch.total + self.take(batches[epoch.step])
            epoch.step += 1
            if epoch.step == n_steps and plan.evaluates(self.epoch):
                break  # the epoch's own report follows at once
            if self.monitor.is_due():
                leader = int(torch.argmin(self.checkpoints.loss))
                done = self.epoch - 1 + epoch.step / n_steps
                loss = float(epoch.total[leader]) / epoch.step
                if self.monitor.notify(done, loss, math.nan):
                    self.under_way = None
                    return epoch.total.double() / epoch.step, True
        self.under_way = None
        return epoch.total.double() / n_steps, False

    @property
    def _generators(self) -> list[torch.Generator]:
        """What draws batches, and what the candidates draw from."""
        return generators_of(self.generator, self.candidates)

    @property
    def _stateful(self) -> dict[str, Any]:
        """What changes from step to step and has a state, by name."""
        names = ("optimizer", "scheduler", "after_epoch")
        found = {name: getattr(self, name) for name in names}
        return {k: each for k, each in found.items() if hasattr(each, "state_dict")}

    def _ended(self) -> dict:
        """State in the end: what follows reads no more than this."""
        steps = {name: each.state_dict() for name, each in self._stateful.items()}
        return {
            "parameters": dict(self.candidates.named_parameters()),
            "generators": [each.get_state() for each in self._generators],
            "best": self.checkpoints.state_dict(of_saved=False),
            "epoch": self.epoch,
            "reason": self.reason,
            "monitor": self.monitor.since(self.before),
            # What the module predicts may depend on how far a schedule has come.
            "steps": steps | {"optimizer": None},
        }

    def _state(self, epoch: Epoch | None) -> dict:
        """State before a step, or between epochs."""
        steps = {name: each.state_dict() for name, each in self._stateful.items()}
        return self._ended() | {
            "best": self.checkpoints.state_dict(),
            "epochs_in_vain": self.epochs_in_vain,
            "steps": steps,
            "under_way": None if epoch is None else vars(epoch),
        }


@torch.no_grad()
def _valid_loss(candidates: Candidates) -> Tensor:
    """Validation loss (K,), float32."""
    return candidates.valid_loss().float()
