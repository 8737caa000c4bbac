"""The tables of the run store: a Parquet file each, named by its content's hash."""

import hashlib
import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from treelab.runs.store.database import StoreError, reading, writing
from treelab.runs.store.files import make_private_folder, open_private
from treelab.runs.store.server import Server
from treelab.trees.cells import ATTRIBUTE

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


class TableStore:
    """Stores each distinct table once.

    Parameters
    ----------
    database : Path or Server
        The run store's; see ``treelab.runs.store.database``.
    folder : Path
        Where the Parquet files go; made when the first one comes.
    """

    def __init__(self, database: Path | Server, folder: Path):
        self._database = database
        self._folder = folder

    def add(self, frame: pd.DataFrame, name: str) -> str:
        """Store a table and return its id; see ``RunStore.add_table``."""
        content = _parquet(frame)
        table_id = hashlib.sha256(content).hexdigest()
        path = self._folder / f"{table_id}.parquet"
        if why_damaged(path):  # or missing: the same table again mends it
            make_private_folder(self._folder)
            part = path.with_suffix(f".{id(content)}.part")
            with open_private(part, "wb") as file:
                file.write(content)
            part.replace(path)
        with writing(self._database) as db:
            db.execute(
                "INSERT INTO tables (id, name, n_rows, n_columns, created)"
                " VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET name = excluded.name",
                (table_id, name, *frame.shape, time.time()),
            )
        return table_id

    def check(self, table_id: str) -> str:
        """Return a table's name.

        Raises
        ------
        LookupError
            If there is none of this id.
        StoreError
            If there is, but the database has lost its row.
        """
        with reading(self._database) as db:
            known = db.execute(
                "SELECT name FROM tables WHERE id = ?", (table_id,)
            ).fetchone()
        if known is None:
            if table_id in {path.stem for path in self._folder.glob("*.parquet")}:
                raise StoreError(
                    f"The database does not list the table {table_id!r}, though its "
                    "file is there. `treelab doctor --repair` lists it again."
                )
            raise LookupError(f"There is no table {table_id!r} in the run store.")
        return known["name"]

    def read(self, table_id: str, only: Sequence[str] = ()) -> pd.DataFrame:
        """Read a table, or some columns only; see ``file`` for what it raises."""
        return pd.read_parquet(self.file(table_id), columns=list(only) or None)

    def file(self, table_id: str) -> Path:
        """Return the Parquet file of a table, which is what was stored.

        Raises
        ------
        LookupError
            If there is none of this id.
        StoreError
            If its file is gone or is not what was stored, or its row was lost.
        """
        name = self.check(table_id)
        path = self._folder / f"{table_id}.parquet"
        if why := why_damaged(path):
            raise StoreError(f"The table {name!r} cannot be read. {why} {MEND_TABLE}")
        return path

    def relist(self, table_id: str) -> None:
        """List a table again whose file is there, and whose row was lost.

        Its name is lost, and whose it was: where people sign in, admins alone see it.
        """
        of = pq.read_metadata(self._folder / f"{table_id}.parquet")
        name = f"recovered {table_id[:8]}"
        with writing(self._database) as db:
            db.execute(
                "INSERT INTO tables (id, name, n_rows, n_columns, created)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (table_id, name, of.num_rows, of.num_columns, time.time()),
            )
            db.execute(
                "INSERT INTO table_users VALUES (?, '') ON CONFLICT DO NOTHING",
                (table_id,),
            )

    def delete(self, table_id: str) -> None:
        """Delete a table; one that is gone already is no error."""
        with writing(self._database) as db:
            db.execute("DELETE FROM tables WHERE id = ?", (table_id,))
            db.execute("DELETE FROM table_users WHERE table_id = ?", (table_id,))
        (self._folder / f"{table_id}.parquet").unlink(missing_ok=True)

    def list(self) -> list[TableInfo]:
        """List the tables, newest first."""
        with reading(self._database) as db:
            rows = db.execute(
                "SELECT id, name, n_rows, n_columns, created FROM tables"
                " ORDER BY created DESC, rowid DESC"
            ).fetchall()
        return [TableInfo(*row) for row in rows]


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
