"""How runs move from state to state: atomically, whoever else tries the same."""

import json
import shutil
import time
from collections.abc import Collection
from operator import methodcaller
from pathlib import Path

from treelab.learners.registry import IMPORTED
from treelab.runs.store.database import Database, change, fetch, reading, writing
from treelab.runs.store.run import FINISHED, RESUMABLE, SAVING, Run
from treelab.runs.store.server import Server
from treelab.runs.store.workers import ProcessId

SILENT_SECONDS = 60  # without a heartbeat, then a process elsewhere counts as dead
TRAINER_ENDED = "The process that trained it ended in the middle of the run."
MAKER_ENDED = "The process that made it ended before the training began."
GIVEN_UP = f"{TRAINER_ENDED} It was not taken up again."
GONE_SECONDS = 5.0  # without a heartbeat, then one that is said to be gone is so
QUICK_PRIORITY, NORMAL_PRIORITY, REPEAT_PRIORITY = 0, 1, 2  # lower is taken first


class RunStates:
    """The part of the run store that workers, queue and visitors compete for.

    A run goes from "queued" to "running" to one of ``FINISHED``, and from one of
    ``RESUMABLE`` back to "queued"; each step is one transaction that asks for the state
    it leaves. So of two who would take or end a
    run, one succeeds and the other learns that it did not.
    """

    home: Path
    database: Path | Server

    def folder(self, run_id: str) -> Path:
        """Folder of a run's snapshots, model and ``log.txt``."""
        return self.home / "runs" / run_id

    def _seen(self) -> tuple[str, tuple]:
        """Return what is asked of a run's row, in SQL, for it to be there, and values.

        All that reads runs asks it; see ``VisitorStore``.
        """
        return "deleted = 0", ()

    def may_change(self, run: Run) -> bool:
        """Whether a run may be stopped, renamed and deleted; see ``VisitorStore``."""
        return True

    def may_delete_table(self, table_id: str) -> bool:
        """Whether a table on which no run is left may be deleted."""
        return True

    def submit(self, run_id: str) -> None:
        """Let the workers take a queued run."""
        change(self.database, "UPDATE runs SET submitted = 1 WHERE id = ?", (run_id,))

    def claim_next(self, owner: ProcessId, *, quick_only: bool = False) -> str | None:
        """Take the queue's next run for a worker: quick learners first, repeats last.

        With ``quick_only`` it takes none but the quick learners' runs. Returns the run,
        now "running" and the owner's, the worker's process; None when none waits.
        """
        most = QUICK_PRIORITY if quick_only else REPEAT_PRIORITY
        with reading(self.database) as db:  # reading takes no write lock
            if not _queued(db, most):
                return None
        with writing(self.database) as db:
            waiting = _queued(db, most)
            if not waiting:
                return None
            _start(db, waiting[0], owner)
            return waiting[0]

    def start(self, run_id: str, owner: ProcessId) -> bool:
        """Take one queued run; False if it is not queued any more."""
        with writing(self.database) as db:
            return _start(db, run_id, owner)

    def queued(self) -> list[str]:
        """List the runs that wait for a worker, in the order they will be taken."""
        with reading(self.database) as db:
            return _queued(db, REPEAT_PRIORITY, self._seen())

    def has_waiting(self) -> bool:
        """Whether a run waits that a quick worker does not take."""
        query = (
            "SELECT 1 FROM runs WHERE state = 'queued' AND submitted = 1"
            " AND priority > ? LIMIT 1"
        )
        return bool(fetch(self.database, query, (QUICK_PRIORITY,)))

    def in_stage(self, stage: str) -> list[str]:
        """List the runs that train in a stage and were not asked to stop, by age."""
        where, values = self._seen()
        query = (
            "SELECT id FROM runs WHERE state = 'running' AND stage = ?"
            f" AND stop_requested = 0 AND {where} ORDER BY created"
        )
        return [row["id"] for row in fetch(self.database, query, (stage, *values))]

    def finish(
        self,
        run_id: str,
        state: str,
        *,
        metrics: dict | None = None,
        summary: dict | None = None,
        error: str = "",
        finished: float | None = None,
        attempt: int | None = None,
        owner: ProcessId | None = None,
    ) -> bool:
        """End a running run, once: a second call changes nothing.

        The state is one of ``FINISHED``, the error one sentence, ``finished`` when it
        ended, by default now; ``attempt`` the one that is to end, and ``owner`` whose
        it is to be, by default whichever it is; for the others see ``Run``. Returns
        whether the run was running so, and is ended by this call.
        """
        if state not in FINISHED:
            raise ValueError(f"state must be one of {sorted(FINISHED)}, got {state!r}.")
        has_model = (self.folder(run_id) / "model").is_dir()
        with writing(self.database) as db:
            ended = db.execute(
                "UPDATE runs SET state = ?, finished = ?, metrics = ?, summary = ?,"
                " error = ?, has_model = ? WHERE id = ? AND state = 'running'"
                " AND attempts = coalesce(?, attempts) AND owner = coalesce(?, owner)",
                (
                    state,
                    finished or time.time(),
                    to_json(metrics or {}),
                    to_json(summary or {}),
                    error,
                    has_model,
                    run_id,
                    attempt,
                    None if owner is None else str(owner),
                ),
            ).rowcount
            deleted = db.execute(
                "SELECT 1 FROM runs WHERE id = ? AND deleted = 1", (run_id,)
            ).fetchone()
            removed = deleted is not None and _remove(db, run_id)
        if removed:
            shutil.rmtree(self.folder(run_id), ignore_errors=True)
        return ended == 1

    def heartbeat(self, owner: ProcessId) -> None:
        """Record that a process is alive and still trains its runs."""
        change(
            self.database,
            "UPDATE runs SET heartbeat = ? WHERE owner = ? AND state = 'running'",
            (time.time(), str(owner)),
        )

    def interrupt_dead_runs(self, gone: Collection[ProcessId] = ()) -> list[str]:
        """End the runs of ``dead_runs`` as "interrupted"; return their ids."""
        return [
            run_id
            for run_id, left in self.dead_runs(gone).items()
            if self._interrupt(run_id, left)
        ]

    def dead_runs(self, gone: Collection[ProcessId] = ()) -> dict[str, dict]:
        """Return the rows of runs whose process died: state, owner, last heartbeat.

        That is the process that trains a run, or the one that made it and ended before
        it submitted it. A process of this machine is dead when the system does not know
        it, however long a laptop slept; one elsewhere that trains when it has had no
        heartbeat for ``SILENT_SECONDS``, and for ``GONE_SECONDS`` where somebody who
        knows says that it is ``gone``.
        """
        rows = fetch(
            self.database,
            "SELECT id, state, owner, heartbeat FROM runs WHERE state = 'running'"
            " OR (state = 'queued' AND submitted = 0 AND owner IS NOT NULL)",
        )
        dead = {}
        for row in rows:
            owner = ProcessId.parse(row["owner"])
            if owner.is_local and owner not in gone:
                is_dead = not owner.is_alive()
            else:  # one that is queued waits for a cluster, as long as that takes
                silent = time.time() - (row["heartbeat"] or 0.0)
                most = GONE_SECONDS if owner in gone else SILENT_SECONDS
                is_dead = row["state"] == "running" and silent > most
            if is_dead:
                dead[row["id"]] = row
        return dead

    def lost_runs(self, owners: Collection[ProcessId]) -> list[str]:
        """List the runs that were interrupted as their process, an owner, had died.

        Those that were given up are left out.
        """
        query = "SELECT id, owner FROM runs WHERE state = 'interrupted' AND error = ?"
        rows = fetch(self.database, query, (TRAINER_ENDED,))
        return [row["id"] for row in rows if ProcessId.parse(row["owner"]) in owners]

    def give_up(self, run_id: str) -> None:
        """Note that nobody takes up again a run whose process died."""
        change(
            self.database,
            "UPDATE runs SET error = ? WHERE id = ? AND state = 'interrupted'",
            (GIVEN_UP, run_id),
        )

    def _interrupt(self, run_id: str, left: dict) -> bool:
        """End a run whose process died; False if others have it by now, or it ended.

        ``left`` is its row of ``dead_runs``. It ended with its last heartbeat, however
        long nobody looked.
        """
        if left["state"] == "running":
            return self.finish(
                run_id,
                "interrupted",
                error=TRAINER_ENDED,
                finished=left["heartbeat"],
                owner=ProcessId.parse(left["owner"]),
            )
        n_ended = change(
            self.database,
            "UPDATE runs SET state = 'interrupted', finished = ?, error = ?"
            " WHERE id = ? AND state = 'queued' AND submitted = 0 AND owner = ?",
            (time.time(), MAKER_ENDED, run_id, left["owner"]),
        )
        return n_ended == 1

    def set_has_model(self, run_id: str) -> None:
        """Record whether a finished run's folder has a model, where the two differ."""
        has_model = (self.folder(run_id) / "model").is_dir()
        change(
            self.database,
            "UPDATE runs SET has_model = ? WHERE id = ? AND state NOT IN"
            " ('queued', 'running')",
            (has_model, run_id),
        )

    def request_stop(self, run_id: str) -> None:
        """Ask a run to stop with its best model so far; a queued one stops at once."""
        with writing(self.database) as db:
            db.execute(
                "UPDATE runs SET state = 'stopped', finished = ?, stop_requested = 1,"
                " error = 'Stopped before it began.'"
                " WHERE id = ? AND state = 'queued'",
                (time.time(), run_id),
            )
            db.execute(
                "UPDATE runs SET stop_requested = 1 WHERE id = ? AND state = 'running'",
                (run_id,),
            )

    def request_pause(self, run_id: str) -> None:
        """Ask a run to save where it is and wait; a queued one waits at once."""
        with writing(self.database) as db:
            db.execute(
                "UPDATE runs SET state = 'paused', finished = ?"
                " WHERE id = ? AND state = 'queued'",
                (time.time(), run_id),
            )
            db.execute(
                "UPDATE runs SET stop_requested = 1, pause_requested = 1"
                " WHERE id = ? AND state = 'running' AND stop_requested = 0",
                (run_id,),
            )

    def why_ending(self, run_id: str, attempt: int | None) -> str:
        """Return why a training is not to go on: "stop", "pause", or "lost".

        It is lost where the run has ended, or is in another attempt by now, if one is
        named.
        """
        query = (
            "SELECT pause_requested FROM runs"
            " WHERE id = ? AND state = 'running' AND attempts = coalesce(?, attempts)"
        )
        rows = fetch(self.database, query, (run_id, attempt))
        if not rows:
            return "lost"
        return "pause" if rows[0]["pause_requested"] else "stop"

    def resume(self, run_id: str) -> bool:
        """Queue a paused, interrupted or failed run again, with its curve so far.

        As after ``create``, no worker takes it before ``submit``, and until then it is
        the calling process's. Returns whether it was in one of these states, and so is
        queued by this call.
        """
        marks = ", ".join("?" * len(RESUMABLE))
        n_queued = change(
            self.database,
            "UPDATE runs SET state = 'queued', submitted = 0, owner = ?,"
            " stop_requested = 0, pause_requested = 0, error = '',"
            " seconds_before = seconds_before + CASE WHEN finished > started"
            " THEN finished - started ELSE 0 END,"
            " started = NULL, finished = NULL, first_report = NULL,"
            " first_epoch = NULL WHERE id = ? AND deleted = 0"
            f" AND learner != ? AND stage != ? AND state IN ({marks})",
            (str(ProcessId.here()), run_id, IMPORTED, SAVING, *RESUMABLE),
        )
        return n_queued == 1

    def delete(self, run_id: str) -> None:
        """Delete a run. One that trains is hidden at once, stopped, then removed."""
        with writing(self.database) as db:
            hidden = db.execute(
                "UPDATE runs SET deleted = 1, stop_requested = 1"
                " WHERE id = ? AND state = 'running'",
                (run_id,),
            ).rowcount
            removed = not hidden and _remove(db, run_id)
        if removed:
            shutil.rmtree(self.folder(run_id), ignore_errors=True)


def _queued(
    db: Database, most: int, seen: tuple[str, tuple] = ("deleted = 0", ())
) -> list[str]:
    """List the submitted runs up to a priority, in the order they will be taken.

    Of one priority the oldest comes first, and among users each one's next in turn:
    who queued ten runs, or has some in training, waits for those who queued one. Of
    those whose turn it is the one comes first whose last run began longest ago.
    """
    where, values = seen
    rows = db.execute(
        'WITH users AS (SELECT "user" AS name, max(coalesce(started, 0)) AS last,'
        " sum(CASE WHEN state = 'running' THEN 1 ELSE 0 END) AS n_running"
        ' FROM runs GROUP BY "user")'
        ' SELECT id, n_running + row_number() OVER (PARTITION BY priority, "user"'
        " ORDER BY created, runs.rowid) AS turn"
        ' FROM runs JOIN users ON users.name = runs."user"'
        f" WHERE state = 'queued' AND submitted = 1 AND priority <= ? AND {where}"
        " ORDER BY priority, turn, last, created, runs.rowid",
        (most, *values),
    ).fetchall()
    return [row["id"] for row in rows]


def _start(db: Database, run_id: str, owner: ProcessId) -> bool:
    """Move a run from queued to running, inside the caller's transaction."""
    now = time.time()
    started = db.execute(
        "UPDATE runs SET state = 'running', owner = ?, started = ?, heartbeat = ?,"
        " attempts = attempts + 1 WHERE id = ? AND state = 'queued'",
        (str(owner), now, now, run_id),
    )
    return started.rowcount == 1


def _remove(db: Database, run_id: str) -> bool:
    """Drop a run's rows, inside the caller's transaction; False if there is none."""
    db.execute("DELETE FROM events WHERE run_id = ?", (run_id,))
    return db.execute("DELETE FROM runs WHERE id = ?", (run_id,)).rowcount == 1


def to_json(value) -> str:
    """Write plain values and numpy's scalars and arrays as JSON."""
    return json.dumps(value, default=methodcaller("tolist"))
