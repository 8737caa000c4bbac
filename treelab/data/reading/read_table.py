"""Read a table from a file of any kind that people keep tables in."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

import pandas as pd
import pyarrow as pa

from treelab.data.columns import column_note
from treelab.data.reading.column_names import unique_names
from treelab.data.reading.delimited import Cells, read_cells
from treelab.data.reading.extent import MOST_BYTES, check_bytes
from treelab.data.reading.file_format import (
    format_of,
    refuse_other_formats,
    unpack,
)
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import ColumnReading, read_column, read_words
from treelab.data.reading.text_encoding import to_utf8
from treelab.trees.io import read_regular_file
from treelab.trees.text.names import listed
from treelab.trees.text.numerals import counted


class ReadOptions(TypedDict, total=False):
    """What a person may say of a file; what is left out, or None, is found out.

    Attributes
    ----------
    delimiter : str or None
        One character between fields, else found among comma, semicolon, tab, vertical
        bar and spaces.
    header : int or None
        The line, of a workbook the row, that names the columns, from 1; 0 (or False)
        if none does.
    encoding : str or None
        Else UTF-8 is tried, and then a guess.
    decimal : {",", "."} or None
        The decimal sign of a delimited text, else found for each column.
    one_column : bool
        Whether a table of one column will do: there is something to predict from it,
        but nothing to learn. Else it will not.
    sheet : str or None
        Which sheet of a workbook, or table of a database, else the only one.
    query : str or None
        A SELECT on a database, else all of one table.
    """

    delimiter: str | None
    header: int | None
    encoding: str | None
    decimal: str | None
    one_column: bool
    sheet: str | None
    query: str | None


@dataclass(frozen=True)
class _How:
    """The options of ``read_table``, all of them."""

    delimiter: str | None = None
    header: int | None = None
    encoding: str | None = None
    decimal: str | None = None
    one_column: bool = False
    sheet: str | None = None
    query: str | None = None


@dataclass(frozen=True)
class TextForm:
    """How a delimited text was read: what was found out, or what a person said.

    Attributes
    ----------
    delimiter : str
        Between fields; a tab for spaces.
    decimal : {",", "."}
        A comma where the numbers of any column have one.
    encoding : str
    has_header : bool
        Whether a line names the columns.
    """

    delimiter: str
    decimal: str
    encoding: str
    has_header: bool


@dataclass(frozen=True)
class ReadResult:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        Columns of int64 or float64 numbers, of text, or of true and false.
    notes : list of str
        Sentences on what was found odd and what was done about it.
    dates : list of str
        Columns that hold dates, as years with decimals; ``months`` writes them out.
    text : TextForm or None
        How it was read, where it is a delimited text.
    """

    frame: pd.DataFrame
    notes: list[str]
    dates: list[str]
    text: TextForm | None = None


def read_table(
    source: str | Path | bytes, name: str = "", **options: Unpack[ReadOptions]
) -> ReadResult:
    """Read a table from a file, packed by gzip or zip or not.

    CSV, TSV and other delimited text; Excel (.xlsx, .xlsm, .xlsb, .xls) and
    OpenDocument (.ods) workbooks; Parquet, Arrow and Feather; JSON lines; ARFF; Stata,
    SPSS and SAS; SQLite and DuckDB databases.

    What a file is follows from its content, not from its name. Delimiter, header,
    encoding, decimal commas, missing values and dates are found out; the notes list
    what was decided.

    Parameters
    ----------
    source : path, or bytes
        The file or its content.
    name : str, default=""
        What messages call the file; the path's own name where there is one.
    **options
        What a person says of the file, see ``ReadOptions``.

    Returns
    -------
    ReadResult

    Raises
    ------
    ChoiceError
        If the file holds several tables, and ``sheet`` names none of them.
    TableError
        If it is no file, too large, or no table: the message names what is wrong,
        where, and what to do.
    FileNotFoundError
        If there is no such file.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        content, name = bytes(source), name or "The file"
    else:
        name = name or Path(source).name
        try:
            content = read_regular_file(Path(source), MOST_BYTES)
        except ValueError as error:
            raise TableError(str(error)) from error
    check_bytes(len(content), name)
    content = unpack(content, name)
    if not content or content.isspace():
        raise TableError(f"{name} is empty. Choose a file with a table in it.")
    how = _How(**options)
    readings, notes, form = _read_content(content, name, how)
    result = _assemble(readings, notes, name, how.one_column)
    pa.default_memory_pool().release_unused()
    return replace(result, text=form)


def _read_content(
    content: bytes, name: str, how: _How
) -> tuple[list[ColumnReading], list[str], TextForm | None]:
    """Read the columns of a file, with notes, and how it was read if it is a text."""
    kind = format_of(content)
    if kind == "zip":
        from treelab.data.reading.formats.zipped import unzip

        content, name = unzip(content, name)
        return _read_content(unpack(content, name), name, how)
    if kind in ("text", "arff", "json lines"):
        return _read_text(content, name, how, kind)
    return *_read_format(content, name, how, kind), None


def _read_format(
    content: bytes, name: str, how: _How, kind: str
) -> tuple[list[ColumnReading], list[str]]:
    """Read the columns of a file that is no text by the reader of its format."""
    if kind == "parquet":
        from treelab.data.reading.formats.parquet import read_parquet

        return read_parquet(content, name)
    if kind == "workbook":
        from treelab.data.reading.formats.workbook import sheet_text

        text, header, notes = sheet_text(content, name, how.sheet, how.header)
        cells = read_cells(text, name, ",", header, one_column=how.one_column)
        return _read_columns(replace(cells, place="row"), notes)
    if kind == "sqlite":
        from treelab.data.reading.formats.sqlite import read_sqlite

        return _read_columns(read_sqlite(content, name, how.sheet, how.query), [])
    if kind == "duckdb":
        from treelab.data.reading.formats.duckdb import read_duckdb

        return read_duckdb(content, name, how.sheet, how.query)
    from treelab.data.reading.formats.guarded import run_guarded
    from treelab.data.reading.formats.parquet import read_parquet

    _, written = run_guarded("parquet_process", content, name, kind=kind)
    return read_parquet(written, name)


def _read_text(
    content: bytes, name: str, how: _How, kind: str
) -> tuple[list[ColumnReading], list[str], TextForm | None]:
    """Read the columns of a text: delimited, JSON lines or ARFF."""
    refuse_other_formats(content, name)
    text, encoding, note = to_utf8(content, name, how.encoding)
    notes = [note] if note else []
    if kind == "json lines":
        from treelab.data.reading.formats.json_lines import read_json_lines

        return *_read_columns(read_json_lines(text, name), notes), None
    if kind == "arff":
        from treelab.data.reading.formats.arff import read_arff

        cells, nominal = read_arff(text, name)
        return *_read_columns(cells, notes, nominal), None
    cells = read_cells(text, name, how.delimiter, how.header, one_column=how.one_column)
    readings, notes = _read_columns(cells, notes, decimal=how.decimal)
    commas = any(reading.has_decimal_commas for reading in readings)
    decimal = how.decimal or ("," if commas else ".")
    form = TextForm(cells.delimiter, decimal, encoding, cells.has_header)
    return readings, notes, form


def _read_columns(
    cells: Cells,
    notes: list[str],
    words: Collection[str] = (),
    decimal: str | None = None,
) -> tuple[list[ColumnReading], list[str]]:
    """Read columns, which are gone from ``cells`` afterwards; ``words`` stay text."""
    notes = [*notes, *cells.notes]
    names = unique_names(cells.names, cells.columns, notes)
    readings = []
    for name in names:
        column = cells.columns.pop(0)  # its text is not needed any longer
        if name:
            readings.append(
                read_words(column, name)
                if name in words
                else read_column(column, name, cells.place_of, cells.delimiter, decimal)
            )
    return readings, notes


def _assemble(
    readings: list[ColumnReading], notes: list[str], name: str, one_column: bool
) -> ReadResult:
    """Put columns together and note what is odd about them."""
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
    dates = [str(reading.column.name) for reading in readings if reading.is_date]
    return ReadResult(frame, notes, dates)


def _missing_notes(readings: list[ColumnReading]) -> list[str]:
    """Return notes on marks that were read as missing values, and where."""
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
    """Return notes on columns that cannot help to predict."""
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
