"""The tables of the run store: a Parquet file each, named by its content's hash."""

import hashlib
import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from treelab.runs.store.database import reading, writing
from treelab.runs.store.private import make_private_folder, open_private
from treelab.runs.store.server import Server
from treelab.trees.cells import ATTRIBUTE


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
        if not path.exists():
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

    def check(self, table_id: str) -> None:
        """Raise LookupError unless there is a table of this id."""
        with reading(self._database) as db:
            known = db.execute(
                "SELECT 1 FROM tables WHERE id = ?", (table_id,)
            ).fetchone()
        if known is None:
            raise LookupError(f"There is no table {table_id!r} in the run store.")

    def read(self, table_id: str, only: Sequence[str] = ()) -> pd.DataFrame:
        """Read a table, or some columns only; LookupError if there is none."""
        self.check(table_id)
        path = self._folder / f"{table_id}.parquet"
        return pd.read_parquet(path, columns=list(only) or None)

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
