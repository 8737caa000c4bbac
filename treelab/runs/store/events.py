"""A run's events: the points of its loss curves, in the order in which they came."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from treelab.runs.store.database import reading, writing
from treelab.training.events import Progress

EVENT_COLUMNS = ["epoch", "train_loss", "valid_loss", "metric", "seconds", "stage"]


def write_events(database: Path, run_id: str, reports: Sequence[Progress]) -> bool:
    """Add points to a run's curves and move its progress.

    Parameters
    ----------
    database : Path
        The run store's SQLite file.
    run_id : str
    reports : sequence of Progress

    Returns
    -------
    bool
        Whether to go on: False once a stop was requested or the run has ended.
    """
    rows = [
        (
            run_id,
            report.epoch,
            _finite(report.train_loss),
            _finite(report.valid_loss),
            _finite(report.metric),
            report.seconds,
            report.stage,
        )
        for report in reports
    ]
    with writing(database) as db:
        run = db.execute(
            "SELECT stop_requested FROM runs WHERE id = ? AND state = 'running'",
            (run_id,),
        ).fetchone()
        if run is None:
            return False
        db.executemany(
            f"INSERT INTO events (run_id, {', '.join(EVENT_COLUMNS)})"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        if reports:
            last = reports[-1]
            db.execute(
                "UPDATE runs SET epoch = ?, max_epochs = ?, stage = ? WHERE id = ?",
                (last.epoch, last.max_epochs, last.stage, run_id),
            )
    return not run["stop_requested"]


def read_events(database: Path, run_id: str, after: float = 0) -> pd.DataFrame:
    """Read a run's curves; see ``RunStore.events``."""
    with reading(database) as db:
        rows = db.execute(
            f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"
            " WHERE run_id = ? AND epoch > ? ORDER BY number",
            (run_id, after),
        ).fetchall()
    frame = pd.DataFrame([tuple(row) for row in rows], columns=EVENT_COLUMNS)
    return frame.astype(dict.fromkeys(EVENT_COLUMNS[:-1], float) | {"stage": str})


def _finite(value: float | None) -> float | None:
    """Return what SQLite stores of a number: NaN and infinity become NULL."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)
