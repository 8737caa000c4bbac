"""The database behind the run store: its tables, and how it is opened.

It is a SQLite file in the data folder, or where ``TREELAB_STORE`` names one, a database
on a PostgreSQL server (``server.py``). Statements are in the SQL that both know: flags
are the numbers 0 and 1, and the column ``"user"`` is quoted.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from treelab.runs.store.files import (
    FILE_MODE,
    WAY_OUT,
    StoreError,
    make_private_folder,
    open_private,
    remains,
)
from treelab.runs.store.server import Server, ServerConnection, connected

Database = sqlite3.Connection | ServerConnection  # what is asked
FILE = "treelab.sqlite"

BUSY_SECONDS = 30  # how long a write waits for another process's write

# The first step makes the tables, each other one leads to their next version; none is
# ever changed once it was published.
STEPS: tuple[str, ...] = (
    """
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
""",
    # Runs know which run they repeat on another data split.
    "ALTER TABLE runs ADD COLUMN repeat_of TEXT NOT NULL DEFAULT ''",
    # When a run first reported, and how far it then was.
    """
ALTER TABLE runs ADD COLUMN first_report REAL;
ALTER TABLE runs ADD COLUMN first_epoch REAL
""",
    # Runs are paused and go on: their attempts, and the seconds of earlier ones.
    """
ALTER TABLE runs ADD COLUMN pause_requested INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN seconds_before REAL NOT NULL DEFAULT 0;
UPDATE runs SET attempts = 1 WHERE started IS NOT NULL
""",
    # Runs and tables have owners; admins, and what was stopped or deleted by whom.
    """
ALTER TABLE runs ADD COLUMN "user" TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0;
CREATE TABLE table_users (
    table_id TEXT, "user" TEXT, PRIMARY KEY (table_id, "user")
);
CREATE TABLE roles ("user" TEXT PRIMARY KEY, role TEXT NOT NULL);
CREATE TABLE audit (
    number INTEGER PRIMARY KEY, at REAL NOT NULL, "user" TEXT NOT NULL,
    deed TEXT NOT NULL, subject TEXT NOT NULL, name TEXT NOT NULL
);
""",
    # Tables know what reading them found: sentences, as JSON.
    "ALTER TABLE tables ADD COLUMN notes TEXT NOT NULL DEFAULT '[]'",
)


def database_of(home: Path) -> Path | Server:
    """Return a data folder's database: what ``TREELAB_STORE`` names, else its file.

    ValueError if ``TREELAB_STORE`` is no address of a PostgreSQL database.
    """
    url = os.environ.get("TREELAB_STORE", "").strip()
    return Server(url) if url else home / FILE


def check_is_file(home: Path) -> None:
    """Raise ValueError where a data folder's database is not its own SQLite file."""
    if isinstance(database_of(home), Server):
        raise ValueError(
            "The store is on PostgreSQL (TREELAB_STORE): copy its database with "
            f"pg_dump, put it back with pg_restore, and copy the folder {home}."
        )


def is_there(database: Path | Server) -> bool:
    """Whether a database's file is still there; a server is asked when it is used."""
    return isinstance(database, Server) or database.exists()


def open_database(home: Path, server: Server | None = None) -> Path | Server:
    """Make a data folder and its database where they are not; return the database.

    That is ``server``, or else what ``database_of`` finds. StoreError if one of them
    cannot be made or written to. ValueError if a newer treelab wrote it, or
    ``TREELAB_STORE`` is no address.
    """
    database = server or database_of(home)
    try:
        make_private_folder(home)
        prepare(database)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(
            f"treelab cannot store its runs in {home}: {error}. Make that folder "
            "writable, or name another one with TREELAB_HOME."
        ) from error
    return database


def prepare(database: Path | Server, *, anew: bool = False) -> None:
    """Create the database's tables where there are none; migrate those of older schema.

    One of our schema is only read, so that runs can be looked at on a full disk.
    StoreError if it cannot be read or made, or was emptied. TimeoutError if another
    process prepares it and does not finish. ValueError if a newer treelab wrote it.
    With ``anew`` a new one is begun also in the place of a file that was emptied.
    """
    if isinstance(database, Server) or database.exists():
        with reading(database) as db:
            if _is_ready(db, database):
                return
    if isinstance(database, Server):
        _create_or_migrate(database)
        return
    try:
        lock = database.with_suffix(".lock")
        with FileLock(lock, timeout=BUSY_SECONDS, mode=FILE_MODE):
            if database.exists() and not anew and (why := why_emptied(database)):
                raise StoreError(f"{why} {WAY_OUT}")
            # SQLite gives its other files the mode of this one.
            open_private(database, "ab").close()
            with reading_file(database) as file:
                file.execute("PRAGMA journal_mode=WAL")  # readers never wait
            _create_or_migrate(database)
    except Timeout as error:
        raise TimeoutError(
            f"{database} was being prepared by another process for {BUSY_SECONDS} s; "
            "end that process, or choose another folder with TREELAB_HOME."
        ) from error


def why_emptied(path: Path) -> str:
    """Return that a SQLite file without tables lies beside runs; "" where none does."""
    if path.exists():
        with reading_file(path) as db:
            if db.execute("SELECT 1 FROM sqlite_master").fetchone():
                return ""
    what = "is empty" if path.exists() else "is gone"
    beside = remains(path.parent)
    return f"{path} {what}, but its folder holds {beside}." if beside else ""


def _create_or_migrate(database: Path | Server) -> None:
    """Create or migrate the tables, unless another process has by now."""
    with writing(database) as db:  # under the lock, so one process does it
        if _is_ready(db, database):
            return
        for statement in ";".join(STEPS[read_version(db) :]).split(";"):
            if statement.strip():
                db.execute(statement)
        if isinstance(db, sqlite3.Connection):
            db.execute(f"PRAGMA user_version={len(STEPS)}")
            return
        db.execute(
            "CREATE TABLE IF NOT EXISTS treelab_schema (version INTEGER NOT NULL)"
        )
        db.execute("DELETE FROM treelab_schema")
        db.execute("INSERT INTO treelab_schema VALUES (?)", (len(STEPS),))


def _is_ready(db: Database, name: Path | Server) -> bool:
    """Whether a database has our schema; refuse one of a newer schema."""
    if (version := read_version(db)) > len(STEPS):
        raise ValueError(
            f"{name} was written by a newer treelab (schema {version}, this one "
            f"knows {len(STEPS)}). Update treelab, or choose another folder with "
            "TREELAB_HOME."
        )
    return version == len(STEPS)


def read_version(db: Database) -> int:
    """Return the version of a database's schema; 0 before it has tables."""
    version = "PRAGMA user_version"
    if isinstance(db, ServerConnection):
        version = "SELECT version AS user_version FROM treelab_schema"
        is_there = "SELECT 1 WHERE to_regclass('treelab_schema') IS NOT NULL"
        if not db.execute(is_there).fetchall():
            return 0
    return db.execute(version).fetchall()[0]["user_version"]


def reading(database: Path | Server) -> AbstractContextManager[Database]:
    """Open the database for some reads.

    StoreError if it cannot be read, or in ``writing``, written.
    """
    if isinstance(database, Server):
        return connected(database)
    return reading_file(database)


@contextmanager
def reading_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file for some reads; every call has a connection of its own."""
    # mode=rw: a folder deleted under our feet is an error, never a new empty store.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    # Readers write beside the file, too; where nobody can, and none has, nothing moves.
    if not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists():
        uri = uri.replace("mode=rw", "mode=ro&immutable=1")
    try:
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        with closing(db):
            db.row_factory = _as_dict
            db.execute("PRAGMA synchronous=NORMAL")
            yield db
    except sqlite3.DatabaseError as error:
        if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
            raise  # a mistake of ours
        raise StoreError(_explanation(error, path)) from error


def _as_dict(cursor: sqlite3.Cursor, row: tuple) -> dict:
    """Return a row's values by name, as the server's rows are."""
    return dict(zip((column[0] for column in cursor.description), row))


@contextmanager
def writing(database: Path | Server) -> Iterator[Database]:
    """Open the database for one transaction: all of the block is saved, or nothing."""
    if isinstance(database, Server):
        with connected(database, to_write=True) as server:
            yield server
        return
    with reading_file(database) as db:
        db.execute("BEGIN IMMEDIATE")  # the write lock now, so reads in it stay true
        try:
            yield db
        except BaseException:
            if db.in_transaction:  # SQLite itself ends one that found the disk full
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


def fetch(database: Path | Server, query: str, values: Sequence = ()) -> list:
    """Return the rows of one query; see ``reading``."""
    with reading(database) as db:
        return db.execute(query, values).fetchall()


def change(database: Path | Server, statement: str, values: Sequence = ()) -> int:
    """Run one statement as a transaction, and count the rows that it changed."""
    with writing(database) as db:
        return db.execute(statement, values).rowcount


def _explanation(error: sqlite3.Error, path: Path) -> str:
    """Say why SQLite cannot go on, and what to do, in two sentences."""
    code = getattr(error, "sqlite_errorcode", None)
    basic = None if code is None else code & 0xFF  # without what it extends
    folder = path.parent
    if not path.exists():
        return (
            f"The data folder {folder} is gone, or its treelab.sqlite. Put it back, or "
            "begin with an empty one."
        )
    if basic in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return (
            f"The disk of {folder} is full or fails: {error}. Free some space; what "
            "was saved before is still there."
        )
    if basic in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return (
            f"treelab may not write to {folder}: {error}. Make that folder writable, "
            "or name another one with TREELAB_HOME."
        )
    is_lost = str(error).startswith("no such table")
    if is_lost or basic in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return (
            f"{path} is damaged: {error}. Put a copy in its place, or move it away to "
            "begin with an empty list of runs; tables and models beside it stay as "
            "they are."
        )
    if basic in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"Another process has been writing to {path} for {BUSY_SECONDS} s. Try "
            "again, or end that process."
        )
    return f"{path} cannot be used: {error}."
