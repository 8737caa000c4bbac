"""Steps of an optimizer: batches drawn, gradients taken, and their state."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from treelab.training.plan import (
    Candidates,
    Scheduler,
    TrainingPlan,
    steps_per_epoch,
)


@dataclass
class Epoch:
    """An epoch under way.

    Attributes
    ----------
    order : LongTensor of shape (n_rows,)
        Of the rows.
    total : Tensor of shape (K,)
        Training losses of its steps so far, added up.
    step : int, default=0
        Steps taken.
    """

    order: Tensor
    total: Tensor
    step: int = 0


@dataclass(frozen=True)
class Steps:
    """The optimizer's steps of one training.

    Attributes
    ----------
    candidates : Candidates
    optimizer : Optimizer
    scheduler : Scheduler or None
    plan : TrainingPlan
    generator : torch.Generator
        Draws the batches.
    after_epoch : callable or None
        Gets each validation loss (K,).
    """

    candidates: Candidates
    optimizer: torch.optim.Optimizer
    scheduler: Scheduler | None
    plan: TrainingPlan
    generator: torch.Generator
    after_epoch: Callable[[Tensor], None] | None

    def take(self, rows: Tensor) -> Tensor:
        """Take one step on a batch of rows; return its loss (K,)."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.candidates.batch_loss(rows)  # (K,)
        loss.sum().backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return loss.detach()

    def draw_order(self) -> Tensor:
        """Shuffled row indices of an epoch."""
        device = self.generator.device
        return torch.randperm(self.plan.n_rows, generator=self.generator, device=device)

    def batches(self, order: Tensor) -> tuple[Tensor, ...]:
        """Row indices in batches; a tiny rest is left for the next shuffle."""
        n_steps = steps_per_epoch(self.plan.n_rows, self.plan.batch_size)
        return order.split(self.plan.batch_size)[:n_steps]

    def state_dict(self) -> dict:
        """State of the optimizer, and of what changes from step to step."""
        return {name: each.state_dict() for name, each in self._stateful.items()}

    def load_state_dict(self, saved: dict) -> None:
        """Go back to a state."""
        for name, each in self._stateful.items():
            each.load_state_dict(saved[name])

    @property
    def _stateful(self) -> dict[str, Any]:
        """What has a state, by name."""
        found = {
            "optimizer": self.optimizer,
            "scheduler": self.scheduler,
            "after_epoch": self.after_epoch,
        }
        return {k: each for k, each in found.items() if hasattr(each, "state_dict")}
