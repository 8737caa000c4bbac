"""How a database that an older treelab wrote becomes one of today's schema."""

import sqlite3
from collections.abc import Callable

from treelab.runs.store.server import ServerConnection

Database = sqlite3.Connection | ServerConnection
Step = Callable[[Database], None]

FIRST_VERSION = 1


def _add_repeat_of(db: Database) -> None:
    """Runs know which run they repeat on another data split."""
    db.execute("ALTER TABLE runs ADD COLUMN repeat_of TEXT NOT NULL DEFAULT ''")


def _add_first_report(db: Database) -> None:
    """Note when a run first reported, and how far it then was."""
    db.execute("ALTER TABLE runs ADD COLUMN first_report REAL")
    db.execute("ALTER TABLE runs ADD COLUMN first_epoch REAL")


def _add_attempts(db: Database) -> None:
    """Runs are paused and go on: their attempts, and the seconds of earlier ones."""
    db.execute("ALTER TABLE runs ADD COLUMN pause_requested INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE runs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0")
    db.execute("ALTER TABLE runs ADD COLUMN seconds_before REAL NOT NULL DEFAULT 0")
    db.execute("UPDATE runs SET attempts = started IS NOT NULL")


def _add_users(db: Database) -> None:
    """Runs and tables have owners; admins, and what was stopped or deleted by whom."""
    db.execute("ALTER TABLE runs ADD COLUMN user TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE runs ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0")
    db.execute(
        "CREATE TABLE table_users"
        " (table_id TEXT, user TEXT, PRIMARY KEY (table_id, user))"
    )
    db.execute("CREATE TABLE roles (user TEXT PRIMARY KEY, role TEXT NOT NULL)")
    db.execute(
        "CREATE TABLE audit (number INTEGER PRIMARY KEY, at REAL NOT NULL,"
        " user TEXT NOT NULL, deed TEXT NOT NULL, subject TEXT NOT NULL,"
        " name TEXT NOT NULL)"
    )


# The first step leads from version 1 to 2, and so on. A step is never changed once it
# was published, and is in the SQL of both SQLite and PostgreSQL. _SCHEMA in database.py
# always has what all of them lead to.
STEPS: tuple[Step, ...] = (_add_repeat_of, _add_first_report, _add_attempts, _add_users)


def schema_version() -> int:
    """Return the version to which all steps lead."""
    return FIRST_VERSION + len(STEPS)


def apply_steps(db: Database, version: int) -> None:
    """Take the steps that a database lacks, inside the caller's transaction."""
    for step in STEPS[version - FIRST_VERSION :]:
        step(db)
