"""Read a table, or what a SELECT finds, from an SQLite database; change nothing."""

import sqlite3
import time
from contextlib import closing

from treelab.data.reading.delimited import Cells
from treelab.data.reading.formats.text_columns import TextColumns, typed_text
from treelab.data.reading.table_error import TableError, pick_table

MOST_SECONDS = 20
MOST_CELL = 2**24  # bytes
CALLBACK_STEPS = 10_000  # of the database's machine, between looks at the clock

READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
TABLES = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
)

DAMAGED = "is a database that is damaged or cut off. Copy it again."


def read_sqlite(
    content: bytes, name: str, sheet: str | None, query: str | None
) -> Cells:
    """Read the rows of one table, or of one SELECT, of a copy of a database in memory.

    ``sheet`` is the table or view, None takes the only one; ``query``, one SELECT
    statement, goes before it.

    ChoiceError if there are several tables, and none was chosen. TableError if the
    database is damaged, or the query is none, fails, takes more than 20 seconds, or
    gives too many cells.
    """
    began = time.monotonic()
    if _is_cut_off(content):
        raise TableError(f"{name} {DAMAGED}")
    # An open journal (bytes 18 and 19) lies in another file, which is not here.
    content = content[:18] + b"\x01\x01" + content[20:]
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
            database.deserialize(content)
            _make_safe(database, began)
            if query is None:
                names = [row[0] for row in database.execute(TABLES)]
                if not names:
                    raise TableError(f"{name} has no table. Choose another database.")
                table = pick_table(name, names, sheet, "table")
                query = 'SELECT * FROM "{}"'.format(table.replace('"', '""'))
            return _rows(database, query, name)
    except sqlite3.Error as error:
        raise _refusal(error, name, began) from error


def _is_cut_off(content: bytes) -> bool:
    """Whether a database has fewer pages than it says; missing ones read as empty."""
    size = int.from_bytes(content[16:18]) or 1
    pages = int.from_bytes(content[28:32])
    counts = content[24:28] == content[92:96]  # else the number of pages is an old one
    return counts and len(content) < (65536 if size == 1 else size) * pages


def _make_safe(database: sqlite3.Connection, began: float) -> None:
    """Let a connection read for some seconds, and do nothing else."""
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA query_only = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.set_authorizer(
        lambda action, *_: (
            sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY
        )
    )
    database.set_progress_handler(
        lambda: time.monotonic() - began > MOST_SECONDS, CALLBACK_STEPS
    )
    database.text_factory = lambda text: text.decode("utf-8", errors="replace")


def _rows(database: sqlite3.Connection, query: str, name: str) -> Cells:
    """Return the rows of a query."""
    found = database.execute(query)
    if found.description is None:
        raise TableError(f"{name}: the query gives no rows. Write a SELECT.")
    names = [column[0] for column in found.description]
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise TableError(
            f"{name}: the query gives two columns {twice!r}. Name one by AS."
        )
    columns = TextColumns(name, names)
    n_rows = 0
    for row in found:
        columns.add({key: _text(value) for key, value in zip(names, row)})
        n_rows += 1
    if not n_rows:
        raise TableError(f"{name}: the query gives no rows. Choose another table.")
    return columns.cells("row")


def _text(value: object) -> str:
    """Return a cell as text."""
    return "" if isinstance(value, bytes) else typed_text(value)  # pictures: nothing


def _refusal(error: sqlite3.Error, name: str, began: float) -> TableError:
    """Return what to tell of an error of the database."""
    words = str(error)
    if "interrupted" in words and time.monotonic() - began > MOST_SECONDS:
        return TableError(
            f"{name}: the query takes more than {MOST_SECONDS} s. Add a WHERE or a "
            "LIMIT."
        )
    if "not authorized" in words or "prohibited" in words:
        return TableError(
            f"{name}: only one SELECT is run, and nothing that changes the database."
        )
    if "malformed" in words or "not a database" in words or "disk I/O" in words:
        return TableError(f"{name} {DAMAGED}")
    return TableError(f"{name}: the query cannot be run: {words}. Write one SELECT.")
