"""The ear of the run store: writes what a training reports, not too often."""

import time
from collections.abc import Callable

from treelab.runs.store.run_store import RunStore
from treelab.training.events import Progress
from treelab.trees.pruning.path import PruningPath
from treelab.trees.tree import Tree

WRITE_SECONDS = 0.1  # reports that come faster are written together
SNAPSHOT_SECONDS = 2.0  # at the least, between two snapshots
SNAPSHOT_SHARE = 0.05  # of the training's time may go into snapshots


class Interrupted(Exception):
    """Training was broken off, because its process has to end."""


class Recorder:
    """Callback of a training that keeps its curves, and now and then its tree.

    The first report is written at once, later ones at most ten times a second. Of the
    reports in between, those with the lowest validation loss and the last one stay,
    so that the curve keeps its lowest point and its end.

    Parameters
    ----------
    store : RunStore
    run_id : str
    broken_off : callable, optional
        Asked at each report; when it answers True, ``Interrupted`` is raised.

    Attributes
    ----------
    stop_asked : bool
        Whether the training was told to stop.
    """

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        broken_off: Callable[[], bool] = lambda: False,
    ):
        self.stop_asked = False
        self._store = store
        self._run_id = run_id
        self._broken_off = broken_off
        self._waiting: list[Progress] = []
        self._next_write = 0.0
        self._next_snapshot = 0.0

    def __call__(self, report: Progress) -> bool:
        """Hear a report; True asks the training to stop."""
        self._waiting.append(report)
        if self._broken_off():
            raise Interrupted
        if time.monotonic() >= self._next_write:
            self.write()
            if not self.stop_asked:
                self._keep_snapshot(report)
            self._next_write = time.monotonic() + WRITE_SECONDS
        return self.stop_asked

    def write(self) -> None:
        """Write the reports that wait; called once more when training has ended."""
        reports, self._waiting = _worth_keeping(self._waiting), []
        if reports and not self._store.add_events(self._run_id, reports):
            self.stop_asked = True

    def _keep_snapshot(self, report: Progress) -> None:
        """Keep the tree of the moment when one is due."""
        began = time.monotonic()
        if report.snapshot is None or began < self._next_snapshot:
            return
        tree = _one_tree(report.snapshot())
        if tree is not None:
            self._store.add_snapshot(self._run_id, report.epoch, tree)
        now = time.monotonic()
        self._next_snapshot = now + max(
            SNAPSHOT_SECONDS, (now - began) / SNAPSHOT_SHARE
        )


def _worth_keeping(reports: list[Progress]) -> list[Progress]:
    """The lowest validation loss and the last report, in their order."""
    if len(reports) <= 2:
        return reports
    *earlier, last = reports
    measured = [r for r in earlier if r.valid_loss == r.valid_loss]
    best = min(measured, key=lambda r: r.valid_loss, default=earlier[-1])
    return [best, last]


def _one_tree(model) -> Tree | None:
    """The tree that tells of a model while it trains; an ensemble has no such tree."""
    if isinstance(model, PruningPath):
        return model.trees[model.chosen]
    return model if isinstance(model, Tree) else None
