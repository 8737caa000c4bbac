"""Read a table, or what a SELECT finds, from a DuckDB file; change nothing."""

from importlib.util import find_spec

from treelab.data.reading.formats.guarded import run_guarded
from treelab.data.reading.formats.parquet import read_parquet
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import ColumnReading

MOST_SECONDS = 20


def read_duckdb(
    content: bytes, name: str, sheet: str | None, query: str | None
) -> tuple[list[ColumnReading], list[str]]:
    """Read the columns of a table, or a SELECT, of a copy of a database, with notes.

    ``sheet`` is the table or view, None takes the only one; ``query``, one SELECT
    statement, goes before it.

    Raises
    ------
    ChoiceError
        If there are several tables, and none was chosen.
    TableError
        If the package duckdb is not installed, the database is damaged, or the query
        is none, fails, reads another file, or takes too much time or memory.
    """
    if find_spec("duckdb") is None:
        raise TableError(
            f"{name} is a DuckDB database, and reading one needs the package duckdb. "
            'Install it with pip install duckdb, or treelab with pip install ".[duckdb]'
            '", or save the table as Parquet.'
        )
    about, written = run_guarded(
        "duckdb_process", content, name, sheet=sheet, query=query, seconds=MOST_SECONDS
    )
    readings, notes = read_parquet(written, name)
    return readings, [*about["notes"], *notes]
