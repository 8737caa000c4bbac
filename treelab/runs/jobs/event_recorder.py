"""The event recorder: writes a training's reports to the run store, not too often."""

import time
from collections.abc import Callable
from dataclasses import replace

from treelab.runs.jobs.model_facts import target_facts
from treelab.runs.store.run_store import RunStore
from treelab.training.checkpointer import Checkpointer
from treelab.training.events import Progress, RetainedCurve
from treelab.trees.pruning_path import PruningPath
from treelab.trees.tree import Tree

WRITE_SECONDS = 0.1  # reports that come faster are written together
SNAPSHOT_SECONDS = 2.0  # at the least, between two snapshots
SNAPSHOT_FRACTION = 0.05  # of the training's time may go into snapshots


class Interrupted(Exception):
    """Training was aborted, because its process has to end."""


class Paused(Interrupted):
    """Training was aborted, because somebody paused it."""


class EventRecorder:
    """Training callback that saves the loss curves, and now and then the tree.

    The first report of a stage is written at once, later ones at most ten times a
    second. Of the reports in between, the one with the lowest validation loss and the
    last one are written, so that the curve has its start, its lowest point and its end.
    Seconds are counted from when the recorder was made: what a learner does before its
    own clock starts, as growing first trees, counts as well.

    Parameters
    ----------
    store : RunStore
    run_id : str
    should_abort : callable, optional
        Called at each report; when it returns True, ``Interrupted`` is raised.

    Attributes
    ----------
    checkpointer : Checkpointer or None
        Of the training under way: what aborts it is raised once its state is saved.
    stop_requested : bool
        Whether the training was asked to stop.
    """

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        should_abort: Callable[[], bool] = lambda: False,
    ):
        self.checkpointer: Checkpointer | None = None
        self.stop_requested = False
        self._store = store
        self._run_id = run_id
        self._should_abort = should_abort
        self._pending: list[Progress] = []
        self._stage: tuple | None = None  # of the last report
        self._next_write = 0.0
        self._next_snapshot = 0.0
        self._made = time.monotonic()
        self._before: float | None = None  # seconds until the learner's clock started

    def __call__(self, report: Progress) -> bool:
        """Record a report; True asks the training to stop."""
        if self._before is None:
            passed = time.monotonic() - self._made
            self._before = max(passed - report.seconds, 0.0)
        report = replace(report, seconds=report.seconds + self._before)
        if report.retained is not None:
            self._retain(report.retained)
            return self.stop_requested
        stage = (report.stage, report.is_preparation)
        if stage != self._stage:
            self.write()
            self._stage, self._next_write, self._next_snapshot = stage, 0.0, 0.0
        self._pending.append(report)
        if self._should_abort():
            self._abort(Interrupted())
        if time.monotonic() >= self._next_write:
            self.write()
            if not self.stop_requested:
                self._save_snapshot(report)
            self._next_write = time.monotonic() + WRITE_SECONDS
        return self.stop_requested

    def write(self) -> None:
        """Write the pending reports; raises ``Paused`` where a pause was asked for."""
        if not self.flush() and not self.stop_requested:
            if self._store.is_pause_requested(self._run_id):
                self._abort(Paused())
            else:
                self.stop_requested = True

    def flush(self) -> bool:
        """Write the pending reports, as training has ended; whether it was to go on."""
        reports, self._pending = _lowest_and_last(self._pending), []
        return not reports or self._store.add_events(self._run_id, reports)

    def _abort(self, error: Interrupted) -> None:
        """End the training, after a checkpoint where one can be made."""
        if self.checkpointer is not None and self.checkpointer.in_stage:
            self.checkpointer.end_with(error)
            return
        if self.checkpointer is not None:
            self.checkpointer.flush()
        raise error

    def _retain(self, curve: RetainedCurve) -> None:
        """Put the curve and the trees of the retained candidate in the place of all."""
        self.write()
        seconds = curve.history["seconds"] + (self._before or 0.0)
        self._store.replace_events(self._run_id, curve.history.assign(seconds=seconds))
        trees = {
            epoch: self._single_tree(build())
            for epoch, build in curve.snapshots.items()
        }
        if known := {epoch: tree for epoch, tree in trees.items() if tree is not None}:
            self._store.replace_snapshots(self._run_id, known)

    def _save_snapshot(self, report: Progress) -> None:
        """Save the tree of this moment when a snapshot is due."""
        began = time.monotonic()
        if report.snapshot is None or began < self._next_snapshot:
            return
        tree = self._single_tree(report.snapshot())
        if tree is not None:
            self._store.add_snapshot(self._run_id, report.epoch, tree)
        now = time.monotonic()
        self._next_snapshot = now + max(
            SNAPSHOT_SECONDS, (now - began) / SNAPSHOT_FRACTION
        )

    def _single_tree(self, model) -> Tree | None:
        """Return the tree that shows a model while it trains; None for an ensemble.

        It has the name of its target, which no learner knows.
        """
        if isinstance(model, PruningPath):
            model = model.trees[model.chosen]
        if not isinstance(model, Tree):
            return None
        try:
            facts = target_facts(self._store.run(self._run_id).problem)
        except LookupError:  # the run was deleted meanwhile
            return None
        return replace(model, **facts)


def _lowest_and_last(reports: list[Progress]) -> list[Progress]:
    """Pick the report of the lowest validation loss and the last one, in order."""
    if len(reports) <= 2:
        return reports
    *earlier, last = reports
    measured = [r for r in earlier if r.valid_loss == r.valid_loss]
    lowest = min(measured, key=lambda r: r.valid_loss, default=earlier[-1])
    return [lowest, last]
