"""Read a table from a file that a person brought: CSV and its kin, or Parquet."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from treelab.data.columns import column_note
from treelab.data.reading.cells import Reading, decimal_years, read_column
from treelab.data.reading.delimited import read_cells
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_file import (
    check_size,
    decode,
    refuse_other_formats,
    unpack,
)
from treelab.trees.text.names import listed
from treelab.trees.text.numerals import counted

MOST_CELLS = 50_000_000
MOST_COLUMNS = 10_000

__all__ = ["ReadResult", "TableError", "read_table"]


@dataclass(frozen=True)
class ReadResult:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        Columns of int64 or float64 numbers, of text, or of true and false.
    notes : list of str
        Sentences on what was found odd and what was done about it.
    """

    frame: pd.DataFrame
    notes: list[str]


def read_table(
    source: str | Path | bytes,
    name: str = "",
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    one_column: bool = False,
) -> ReadResult:
    """Read a table from a CSV, TSV or Parquet file, packed by gzip or not.

    What a file is follows from its content, not from its name. Delimiter, header,
    encoding, decimal commas, missing values and dates are found out; whatever was
    decided for a person is said in the notes.

    Parameters
    ----------
    source : path, or bytes
        The file or its content.
    name : str, default=""
        What messages call the file; the path's own name where there is one.
    delimiter : str or None, default=None
        One character between fields; None finds it among comma, semicolon, tab,
        vertical bar and spaces.
    header : bool or None, default=None
        Whether the first line names the columns; None finds out.
    encoding : str or None, default=None
        None tries UTF-8 and then guesses.
    one_column : bool, default=False
        Whether a table of one column will do: there is something to predict from it,
        but nothing to learn.

    Returns
    -------
    ReadResult

    Raises
    ------
    TableError
        If the content is no table: the message says what is wrong, where, and what to
        do.
    FileNotFoundError
        If there is no such file.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        content, name = bytes(source), name or "The file"
    else:
        content, name = Path(source).read_bytes(), name or Path(source).name
    check_size(content, name)
    content = unpack(content, name)
    if not content.strip():
        raise TableError(f"{name} is empty. Choose a file with a table in it.")
    if content[:4] == b"PAR1":
        readings, notes = _read_parquet(content, name)
    else:
        refuse_other_formats(content, name)
        text, _, note = decode(content, name, encoding)
        cells = read_cells(text, name, delimiter, header, one_column=one_column)
        _check_extent(len(cells.columns[0]), len(cells.columns), name)
        notes = [note] if note else []
        notes += cells.notes
        names = _mend_names(cells.names, cells.columns, notes)
        readings = [
            read_column(column, column_name, cells.line_of, cells.delimiter)
            for column, column_name in zip(cells.columns, names)
            if column_name
        ]
    return _assemble(readings, notes, name, one_column)


def _assemble(
    readings: list[Reading], notes: list[str], name: str, one_column: bool
) -> ReadResult:
    """Put columns together and say what is odd about them."""
    frame = pd.DataFrame({str(r.column.name): r.column for r in readings})
    empty = frame.isna().all(axis=1)
    if empty.all():
        raise TableError(f"{name} has no value in any row. Choose another file.")
    if empty.any():
        n = int(empty.sum())
        notes.append(
            f"{counted(n, 'row')} without any value {'is' if n == 1 else 'are'} left "
            "out."
        )
        frame = frame[~empty].reset_index(drop=True)
        for reading in readings:  # their empty cells left with the rows
            if "" in reading.missing:
                reading.missing[""] -= n
    if frame.shape[1] < 2 and not one_column:
        raise TableError(
            f"{name} has one column only, {frame.columns[0]!r}. A table needs one "
            "column to predict and at least one to predict from."
        )
    notes += _missing_notes(readings)
    for reading in readings:
        notes += reading.notes
    notes += _odd_columns(frame)
    return ReadResult(frame, notes)


def _mend_names(names: Sequence[str], columns: list, notes: list[str]) -> list[str]:
    """Give each column a name of its own; "" for one without name and content."""
    mended, unnamed, twice = [], [], []
    taken = set(names)
    for j, name in enumerate(names):
        new = name
        if not name:
            if not any(cell.as_py() for cell in columns[j].unique()):
                mended.append("")
                continue
            new = f"column_{j + 1}"
        suffix = 2
        while new in mended or (new != name and new in taken):
            new = f"{name or f'column_{j + 1}'}_{suffix}"
            suffix += 1
        if not name:
            unnamed.append(new)
        elif new != name:
            twice.append(new)
        mended.append(new)
    if unnamed:
        notes.append(
            f"{counted(len(unnamed), 'column')} without a name "
            f"{'is' if len(unnamed) == 1 else 'are'} called {listed(unnamed)}."
        )
    if twice:
        notes.append(
            "Some columns have the same name; the later ones are now called "
            f"{listed(twice)}."
        )
    return mended


def _missing_notes(readings: list[Reading]) -> list[str]:
    """Say which marks were read as missing values, and where."""
    notes = []
    marks = sorted({mark for reading in readings for mark in reading.missing})
    for mark in marks:
        held = {
            reading.column.name: reading.missing[mark]
            for reading in readings
            if reading.missing.get(mark)
        }
        if not held:
            continue
        shown = [f"{n:,} in {name!r}" for name, n in list(held.items())[:6]]
        more = len(held) - len(shown)
        others = f" and some in {counted(more, 'more column')}" if more > 0 else ""
        where = ", ".join(shown) + others
        what = "Empty cells" if mark == "" else f'Cells with "{mark}"'
        notes.append(f"{what} count as missing: {where}.")
    return notes


def _odd_columns(frame: pd.DataFrame) -> list[str]:
    """Say which columns can tell nothing."""
    words = {
        "all missing": "no value at all",
        "constant": "one value only",
        "looks like an id": "nearly as many values as rows, like an id",
        "looks like a row number": "the rows' numbers",
    }
    found: dict[str, list[str]] = {}
    for name in frame.columns:
        if note := column_note(frame[name]):
            found.setdefault(note, []).append(str(name))
    return [
        f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} {words[note]}; left "
        "out unless you choose otherwise."
        for note, names in found.items()
    ]


def _read_parquet(content: bytes, name: str) -> tuple[list[Reading], list[str]]:
    """Read the columns of a Parquet file."""
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        _check_extent(file.metadata.num_rows, file.metadata.num_columns, name)
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{name} is a damaged Parquet file. Download or write it again."
        ) from error
    if table.num_rows == 0 or table.num_columns == 0:
        raise TableError(f"{name} has no rows. Choose a file with rows in it.")
    notes: list[str] = []
    names = _mend_names(
        [str(n).strip() for n in table.column_names], table.columns, notes
    )
    readings = []
    for column, column_name in zip(table.columns, names):
        if column_name and (reading := _parquet_column(column, column_name, notes)):
            readings.append(reading)
    if not readings:
        raise TableError(f"{name} has no columns of numbers or text.")
    return readings, notes


def _parquet_column(
    column: pa.ChunkedArray, name: str, notes: list[str]
) -> Reading | None:
    """Read a column of Parquet; None for one that is left out."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    types = pa.types
    if types.is_boolean(kind):
        series = column.to_pandas()
        if series.dtype == object:  # true, false and missing
            series = series.map({True: "True", False: "False"}).astype("str")
        return Reading(series.rename(name))
    if types.is_string(kind) or types.is_large_string(kind):
        return Reading(column.to_pandas().astype("str").rename(name))
    if types.is_null(kind):
        return Reading(pd.Series(np.full(len(column), np.nan), name=name))
    if types.is_date(kind) or types.is_timestamp(kind):
        times = pd.to_datetime(column.to_pandas(), utc=True).dt.tz_localize(None)
        notes.append(
            f"Column {name!r} holds dates, which became years with decimals: 2019.5 is "
            "the middle of 2019."
        )
        return Reading(decimal_years(times.astype("datetime64[ns]")).rename(name))
    if types.is_integer(kind) and column.null_count == 0:
        return Reading(column.cast(pa.int64(), safe=False).to_pandas().rename(name))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        values = column.cast(pa.float64(), safe=False).to_numpy().copy()
        infinite = np.isinf(values)
        if infinite.any():
            notes.append(
                f"Column {name!r} holds an infinite value in row "
                f"{int(np.argmax(infinite)) + 1:,}; {infinite.sum():,} such "
                f"{'cell counts' if infinite.sum() == 1 else 'cells count'} as missing."
            )
            values[infinite] = np.nan
        return Reading(pd.Series(values, name=name))
    notes.append(
        f"Column {name!r} is left out: it holds {kind} values, which are neither "
        "numbers nor text."
    )
    return None


def _check_extent(n_rows: int, n_columns: int, name: str) -> None:
    """Refuse tables with more cells than trees here can be trained on."""
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
