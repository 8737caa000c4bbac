"""Read a table from a file of any kind that people keep tables in."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from treelab.data.columns import column_note
from treelab.data.reading.delimited import Cells, read_cells
from treelab.data.reading.extent import MOST_BYTES, check_bytes
from treelab.data.reading.file_format import (
    TEXT_FORMATS,
    check_parts,
    format_of,
    refuse_other_formats,
    unpack,
    unzip,
)
from treelab.data.reading.formats.guarded import run_guarded
from treelab.data.reading.formats.sheet_process import LINE_BREAK
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import (
    ColumnReading,
    Said,
    as_written,
    may_part_thousands,
    other_sign,
    read_column,
    without_totals,
)
from treelab.data.reading.text_encoding import to_utf8
from treelab.trees.cells import NOTES, TYPED, CellForm, note_forms
from treelab.trees.io import read_regular_file
from treelab.trees.words import counted, joined, left_out, listed


@dataclass(frozen=True)
class ReadOptions:
    """What a person may say of a file; what is left out, or None, is found out.

    TableError if the delimiter is no character or the header no line.
    """

    # One character between fields, else found among comma, semicolon, tab, vertical bar
    # and spaces.
    delimiter: str | None = None
    # The line, of a workbook the row, that names the columns, from 1; 0 (or False) if
    # none does.
    header: int | None = None
    encoding: str | None = None  # else UTF-8 is tried, and then a guess
    # "," or ".": the decimal sign of a delimited text, else found for each column.
    decimal: str | None = None
    # Whether a table of one column will do: there is something to predict from it, but
    # nothing to learn. Else it will not.
    one_column: bool = False
    # Which sheet of a workbook, or table of a database, else the only one.
    sheet: str | None = None
    query: str | None = None  # a SELECT on a database, else all of one table
    # Cells that have no value besides the usual ones, such as -999, by column; "" is
    # all columns.
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Columns in which NA and the like are values as others; "" is all columns.
    keep_na: Sequence[str] = ()
    # Columns that are categories as written, though they look like numbers or dates.
    as_text: Sequence[str] = ()

    def __post_init__(self):
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise TableError(
                f"The delimiter must be one character, got {self.delimiter!r}."
            )
        if self.header is not None and self.header < 0:
            raise TableError(
                "The line that names the columns is counted from 1, or 0 if none does, "
                f"got {self.header}."
            )

    def said_of(self, column: str) -> Said:
        """Return what is said of the cells of a column."""
        missing = (*self.missing.get("", ()), *self.missing.get(column, ()))
        keep_usual = not {"", column}.isdisjoint(self.keep_na)
        return Said(missing, keep_usual, column in self.as_text, self.decimal)


@dataclass(frozen=True)
class TextForm:
    """How a delimited text was read: what was found out, or what a person said."""

    delimiter: str  # between fields; a tab for spaces
    decimal: str  # "," or ".": a comma where the numbers of any column have one
    encoding: str
    has_header: bool  # whether a line names the columns


@dataclass(frozen=True)
class ReadResult:
    """A table as it was read."""

    # Columns of int64 or float64 numbers, of text, or of true and false.
    frame: pd.DataFrame
    notes: list[str]  # sentences on what was found odd and what was done about it
    # Columns that hold dates, as years with decimals; ``months`` writes them out.
    dates: list[str]
    # The cells as they came, of a table that was read as another one: numbers where
    # they are written as Python writes them, else text. Else the frame.
    written: pd.DataFrame
    text: TextForm | None = None  # how it was read, where it is a delimited text


def read_table(
    source: str | Path | bytes,
    name: str = "",
    *,
    as_in: Mapping[str, CellForm] | None = None,
    **options,
) -> ReadResult:
    """Read a table from a file, packed by gzip or zip or not.

    CSV, TSV and other delimited text; Excel (.xlsx, .xlsm, .xlsb, .xls) and
    OpenDocument (.ods) workbooks; Parquet, Arrow and Feather; JSON lines; ARFF; Stata,
    SPSS and SAS; SQLite and DuckDB databases.

    What a file is follows from its content, not from its name. Delimiter, header,
    encoding, decimal commas, missing values and dates are found out; the notes list
    what was decided.

    Messages call a file by its path's own name, or the one that is given. ``as_in`` is
    how the columns of another table are written, see ``forms_of`` and
    ``forms_of_model``: these columns are read so, whatever else this table holds, and
    all rows stay. None finds out how each column is written. The options are what a
    person says of the file, see ``ReadOptions``.

    ChoiceError if the file holds several tables, and ``sheet`` names none of them.
    TableError if it is no file, too large, or no table, or a cell is not written as in
    the other table: the message names what is wrong, where, and what to do.
    FileNotFoundError if there is no such file.
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
    how, forms = ReadOptions(**options), as_in or {}
    cells = _cells_of(content, name, how, forms)
    if as_in is None and not cells.is_typed:
        cells = without_totals(cells)
    readings, notes = _read_columns(cells, how, forms)
    result = _assemble(readings, notes, name, how.one_column, as_in is not None)
    for column in filter(None, (*how.missing, *how.keep_na, *how.as_text)):
        if column not in result.frame:
            raise TableError(
                f"{name} has no column {column!r}; it has "
                f"{listed([str(each) for each in result.frame.columns])}."
            )
    pa.default_memory_pool().release_unused()
    if not cells.encoding:
        return result
    commas = any(reading.form.decimal == "," for reading in readings)
    decimal = how.decimal or ("," if commas else ".")
    form = TextForm(cells.delimiter, decimal, cells.encoding, cells.has_header)
    return replace(result, text=form)


def _cells_of(
    content: bytes, name: str, how: ReadOptions, as_in: Mapping[str, CellForm]
) -> Cells:
    """Return the cells of a file by the reader of its format."""
    kind = format_of(content)
    if kind == "zip":
        content, name = unzip(content, name)
        return _cells_of(unpack(content, name), name, how, as_in)
    unread = _unread_options(kind, name, how)
    cells = _cells_of_kind(content, kind, name, how, as_in)
    return replace(cells, notes=[*unread, *cells.notes])


def _unread_options(kind: str, name: str, how: ReadOptions) -> list[str]:
    """Note what was said of a file that its format has not.

    TableError of a sheet or a query, as other rows than those that are meant would be
    read.
    """
    is_text = kind == "text" or kind in TEXT_FORMATS
    takes: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(TEXT_FORMATS, ("encoding",)),
        "text": ("header", "delimiter", "encoding"),
        "workbook": ("sheet", "header"),
        **dict.fromkeys(("sqlite", "duckdb"), ("sheet", "query")),
    }
    options = ("sheet", "query", "header", "delimiter", "encoding")
    said = [option for option in options if getattr(how, option) is not None]
    unread = [option for option in said if option not in takes.get(kind, ())]
    if kind == "workbook" and "query" in unread:
        raise TableError(f"{name} is a workbook: it takes no query.")
    if {"sheet", "query"} & {*unread}:
        what = "a text" if is_text else "one table"
        raise TableError(f"{name} is {what}: it has no sheets, and takes no query.")
    if not unread:
        return []
    return [f"{name} is read without the {joined(unread)} that was named."]


def _cells_of_kind(
    content: bytes,
    kind: str,
    name: str,
    how: ReadOptions,
    as_in: Mapping[str, CellForm],
) -> Cells:
    """Return the cells of a file by the reader of its kind."""
    if kind == "text" or kind in TEXT_FORMATS:
        return _text_cells(content, name, how, kind, as_in)
    if kind == "workbook":
        check_parts(content, name)
        choices = {"sheet": how.sheet, "header": how.header, "known": list(as_in)}
        about, text = run_guarded("sheet_process", content, name, **choices, mark=TYPED)
        cells = read_cells(
            text, name, ",", about["header"], one_column=how.one_column, known=as_in
        )
        cells.notes[:0] = about["notes"]
        if about["n_sheets"] > 1:
            cells.notes.insert(0, f"The sheet {about['sheet']!r} was read.")
        whole = [pc.replace_substring(own, LINE_BREAK, "\n") for own in cells.columns]
        return replace(cells, columns=whole, place="row")
    if kind == "sqlite":
        from treelab.data.reading.formats.sqlite import read_sqlite

        return read_sqlite(content, name, how.sheet, how.query)
    from treelab.data.reading.formats.parquet import read_parquet

    about = {"notes": []}
    if kind == "duckdb":
        if find_spec("duckdb") is None:
            raise TableError(
                f"{name} is a DuckDB database, and reading one needs the package "
                "duckdb. Install it with pip install duckdb, or treelab with pip "
                'install ".[duckdb]", or save the table as Parquet.'
            )
        about, content = run_guarded(
            "duckdb_process", content, name, sheet=how.sheet, query=how.query
        )
    elif kind != "parquet":
        kinds = dict.fromkeys(how.as_text, "category")
        kinds |= {column: form.kind for column, form in as_in.items()}
        about, content = run_guarded(
            "parquet_process", content, name, kind=kind, kinds=kinds
        )
    cells = read_parquet(content, name)
    cells.notes[:0] = about["notes"]
    return replace(cells, hours=about.get("hours", ()))


def _text_cells(
    content: bytes,
    name: str,
    how: ReadOptions,
    kind: str,
    as_in: Mapping[str, CellForm],
) -> Cells:
    """Return the cells of a text, delimited or another."""
    refuse_other_formats(content, name)
    # One guess for every later table: a row's letters do not depend on its neighbours.
    noted = [form.encoding for form in as_in.values() if form.encoding]
    known = noted[0] if noted else "cp1252" if as_in else ""
    text, encoding, note = to_utf8(content, name, how.encoding, likely=known)
    if kind in TEXT_FORMATS:
        module = import_module(f"treelab.data.reading.formats.{kind}")
        cells = getattr(module, f"read_{kind}")(text, name)
    else:
        cells = read_cells(
            *(text, name, how.delimiter, how.header),
            one_column=how.one_column,
            known=as_in,
        )
        cells = replace(cells, encoding=encoding)
    cells.notes[:0] = [note] if note else []
    return cells


def _read_column(
    column, name: str, cells: Cells, how: ReadOptions, as_in: Mapping[str, CellForm]
) -> ColumnReading:
    """Read one column by the form that training found, or else find its form."""
    said, form = how.said_of(name), as_in.get(name)
    if cells.is_typed:
        from treelab.data.reading.formats.parquet import read_typed

        return read_typed(column, name, cells, said, form)
    if form is not None and cells.missing:
        form = replace(form, missing=(*form.missing, *cells.missing))
    reading = read_column(column, name, cells, said, form, is_later=bool(as_in))
    if as_in:  # else no one asks for them
        reading.written = as_written(column, name)
    return reading


def _read_columns(
    cells: Cells, how: ReadOptions, as_in: Mapping[str, CellForm]
) -> tuple[list[ColumnReading], list[str]]:
    """Read all columns, which are gone from ``cells`` afterwards; return notes, too."""
    notes = list(cells.notes)
    how = replace(how, as_text=(*how.as_text, *cells.categories))
    # Columns that were made up, as no line named them.
    width = len(cells.names) if cells.text and not cells.has_header else 0
    if width and as_in:
        _refuse_other_width(width, as_in)
    readings: list[ColumnReading] = []
    unsure: dict[str, dict[int, pa.Array]] = {".": {}, ",": {}}
    signs = set()  # decimal signs that cannot be anything else
    whole: list[ColumnReading] = []  # numbers without any sign
    for name in _unique_names(cells.names, cells.columns, notes, as_in):
        column = cells.columns.pop(0)  # its text is not needed any longer
        if not name:
            continue
        reading = _read_column(column, name, cells, how, as_in)
        is_found = not (as_in or how.decimal or cells.is_typed)
        if is_found and reading.form.kind == "number":
            sign = reading.form.decimal
            parts = may_part_thousands(column, sign)
            if parts:
                unsure[sign][len(readings)] = column
            elif parts is False or reading.form.thousands.strip():
                signs.add(sign)
            else:
                whole.append(reading)
        readings.append(reading)
    # A file has one decimal sign; where none is sure, a comma.
    names_of = {".": "points", ",": "commas"}
    decimal, other = (".", ",") if signs == {"."} else (",", ".")
    if decimal in signs or unsure[decimal]:
        if decimal == "," and "." not in signs:  # so 8.159 is no fraction later on
            for reading in whole:
                reading.form = replace(reading.form, decimal=",")
        for place, column in unsure[other].items():
            name = str(readings[place].column.name)
            sure = replace(how, decimal=decimal)
            readings[place] = _read_column(column, name, cells, sure, as_in)
            readings[place].notes.append(
                f"Column {name!r}: {names_of[other]} separate thousands, as other "
                f"columns have decimal {names_of[decimal]}. {other_sign(other)}"
            )
    elif not signs and cells.delimiter != ",":  # where a comma may be the decimal sign
        for place, column in unsure["."].items():
            example = column.filter(pc.match_substring(column, "."))[0].as_py()
            readings[place].notes.append(
                f"Column {str(readings[place].column.name)!r}: points are decimal "
                f"points, as in {example!r}. {other_sign(',')}"
            )
    is_guessed = cells.encoding not in ("", "utf-8", "utf-16")
    for reading in readings:
        if not as_in:
            reading.form = replace(reading.form, width=width)
        if is_guessed and reading.form.kind == "category":
            reading.form = replace(reading.form, encoding=cells.encoding)
    return readings, notes


def _unique_names(
    names: Sequence[str], columns: list, notes: list[str], known: Collection[str]
) -> list[str]:
    """Give each column a name of its own; "" for one without name and content.

    A column that is ``known`` by the name it would get has a name without content, too.
    """
    mended, unnamed, twice = [], [], []
    taken = set(names)
    for j, name in enumerate(names):
        new = name
        if not name:
            new = f"column_{j + 1}"
            filled = any(cell.as_py() for cell in columns[j].unique())
            if not filled and new not in known:
                mended.append("")
                continue
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


def _refuse_other_width(n_columns: int, as_in: Mapping[str, CellForm]) -> None:
    """Raise TableError where columns without names may be others than in training."""
    width = max(form.width for form in as_in.values())
    last = as_in.get(f"column_{width}")
    # The target may be absent where it is the last column; its form has no width.
    fewest = width - 1 if last is not None and not last.width else width
    if width and not fewest <= n_columns <= width:
        raise TableError(
            f"No line names the columns, and there are {n_columns} in place of the "
            f"{width} that the training rows had, so it is unclear which is which. Add "
            "a line with names: column_1, column_2 and so on, as in training."
        )


def _assemble(
    readings: list[ColumnReading],
    notes: list[str],
    name: str,
    one_column: bool,
    keep_rows: bool,
) -> ReadResult:
    """Put columns together and note what is odd about them."""
    frame = pd.DataFrame({str(r.column.name): r.column for r in readings})
    empty = frame.isna().all(axis=1) & (not keep_rows)
    if empty.all():
        raise TableError(f"{name} has no value in any row. Choose another file.")
    if empty.any():
        n = int(empty.sum())
        notes.append(f"{left_out(n, 'without any value')}.")
        frame = frame[~empty].reset_index(drop=True)
        for reading in readings:  # their empty cells left with the rows
            if "" in reading.missing:
                reading.missing[""] = max(0, reading.missing[""] - n)
    if frame.shape[1] < 2 and not one_column:
        raise TableError(
            f"{name} has one column only, {frame.columns[0]!r}. A table needs one "
            "column to predict and at least one to predict from."
        )
    notes += _missing_notes(readings)
    for reading in readings:
        notes += reading.notes
    forms = {str(reading.column.name): reading.form for reading in readings}
    dates = [name for name, form in forms.items() if form.kind == "date"]
    note_forms(frame, forms)
    if not keep_rows:
        notes += _odd_columns(frame)
        frame.attrs[NOTES] = json.dumps(notes)
        return ReadResult(frame, notes, dates, frame)
    written = pd.DataFrame({str(r.column.name): r.written for r in readings})
    return ReadResult(frame, notes, dates, written)


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
