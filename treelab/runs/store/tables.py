"""The tables of the run store: a Parquet file each, named by its content's hash."""

import hashlib
import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from treelab.data.columns import as_frame
from treelab.runs.store.database import StoreError, fetch, writing
from treelab.runs.store.files import make_private_folder, write_private
from treelab.runs.store.server import Server
from treelab.trees.cells import ATTRIBUTE, NOTES

MEND_TABLE = (
    "Give the same table again, on the Data page or to `train`: it is stored in its "
    "place. Or put the file back from a backup."
)


@dataclass(frozen=True)
class TableInfo:
    """A stored table: ``id`` is the SHA-256 of its Parquet file, in hex."""

    id: str
    name: str
    n_rows: int
    n_columns: int
    created: float  # seconds since 1970


class StoredTables:
    """The part of the run store that holds tables: each distinct one once."""

    home: Path
    database: Path | Server

    def add_table(self, frame: pd.DataFrame, name: str, user: str = "") -> str:
        """Store a table under its content's hash and return that id.

        The same table again is stored once, under the newer name and time; where its
        file was damaged or gone, that mends it. What reading a file found, as the frame
        has it, is stored beside it. ValueError if a column cannot be stored, or mixes
        dates with others, naming it.

        Its dates and durations are stored as the numbers that learners read. The user
        sees it, beside others that added it; "": all do, where nobody added it as
        theirs. One that all may see stays so.
        """
        content, notes = _parquet(as_frame(frame)), frame.attrs.get(NOTES, "[]")
        table_id = hashlib.sha256(content).hexdigest()
        path = self._table_path(table_id)
        if why_damaged(path):  # or missing: the same table again mends it
            make_private_folder(path.parent)
            write_private(path, content)
        with writing(self.database) as db:
            is_seen_by_all = db.execute(
                "SELECT 1 FROM tables WHERE id = ? AND NOT EXISTS"
                " (SELECT 1 FROM table_users WHERE table_id = id)",
                (table_id,),
            ).fetchone()
            db.execute(
                "INSERT INTO tables (id, name, n_rows, n_columns, created, notes)"
                " VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE"
                " SET name = excluded.name, created = excluded.created, notes = CASE"
                " WHEN excluded.notes = '[]' THEN tables.notes ELSE excluded.notes END",
                (table_id, name, *frame.shape, time.time(), notes),
            )
            if user and not is_seen_by_all:
                db.execute(
                    "INSERT INTO table_users VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (table_id, user),
                )
        return table_id

    def table(self, table_id: str, only: Sequence[str] = ()) -> pd.DataFrame:
        """Read a table, or some columns only; raises as ``table_file`` does."""
        return pd.read_parquet(self.table_file(table_id), columns=list(only) or None)

    def table_file(self, table_id: str) -> Path:
        """Return the Parquet file of a table, which is what was stored.

        LookupError if there is none of this id. StoreError if its file is gone or is
        not what was stored, or its row was lost.
        """
        name, path = self._table_name(table_id), self._table_path(table_id)
        if why := why_damaged(path):
            raise StoreError(f"The table {name!r} cannot be read. {why} {MEND_TABLE}")
        return path

    def table_notes(self, table_id: str) -> list[str]:
        """Return what reading a table's file found; LookupError if there is none."""
        self._table_name(table_id)
        query = "SELECT notes FROM tables WHERE id = ?"
        return json.loads(fetch(self.database, query, (table_id,))[0]["notes"])

    def tables(self) -> list[TableInfo]:
        """List the tables, newest first."""
        query = (
            "SELECT id, name, n_rows, n_columns, created FROM tables"
            " ORDER BY created DESC, rowid DESC"
        )
        return [TableInfo(**row) for row in fetch(self.database, query)]

    def relist_table(self, table_id: str) -> None:
        """List a table again whose file is there, and whose row was lost.

        Its name is lost, and whose it was: where people sign in, admins alone see it.
        """
        of = pq.read_metadata(self._table_path(table_id))
        name = f"recovered {table_id[:8]}"
        with writing(self.database) as db:
            db.execute(
                "INSERT INTO tables (id, name, n_rows, n_columns, created)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (table_id, name, of.num_rows, of.num_columns, time.time()),
            )
            db.execute(
                "INSERT INTO table_users VALUES (?, '') ON CONFLICT DO NOTHING",
                (table_id,),
            )

    def _table_name(self, table_id: str) -> str:
        """Return a table's name; raises as ``table_file`` does."""
        query = "SELECT name FROM tables WHERE id = ?"
        if rows := fetch(self.database, query, (table_id,)):
            return rows[0]["name"]
        files = (self.home / "tables").glob("*.parquet")
        if table_id in {path.stem for path in files}:
            raise StoreError(
                f"The database does not list the table {table_id!r}, though its "
                "file is there. `treelab doctor --repair` lists it again."
            )
        raise LookupError(f"There is no table {table_id!r} in the run store.")

    def _drop_table(self, table_id: str) -> None:
        """Delete a table; one that is gone already is no error."""
        with writing(self.database) as db:
            db.execute("DELETE FROM tables WHERE id = ?", (table_id,))
            db.execute("DELETE FROM table_users WHERE table_id = ?", (table_id,))
        self._table_path(table_id).unlink(missing_ok=True)

    def _table_path(self, table_id: str) -> Path:
        """Return where the Parquet file of a table is, or would be."""
        return self.home / "tables" / f"{table_id}.parquet"


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def why_damaged(path: Path) -> str:
    """Return why a table's file is not what was stored, "" where it is."""
    try:
        is_whole = hash_of(path) == path.stem
    except FileNotFoundError:
        return f"Its file {path} is gone."
    return "" if is_whole else f"Its file {path} is damaged."


def _parquet(frame: pd.DataFrame) -> bytes:
    """Write a table as Parquet: the same rows give the same bytes."""
    frame = frame.reset_index(drop=True)
    # How it was read is content, as models keep it; pandas writes and reads it again.
    note = frame.attrs.get(ATTRIBUTE)
    frame.attrs = {} if note is None else {ATTRIBUTE: note}
    file = io.BytesIO()
    try:
        frame.to_parquet(file, index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, TypeError) as error:
        for column in frame.columns:
            try:
                pa.array(frame[column], from_pandas=True)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise ValueError(
                    f"Column {column!r} mixes kinds of values and cannot be stored; "
                    "make it all numbers or all text."
                ) from error
        raise ValueError(f"The table cannot be stored: {error}") from error
    return file.getvalue()
