"""How much a file may hold, so that reading it takes two gigabytes at most.

A few hundred kilobytes can unpack to any number of cells, so these limits are applied
while a file is read, not to what came out.
"""

from treelab.data.reading.table_error import TableError

MOST_BYTES = 2**28  # of a file, and of its text once unpacked
MOST_CELLS = 50_000_000
MOST_COLUMNS = 10_000


def check_bytes(n_bytes: int, name: str) -> None:
    """Raise TableError for a file with more bytes than can be read."""
    if n_bytes > MOST_BYTES:
        raise TableError(
            f"{name} holds more than {MOST_BYTES // 2**20:,} MiB of text. Take a "
            "sample of its rows, or leave columns out."
        )


def check_extent(n_rows: int, n_columns: int, name: str) -> None:
    """Raise TableError for a table with more cells than trees can be trained on.

    Rows are counted, or were read so far; ``name`` is the file's, in messages.
    """
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{name} has {n_columns:,} columns; at most {MOST_COLUMNS:,} can be read. "
            "Leave some out."
        )
    if n_rows * n_columns > MOST_CELLS:
        fit = MOST_CELLS // n_columns
        raise TableError(
            f"{name} has {n_columns:,} columns and more than {fit:,} rows; at most "
            f"{MOST_CELLS:,} cells can be read. Take a sample of {fit:,} rows."
        )
