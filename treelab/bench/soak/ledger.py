"""What must not be lost: finished runs with their models, settings, and tables."""

import hashlib
from pathlib import Path

from treelab.runs.store.run_store import RunStore

KEPT_FOLDERS = ("model", "path", "rashomon")


class Ledger:
    """Remembers what was finished, and says what of it is gone or different.

    Parameters
    ----------
    store : RunStore
    """

    def __init__(self, store: RunStore):
        self._store = store
        self._runs: dict[str, tuple] = {}
        self._tables: dict[str, str] = {}

    def __len__(self) -> int:
        """Count the runs and tables that are remembered."""
        return len(self._runs) + len(self._tables)

    def add_run(self, run_id: str) -> None:
        """Remember a finished run as it is now, and its table."""
        self._runs[run_id] = self._state_of_run(run_id)
        table_id = self._store.run(run_id).problem.table_id
        self._tables[table_id] = self._state_of_table(table_id)

    def losses(self) -> list[str]:
        """Name what is gone or different, in a few words each."""
        found = []
        for kind, known, state_of in (
            ("run", self._runs, self._state_of_run),
            ("table", self._tables, self._state_of_table),
        ):
            for name, before in known.items():
                try:
                    if state_of(name) != before:
                        found.append(f"{kind} {name} is different")
                except (OSError, LookupError, ValueError) as error:
                    found.append(f"{kind} {name}: {error}")
        return found

    def _state_of_run(self, run_id: str) -> tuple:
        """Return what a run's row says, and a digest of each file of its model."""
        run, folder = self._store.run(run_id), self._store.folder(run_id)
        self._store.model(run_id)  # that it can still be read
        files = sorted(
            path
            for name in KEPT_FOLDERS
            for path in (folder / name).rglob("*")
            if path.is_file()
        )
        digests = tuple(
            (str(path.relative_to(folder)), _digest(path)) for path in files
        )
        result = (run.metrics, run.summary, run.has_model)
        return run.title, run.state, run.settings, run.problem, result, digests

    def _state_of_table(self, table_id: str) -> str:
        """Return the digest of a table's file, once it was read."""
        self._store.table(table_id)
        return _digest(self._store.home / "tables" / f"{table_id}.parquet")


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
