"""Columns of text that are collected a row at a time, and stay within their bounds."""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from treelab.data.reading.delimited import Cells
from treelab.data.reading.extent import check_bytes, check_extent
from treelab.trees.cells import TYPED

ROWS_AT_ONCE = 10_000


class TextColumns:
    """Rows of named texts, from which columns grow.

    ``names`` are columns that are there, even if no row names them; messages call the
    file ``name``.
    """

    def __init__(self, name: str, names: Sequence[str] = ()):
        self._name = name
        self._pieces: dict[str, list[pa.Array]] = {each: [] for each in names}
        self._rows: list[Mapping[str, str]] = []
        self._n_stored = 0
        self._n_bytes = 0

    def add(self, row: Mapping[str, str]) -> None:
        """Add a row; what it does not name is empty.

        Raises TableError if there are more columns, cells or letters than can be read.
        """
        for key, text in row.items():
            self._n_bytes += len(text)
            if key not in self._pieces:
                self._pieces[key] = [_empty(self._n_stored)] if self._n_stored else []
        n_rows = self._n_stored + len(self._rows) + 1
        check_extent(n_rows, len(self._pieces), self._name)
        check_bytes(self._n_bytes, self._name)
        self._rows.append(row)
        if len(self._rows) >= ROWS_AT_ONCE:
            self._store()

    def cells(
        self,
        place: str,
        categories: Collection[str] = (),
        missing: tuple[str, ...] = (),
    ) -> Cells:
        """Return all columns; ``place`` is what messages call a row."""
        self._store()
        columns = [
            pa.concat_arrays(pieces) if pieces else _empty(0)
            for pieces in self._pieces.values()
        ]
        names = list(self._pieces)
        return Cells(
            names, columns, place=place, categories=categories, missing=missing
        )

    def _store(self) -> None:
        """Turn the latest rows into pieces of columns."""
        for key, pieces in self._pieces.items():
            texts = [row.get(key, "").strip() for row in self._rows]
            encoded = [text.encode("utf-8", errors="replace") for text in texts]
            pieces.append(pa.array(encoded, pa.binary()).cast(pa.string()))
        self._n_stored += len(self._rows)
        self._rows = []


def typed_text(value: object) -> str:
    """Return a value of a file with types as text; None is empty.

    What is no text says so: as text, 1.234 may be 1234, and 7 another code than 007.
    """
    if value is None or isinstance(value, str):
        return value or ""
    return f"{TYPED}{value!r}"


def _empty(n_rows: int) -> pa.Array:
    """Return texts that are all empty, (n_rows,)."""
    return pa.array([""] * n_rows, pa.string())
