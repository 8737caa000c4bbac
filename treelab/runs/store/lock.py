"""A lock between processes that no crash leaves behind."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path, timeout: float) -> Iterator[bool]:
    """Hold the lock named by a file for the length of a ``with`` block.

    SQLite's own file lock does the work: it exists on every system, and it is
    released when its process dies, however it dies.

    Parameters
    ----------
    path : Path
        File that stands for the lock; it is made when it is not there.
    timeout : float
        Seconds to wait for another holder.

    Yields
    ------
    bool
        Whether the lock was had in time.
    """
    with closing(sqlite3.connect(path, timeout=timeout, isolation_level=None)) as held:
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            yield False
            return
        yield True
        held.execute("ROLLBACK")
