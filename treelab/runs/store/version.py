"""Tells whether anything was written to a store since it was last read."""

import sqlite3
import threading
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from treelab.runs.store.server import Server


class StoreVersion:
    """What changes with each write to a SQLite store, whoever writes.

    One connection stays open, so that asking costs a hundredth of opening the file.

    Parameters
    ----------
    database : Path or Server
        The run store's; see ``treelab.runs.store.database``.
    """

    def __init__(self, database: Path | Server):
        self._database = database
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple = ()

    def now(self) -> Hashable:
        """Return the version; None where there is none: on a server, or a lost file."""
        if isinstance(self._database, Server):
            return None
        with self._lock:
            try:
                # A file that was put in its place, or damaged from outside.
                facts = self._database.stat()
                which = (facts.st_dev, facts.st_ino)
                if self._connection is None or which != self._opened:
                    self._close()
                    uri = f"{self._database.absolute().as_uri()}?mode=ro"
                    self._connection = sqlite3.connect(
                        uri, uri=True, check_same_thread=False
                    )
                    self._opened = which
                (number,) = self._connection.execute("PRAGMA data_version").fetchone()
            except (OSError, sqlite3.Error):
                self._close()
                return None
            return number, self._opened, facts.st_mtime_ns, facts.st_size

    def _close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
