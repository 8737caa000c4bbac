"""A run store of one run, on a machine of the cluster, for the time of its training."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd

from treelab.data.problem import Problem
from treelab.runs.store.database import FILE, prepare, writing
from treelab.runs.store.private import make_private_folder, open_private
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.states import NORMAL_PRIORITY, to_json
from treelab.runs.store.tables import TableStore
from treelab.runs.store.worker_registry import WorkerRegistry
from treelab.runs.workers.cluster.payload import TRAINED, Payload, whole_files
from treelab.training.events import Progress

Send = Callable[[str, dict], None]
"""Sends a message of a kind to the app's machine."""

REPORTED = (
    *("epoch", "max_epochs", "train_loss", "valid_loss", "seconds", "metric"),
    *("stage", "is_preparation", "epochs_before"),
)


class RemoteStore(RunStore):
    """Keeps what a training writes here, and sends it to the app's machine as well.

    Files of the run's folder are sent by ``changed_files``, whoever wrote them.

    Parameters
    ----------
    home : Path
        An empty folder of its own.
    send : callable
    """

    def __init__(self, home: Path, send: Send):
        # Always a file: a store that this machine's TREELAB_STORE names is not for it.
        self.home, self.database = home, home / FILE
        make_private_folder(home)
        prepare(self.database)
        self._tables = TableStore(self.database, home / "tables")
        self.worker_registry = WorkerRegistry(self.database)
        self._send = send
        self._known: dict[str, tuple] = {}  # files that the app's machine has

    def unpack(self, payload: Payload, table: bytes) -> str:
        """Take in a run and what it needs; return its id.

        Raises
        ------
        ValueError
            If the table came damaged.
        """
        own = payload["runs"][0]
        table_id = own["problem"]["table_id"]
        if hashlib.sha256(table).hexdigest() != table_id:
            raise ValueError("The table came damaged to this machine of the cluster.")
        self._write_file(self.home / "tables" / f"{table_id}.parquet", table)
        with writing(self.database) as db:
            db.execute(
                "INSERT INTO tables (id, name, n_rows, n_columns, created)"
                " VALUES (?, ?, ?, ?, 0)",
                (table_id, *payload["table"]),
            )
            for run in payload["runs"]:
                is_own = run is own
                db.execute(
                    "INSERT INTO runs (id, title, learner, settings, problem, device,"
                    " priority, created, attempts, state, summary, has_model)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(run["id"], run["title"], run["learner"]),
                        *(to_json(run["settings"]), to_json(run["problem"])),
                        *(run["device"], NORMAL_PRIORITY, run["created"]),
                        run["attempts"] - is_own,  # it counts again when it starts
                        "queued" if is_own else run["state"],
                        to_json(run["summary"]),
                        run["has_model"],
                    ),
                )
        for run in payload["runs"]:
            make_private_folder(self.folder(run["id"]))
        for name, content in payload["files"].items():
            self._write_file(self.home / "runs" / name, content)
        self._known = self._seen(own["id"])
        return own["id"]

    def add_events(self, run_id: str, reports: Sequence[Progress]) -> bool:
        """Add points to the curves here and on the app's machine."""
        plain = [{name: getattr(each, name) for name in REPORTED} for each in reports]
        self._send("events", {"json": to_json(plain)})
        return super().add_events(run_id, reports)

    def replace_events(self, run_id: str, history: pd.DataFrame) -> None:
        """Put a history in the place of the curves here and on the app's machine."""
        self._send("history", {"json": to_json(history.to_dict("list"))})
        super().replace_events(run_id, history)

    def set_settings(self, run_id: str, settings: dict) -> None:
        """Replace the settings here and on the app's machine."""
        self._send("settings", {"json": to_json(settings)})
        super().set_settings(run_id, settings)

    def add_table(self, frame: pd.DataFrame, name: str) -> str:
        """Store a table here and on the app's machine."""
        table_id = super().add_table(frame, name)
        content = (self.home / "tables" / f"{table_id}.parquet").read_bytes()
        self._send("table", {"id": table_id, "name": name, "content": content})
        return table_id

    def set_problem(self, run_id: str, problem: Problem) -> None:
        """Replace the problem here and on the app's machine."""
        self._send("problem", {"json": to_json(problem.to_dict())})
        super().set_problem(run_id, problem)

    def changed_files(self, run_id: str) -> dict[str, bytes | None]:
        """Read what changed in the run's folder since the last call; None: it is gone.

        Returns
        -------
        dict of str to bytes or None
            By path below the folder.
        """
        seen = self._seen(run_id)
        changed: dict[str, bytes | None] = {
            name: None for name in self._known if name not in seen
        }
        for name, mark in list(seen.items()):
            if self._known.get(name) == mark:
                continue
            try:
                changed[name] = (self.folder(run_id) / name).read_bytes()
            except OSError:  # removed meanwhile: the next call finds it gone
                seen[name] = ()
        self._known = seen
        return changed

    def _seen(self, run_id: str) -> dict[str, tuple]:
        """List the whole files of the run's folder, each with what tells its change."""
        found = {}
        for name, path in whole_files(self.folder(run_id), TRAINED).items():
            with suppress(OSError):  # renamed or removed meanwhile
                facts = path.stat()
                found[name] = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
        return found

    def _write_file(self, path: Path, content: bytes) -> None:
        """Write a file that came along."""
        make_private_folder(path.parent)
        with open_private(path, "wb") as file:
            file.write(content)
