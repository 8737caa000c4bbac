"""The SQLite file behind the run store: its tables, and how it is opened."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from treelab.runs.store.private import FILE_MODE, open_private

SCHEMA_VERSION = 1
BUSY_SECONDS = 30  # how long a write waits for another process's write

_SCHEMA = """
CREATE TABLE tables (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, n_rows INTEGER NOT NULL,
    n_columns INTEGER NOT NULL, created REAL NOT NULL
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, learner TEXT NOT NULL,
    settings TEXT NOT NULL, problem TEXT NOT NULL, device TEXT NOT NULL,
    priority INTEGER NOT NULL, submitted INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'queued',
    created REAL NOT NULL, started REAL, finished REAL,
    epoch REAL NOT NULL DEFAULT 0, max_epochs INTEGER NOT NULL DEFAULT 0,
    stage TEXT NOT NULL DEFAULT '',
    metrics TEXT NOT NULL DEFAULT '{}', summary TEXT NOT NULL DEFAULT '{}',
    error TEXT NOT NULL DEFAULT '', has_model INTEGER NOT NULL DEFAULT 0,
    stop_requested INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
    owner TEXT, heartbeat REAL
);
CREATE INDEX runs_by_state ON runs (state, priority, created);
CREATE TABLE events (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, epoch REAL NOT NULL,
    train_loss REAL, valid_loss REAL, metric REAL, seconds REAL, stage TEXT
);
CREATE INDEX events_by_run ON events (run_id, number);
CREATE TABLE workers (
    slot TEXT PRIMARY KEY, process TEXT NOT NULL, state TEXT NOT NULL,
    device_name TEXT NOT NULL DEFAULT '', started REAL NOT NULL,
    heartbeat REAL NOT NULL, failures INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE apps (process TEXT PRIMARY KEY);
"""


def prepare(path: Path) -> None:
    """Create the database where there is none, and check that we know its schema.

    Raises
    ------
    TimeoutError
        If another process prepares it and does not finish.
    ValueError
        If a newer treelab wrote it.
    """
    try:
        lock = path.with_suffix(".lock")
        with FileLock(lock, timeout=BUSY_SECONDS, mode=FILE_MODE):
            # SQLite gives its other files the mode of this one.
            open_private(path, "ab").close()
            _create_or_check(path)
    except Timeout as error:
        raise TimeoutError(
            f"{path} was being prepared by another process for {BUSY_SECONDS} s; "
            "end that process, or choose another folder with TREELAB_HOME."
        ) from error


def _create_or_check(path: Path) -> None:
    """Create the tables of a new database; refuse one of a newer schema."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            db.execute("PRAGMA journal_mode=WAL")  # readers never wait for writers
            db.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
            )
        elif version > SCHEMA_VERSION:
            raise ValueError(
                f"{path} was written by a newer treelab (schema {version}, this "
                f"one knows {SCHEMA_VERSION}). Update treelab, or choose another "
                "folder with TREELAB_HOME."
            )


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for some reads; every call has a connection of its own."""
    # mode=rw: a folder deleted under our feet is an error, never a new empty store.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    with closing(db):
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous=NORMAL")
        yield db


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for one transaction: all of the block is saved, or nothing."""
    with reading(path) as db:
        db.execute("BEGIN IMMEDIATE")  # the write lock now, so reads in it stay true
        try:
            yield db
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
