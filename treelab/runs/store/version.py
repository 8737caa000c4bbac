"""Tells whether anything was written to a store since it was last read."""

import sqlite3
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from treelab.runs.store.server import Server

T = TypeVar("T")


class StoreVersion:
    """What changes with each write to a SQLite store, whoever writes.

    One connection stays open, so that asking costs a hundredth of opening the file.
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


class StoreReads:
    """What was read of a store at its newest version, by name.

    After so many seconds all is read again: dead processes write nothing.
    """

    def __init__(self, version: StoreVersion, seconds: float):
        self._store_version, self._seconds = version, seconds
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._read = 0.0  # on the monotonic clock
        self._known: dict[Hashable, Any] = {}

    def get(self, name: Hashable, read: Callable[[], T]) -> T:
        """Return what was read, or read it: at another version, or where it is old."""
        version = self._store_version.now()
        if version is None:
            return read()
        with self._lock:
            is_old = time.monotonic() - self._read > self._seconds
            if version != self._version or is_old:
                self._known.clear()
                self._version, self._read = version, time.monotonic()
            if name not in self._known:
                self._known[name] = read()
            return self._known[name]
