"""What one fit of GET reports while it runs, and whether it was asked to stop."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from treelab.learners.get.settings import FitPlan
from treelab.learners.get.trees import HardTrees
from treelab.training.events import Monitor


class Reports:
    """Reports of all steps of one fit, which share a history.

    Parameters
    ----------
    monitor : Monitor
        For the whole fit.
    snapshot : callable
        Turns a batch of one tree into what a ``Progress`` shows.
    plan : FitPlan
        For the epochs.

    Attributes
    ----------
    stopped : bool
        Whether a callback asked to stop.
    """

    def __init__(
        self, monitor: Monitor, snapshot: Callable[[HardTrees], Any], plan: FitPlan
    ):
        self.stopped = False
        self._monitor, self._snapshot, self._plan = monitor, snapshot, plan
        self._last = monitor  # of the tree that was reported last
        self._last_losses: tuple[float, float] | None = None

    def monitor_of_stage(
        self, stage: int, name: str, tree: Callable[[], HardTrees]
    ) -> Monitor:
        """Return the monitor of a training stage, which shows the tree of a call."""
        return replace(
            self._monitor,
            stage=name,
            epoch_offset=sum(self._plan.stage_epochs[:stage]),
            snapshot=lambda: self._snapshot(tree()),
        )

    def report(
        self, epoch: float, stage: str, tree: HardTrees, losses: tuple[float, float]
    ) -> bool:
        """Report a tree with its training and validation loss; return ``stopped``."""
        self._last = replace(
            self._monitor, stage=stage, snapshot=lambda: self._snapshot(tree)
        )
        self._last_losses = losses
        self.stopped |= self._last.report(epoch, *losses)
        return self.stopped

    def report_later(
        self, done: float, stage: str, tree: HardTrees, losses: tuple[float, float]
    ) -> bool:
        """Report in growth or polish, of which a fraction is done."""
        return self.report(self._plan.later_epoch(done), stage, tree, losses)

    def should_stop(self, done: float = 0.0) -> bool:
        """Repeat the last report, if it is old, with a fraction of growth and polish.

        Returns ``stopped``.
        """
        if self._last_losses is not None and self._last.is_due():
            epoch = self._plan.later_epoch(done)
            self.stopped |= self._last.notify(epoch, *self._last_losses)
        return self.stopped
