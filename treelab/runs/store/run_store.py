"""The run store: every table, every run and what became of it, in one folder."""

import math
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from treelab.data.problem import Problem
from treelab.learners.registry import learner_title
from treelab.runs.store import snapshots
from treelab.runs.store.database import prepare, reading, writing
from treelab.runs.store.run import QUICK_LEARNERS, Run
from treelab.runs.store.states import RunStates, to_json
from treelab.runs.store.tables import TableInfo, TableShelf
from treelab.runs.store.worker_registry import Crew
from treelab.training.events import Progress
from treelab.trees.io import load_model
from treelab.trees.tree import Tree

__all__ = ["Run", "RunStore", "TableInfo", "default_home"]

EVENT_COLUMNS = ["epoch", "train_loss", "valid_loss", "metric", "seconds", "stage"]
_ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that look alike


def default_home() -> Path:
    """Folder of the run store: ``TREELAB_HOME``, else ``~/.treelab``."""
    return Path(os.environ.get("TREELAB_HOME") or Path.home() / ".treelab")


class RunStore(RunStates):
    """Tables and runs in one folder, shared by the app, its workers and the shell.

    A SQLite file holds what changes (states, events), a folder a run what is large
    (snapshots, model, log). Every method opens the file for itself, so one store may
    be used from many threads, and many stores from many processes. States change
    atomically: of two who would end a run, one succeeds and the other learns it.

    Parameters
    ----------
    home : path-like, optional
        The folder; made when it is not there. Default: see ``default_home``.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    ValueError
        If a newer treelab wrote it.

    Attributes
    ----------
    crew : Crew
        The register of the workers.
    """

    def __init__(self, home: str | os.PathLike | None = None):
        self.home = Path(home or default_home()).expanduser().absolute()
        self._path = self.home / "treelab.sqlite"
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            prepare(self._path)
        except (OSError, sqlite3.OperationalError) as error:
            raise OSError(
                f"treelab cannot keep its runs in {self.home}: {error}. Make that "
                "folder writable, or name another one with TREELAB_HOME."
            ) from error
        self._shelf = TableShelf(self._path, self.home / "tables")
        self.crew = Crew(self._path)

    def __repr__(self) -> str:
        return f"RunStore({str(self.home)!r})"

    def exists(self) -> bool:
        """Whether the folder is still there."""
        return self._path.exists()

    # Tables

    def add_table(self, frame: pd.DataFrame, name: str) -> str:
        """Keep a table under its content's hash and return that id.

        The same table again is kept once, under the newer name.

        Raises
        ------
        ValueError
            If a column cannot be stored, naming it.
        """
        return self._shelf.add(frame, name)

    def table(self, table_id: str) -> pd.DataFrame:
        """Read a table; LookupError if there is none of this id."""
        return self._shelf.read(table_id)

    def tables(self) -> list[TableInfo]:
        """List the tables, newest first."""
        return self._shelf.list()

    # Runs

    def create(
        self,
        learner: str,
        settings: dict,
        problem: Problem,
        device: str = "auto",
        title: str = "",
    ) -> str:
        """Write down a new run, state "queued", and return its id.

        No worker takes it before ``submit`` (see ``Queue.submit``).

        Raises
        ------
        ValueError
            For an unknown learner.
        LookupError
            If the problem's table is not in the store.
        """
        known_as = learner_title(learner)
        self._shelf.check(problem.table_id)
        title = title or f"{known_as} · {problem.table_name}"
        ending = "".join(secrets.choice(_ID_LETTERS) for _ in range(7))
        run_id = f"{learner}-{ending}"
        with writing(self._path) as db:
            db.execute(
                "INSERT INTO runs (id, title, learner, settings, problem, device,"
                " priority, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run_id,
                    title,
                    learner,
                    to_json(settings),
                    to_json(problem.to_dict()),
                    device,
                    0 if learner in QUICK_LEARNERS else 1,
                    time.time(),
                ),
            )
        self.folder(run_id).mkdir(parents=True, exist_ok=True)
        return run_id

    def run(self, run_id: str) -> Run:
        """Read a run; LookupError if there is none of this id."""
        with reading(self._path) as db:
            row = db.execute(
                "SELECT * FROM runs WHERE id = ? AND NOT deleted", (run_id,)
            ).fetchone()
        if row is None:
            raise LookupError(f"There is no run {run_id!r} in {self.home}.")
        return Run.from_row(row)

    def runs(self) -> list[Run]:
        """List the runs, newest first."""
        with reading(self._path) as db:
            rows = db.execute(
                "SELECT * FROM runs WHERE NOT deleted ORDER BY created DESC, rowid DESC"
            ).fetchall()
        return [Run.from_row(row) for row in rows]

    def set_title(self, run_id: str, title: str) -> None:
        """Give a run another title."""
        with writing(self._path) as db:
            db.execute("UPDATE runs SET title = ? WHERE id = ?", (title, run_id))

    def set_problem(self, run_id: str, problem: Problem) -> None:
        """Say anew what a run is about, once its table has a column of clusters."""
        self._shelf.check(problem.table_id)
        with writing(self._path) as db:
            db.execute(
                "UPDATE runs SET problem = ? WHERE id = ?",
                (to_json(problem.to_dict()), run_id),
            )

    def log(self, run_id: str) -> str:
        """What a run wrote to its log, the traceback of a failure above all."""
        path = self.folder(self.run(run_id).id) / "log.txt"
        return path.read_text("utf-8") if path.exists() else ""

    # What happens in a run

    def add_events(self, run_id: str, reports: Sequence[Progress]) -> bool:
        """Add points to a run's curves and move its progress.

        Returns
        -------
        bool
            Whether to go on: False once a stop was requested or the run has ended.
        """
        rows = [
            (
                run_id,
                r.epoch,
                _finite(r.train_loss),
                _finite(r.valid_loss),
                _finite(r.metric),
                r.seconds,
                r.stage,
            )
            for r in reports
        ]
        with writing(self._path) as db:
            run = db.execute(
                "SELECT stop_requested FROM runs WHERE id = ? AND state = 'running'",
                (run_id,),
            ).fetchone()
            if run is None:
                return False
            db.executemany(
                "INSERT INTO events (run_id, epoch, train_loss, valid_loss, metric,"
                " seconds, stage) VALUES (?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            if reports:
                last = reports[-1]
                db.execute(
                    "UPDATE runs SET epoch = ?, max_epochs = ?, stage = ? WHERE id = ?",
                    (last.epoch, last.max_epochs, last.stage, run_id),
                )
        return not run["stop_requested"]

    def add_event(self, run_id: str, report: Progress) -> bool:
        """Add one point to a run's curves; see ``add_events``."""
        return self.add_events(run_id, [report])

    def events(self, run_id: str, after: float = 0) -> pd.DataFrame:
        """Read a run's curves, in the order in which they came.

        Parameters
        ----------
        after : float, default=0
            Only points of later epochs than this one.

        Returns
        -------
        DataFrame
            Columns epoch, train_loss, valid_loss, metric (NaN where not measured),
            seconds since the training began, stage.
        """
        with reading(self._path) as db:
            rows = db.execute(
                f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"
                " WHERE run_id = ? AND epoch > ? ORDER BY number",
                (run_id, after),
            ).fetchall()
        frame = pd.DataFrame([tuple(row) for row in rows], columns=EVENT_COLUMNS)
        return frame.astype(dict.fromkeys(EVENT_COLUMNS[:-1], float) | {"stage": str})

    def add_snapshot(self, run_id: str, epoch: float, tree: Tree) -> None:
        """Keep the tree of the moment; the row of snapshots is thinned as it grows."""
        snapshots.write_snapshot(self._snapshots(run_id), epoch, tree)

    def snapshots(self, run_id: str) -> list[float]:
        """List the epochs of which a tree was kept, first to last."""
        return snapshots.snapshot_epochs(self._snapshots(run_id))

    def snapshot(self, run_id: str, epoch: float) -> Tree:
        """Read the tree kept at an epoch; LookupError if it is gone."""
        return snapshots.read_snapshot(self._snapshots(run_id), epoch)

    def add_model(self, run_id: str, model) -> None:
        """Save a trained model (``Tree``, ``WeightedTrees`` or ``PruningPath``)."""
        # Written aside and renamed: a killed worker leaves no half model.
        part = self.folder(run_id) / "model.part"
        shutil.rmtree(part, ignore_errors=True)
        model.save(part)
        shutil.rmtree(self.folder(run_id) / "model", ignore_errors=True)
        part.replace(self.folder(run_id) / "model")

    def model(self, run_id: str):
        """Load the model a run kept; LookupError if it kept none."""
        run = self.run(run_id)
        if not run.has_model:
            raise LookupError(f"The run {run.title!r} ({run.state}) kept no model.")
        return load_model(self.folder(run_id) / "model")

    def _snapshots(self, run_id: str) -> Path:
        """Folder of a run's snapshots."""
        return self.folder(self.run(run_id).id) / "snapshots"


def _finite(value: float | None) -> float | None:
    """What SQLite keeps of a number: NaN and infinity become NULL."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)
