"""Write a table, or what a SELECT finds, of a DuckDB file as Parquet.

Runs in a process of its own, with a copy of the file that nothing can change; the
database may read no other file, load no extension and fetch nothing.
"""

import errno
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyarrow import types

from treelab.data.reading.extent import check_extent
from treelab.data.reading.formats.guarded import serve
from treelab.data.reading.table_error import TableError, pick_table

MOST_SECONDS = 20
MOST_ROWS_AT_ONCE = 100_000
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
SAFE: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # Python's variables are no tables
    "temp_directory": "",  # nothing is written
    "memory_limit": "400MB",
    "threads": "1",
    "lock_configuration": "true",
}
TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_catalog = current_database() ORDER BY ALL"
)


def as_parquet(
    content: bytes,
    name: str,
    sheet: str | None,
    query: str | None,
    seconds: float = MOST_SECONDS,
) -> tuple[dict, bytes]:
    """Return the rows of one table or view, or of one SELECT, as Parquet.

    A ``query``, which may take so many seconds, goes before ``sheet``, the table; None
    takes the only one.
    """
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        copy, written = Path(folder) / "copy.duckdb", Path(folder) / "table.parquet"
        try:
            copy.write_bytes(content)
        except OSError as error:
            raise _not_written(error, name, folder) from error
        late = threading.Event()
        try:
            with duckdb.connect(copy, read_only=True, config=SAFE) as database:

                def stop() -> None:
                    """Break the query off."""
                    late.set()
                    database.interrupt()

                clock = threading.Timer(seconds, stop)
                clock.start()
                try:
                    found = _found(database, name, sheet, query)
                    notes = _write(found, name, written)
                finally:
                    clock.cancel()
        except (duckdb.Error, OSError) as error:  # the latter of its reader
            if late.is_set():
                raise TableError(
                    f"{name}: the query takes more than {seconds:g} s. Add a WHERE or "
                    "a LIMIT."
                ) from error
            if isinstance(error, OSError) and error.errno in NO_SPACE:
                raise _not_written(error, name, folder) from error
            raise _refusal(str(error).split("\n")[0], name) from error
        return {"notes": notes}, written.read_bytes()


def _found(database, name: str, sheet: str | None, query: str | None):
    """Return what the query finds, which is not run yet."""
    if query is None:
        query = _select_all(database, name, sheet)
    statements = database.extract_statements(query)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        raise TableError(
            f"{name}: only one SELECT is run, and nothing that changes the database."
        )
    found = database.sql(query)
    names = list(found.columns)
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise TableError(
            f"{name}: the query gives two columns {twice!r}. Name one by AS."
        )
    return found


def _write(found, name: str, path: Path) -> list[str]:
    """Write the rows that a query finds as Parquet; return notes."""
    reader = found.to_arrow_reader(MOST_ROWS_AT_ONCE)
    spans = [field.name for field in reader.schema if types.is_interval(field.type)]
    fields = [field for field in reader.schema if field.name not in spans]
    if not fields:
        raise TableError(f"{name}: the query gives no column of numbers or text.")
    n_rows = 0
    names = [field.name for field in fields]
    schema = pa.schema(fields)
    with pyarrow.parquet.ParquetWriter(path, schema, compression="none") as writer:
        for batch in reader:
            n_rows += batch.num_rows
            check_extent(n_rows, len(names), name)
            writer.write_batch(batch.select(names))
    if not n_rows:
        raise TableError(f"{name}: the query gives no rows. Choose another table.")
    return [
        f"Column {span!r} is left out: it holds spans of time. In a query, "
        "date_part('day', ...) makes a number of one."
        for span in spans
    ]


def _select_all(database, name: str, sheet: str | None) -> str:
    """Return the query for all rows of the table that was chosen."""
    places = {
        table if schema == "main" else f"{schema}.{table}": (schema, table)
        for schema, table in database.sql(TABLES).fetchall()
    }
    if not places:
        raise TableError(f"{name} has no table. Choose another database.")
    place = places[pick_table(name, list(places), sheet, "table")]
    return "SELECT * FROM " + ".".join(_quoted(each) for each in place)


def _quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"{}"'.format(name.replace('"', '""'))


def _not_written(error: OSError, name: str, folder: str) -> TableError:
    """Return what to tell where a copy, or the rows found, cannot be written."""
    why = "is full" if error.errno in NO_SPACE else f"cannot be written ({error})"
    return TableError(
        f"{name}: a DuckDB database is read from a copy, and the disk of "
        f"{Path(folder).parent} {why}. Free some space, or let TMPDIR name another "
        "folder."
    )


def _refusal(words: str, name: str) -> TableError:
    """Return what to tell of an error of the database, by its first line."""
    if words.startswith("Out of Memory"):
        return TableError(
            f"{name}: the query takes more than {SAFE['memory_limit']} of memory. Add "
            "a WHERE or a LIMIT, or choose fewer columns."
        )
    if words.startswith("Permission") or "read-only" in words:
        return TableError(
            f"{name}: a query reads this database alone, and changes nothing ({words})."
        )
    damaged = ("IO Error", "Serialization", "FATAL", "INTERNAL")
    if words.startswith(damaged) or "orrupt" in words:
        return TableError(
            f"{name} is a DuckDB database that is damaged, cut off or encrypted, or of "
            f"another version ({words[:100]}). Copy it again, or save the table as "
            "Parquet."
        )
    return TableError(f"{name}: the query cannot be run: {words}. Write one SELECT.")


if __name__ == "__main__":
    serve(as_parquet)
