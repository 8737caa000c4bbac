"""How many rows and columns a table may have."""

from treelab.data.reading.table_error import TableError

MOST_CELLS = 50_000_000
MOST_COLUMNS = 10_000


def check_extent(n_rows: int, n_columns: int, name: str) -> None:
    """Raise TableError for a table with more cells than trees can be trained on."""
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{name} has {n_columns:,} columns; at most {MOST_COLUMNS:,} can be read. "
            "Leave some out."
        )
    if n_rows * n_columns > MOST_CELLS:
        raise TableError(
            f"{name} has {n_rows:,} rows of {n_columns:,} columns; at most "
            f"{MOST_CELLS:,} cells can be read. Take a sample of "
            f"{MOST_CELLS // n_columns:,} rows."
        )
