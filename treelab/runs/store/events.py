"""The points of a run's loss curves."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from treelab.runs.store.database import fetch, writing
from treelab.runs.store.states import RunStates
from treelab.training.events import CROSS_VALIDATION, Progress

EVENT_COLUMNS = ["epoch", "train_loss", "valid_loss", "seconds", "stage"]
_INSERT = (
    f"INSERT INTO events (run_id, {', '.join(EVENT_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?)"
)


class RunEvents(RunStates):
    """The part of the run store that holds the points of runs' loss curves."""

    def add_events(
        self, run_id: str, reports: Sequence[Progress], attempt: int | None = None
    ) -> bool:
        """Add points to a run's curves and move its progress.

        Reports of a preparation move the progress; one with a loss is a point of the
        curve that is shown until the training's own is whole. Returns whether to go on:
        False once a stop was requested or the run has ended, or is in another attempt
        than the one that reports.
        """
        rows = [
            _row(run_id, vars(report))
            for report in reports
            if not report.is_preparation or _has_curve(report)
        ]
        with writing(self.database) as db:
            run = db.execute(
                "SELECT stop_requested FROM runs WHERE id = ? AND state = 'running'"
                " AND attempts = coalesce(?, attempts)",
                (run_id, attempt),
            ).fetchone()
            if run is None:
                return False
            db.executemany(_INSERT, rows)
            if reports:
                last = reports[-1]
                db.execute(
                    "UPDATE runs SET epoch = ?, max_epochs = ?, stage = ?,"
                    " first_report = coalesce(first_report, ?),"
                    " first_epoch = coalesce(first_epoch, ?) WHERE id = ?",
                    (
                        *(last.total_epoch, last.max_epochs, last.stage),
                        *(time.time(), reports[0].total_epoch, run_id),
                    ),
                )
        return not run["stop_requested"]

    def replace_events(self, run_id: str, history: pd.DataFrame) -> None:
        """Put a learner's ``history_`` in the place of a run's curves.

        Its columns are those of ``treelab.training.events.HISTORY``.
        """
        rows = [_row(run_id, row) for row in history.to_dict("records")]
        with writing(self.database) as db:
            db.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
            db.executemany(_INSERT, rows)
            # The pace counts from the next report: these may be of an attempt before.
            db.execute(
                "UPDATE runs SET first_report = NULL, first_epoch = NULL WHERE id = ?",
                (run_id,),
            )

    def events(self, run_id: str, after: float = -1) -> pd.DataFrame:
        """Read points of a run's curves, in the order in which they came.

        Those of later epochs than ``after``, with columns epoch, train_loss,
        valid_loss (NaN where not measured), seconds since the training began, stage.
        """
        return self._events(run_id, "stage <> ?", after)

    def preparation(self, run_id: str) -> pd.DataFrame:
        """Read the curve of a run's cross-validation, which comes before its own.

        It is there until the training has ended. Columns as in ``events``.
        """
        return self._events(run_id, "stage = ?")

    def _events(self, run_id: str, stage: str, after: float = -1) -> pd.DataFrame:
        """Read points of a run that is seen; ``stage`` asks for cross-validation's."""
        where, values = self._seen()
        rows = fetch(
            self.database,
            f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"
            f" WHERE run_id = ? AND epoch > ? AND {stage} AND EXISTS"
            f" (SELECT 1 FROM runs WHERE id = ? AND {where}) ORDER BY number",
            (run_id, after, CROSS_VALIDATION, run_id, *values),
        )
        if not rows:  # what a page that waits for points reads each second
            return _NO_EVENTS.copy()
        return _typed(rows)


def _has_curve(report: Progress) -> bool:
    """Whether a report of a preparation is a point of a curve."""
    return report.stage == CROSS_VALIDATION and math.isfinite(report.valid_loss)


def _typed(rows: list[dict]) -> pd.DataFrame:
    """Lay rows out as a table: numbers, and the stage."""
    frame = pd.DataFrame(rows, columns=EVENT_COLUMNS)
    for name in EVENT_COLUMNS[:-1]:  # a damaged row costs its point and no page
        frame[name] = pd.to_numeric(frame[name], errors="coerce").astype(float)
    frame["stage"] = frame["stage"].map(str)
    return frame.astype({"stage": str}).dropna(subset="epoch", ignore_index=True)


_NO_EVENTS = _typed([])


def _row(run_id: str, point: Mapping[Any, Any]) -> tuple:
    """Return what is stored of a point; numbers that are not finite become NULL."""
    numbers = [point.get(name) for name in EVENT_COLUMNS[:-1]]
    known = (None if x is None or not math.isfinite(x) else float(x) for x in numbers)
    return run_id, *known, point["stage"]
