"""From the text of a delimited file to columns of cells, all still text."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from treelab.data.reading.delimiter import (
    DELIMITERS,
    find_delimiter,
    is_split_by_spaces,
    n_known,
    spaces_to_tabs,
)
from treelab.data.reading.extent import check_extent
from treelab.data.reading.header import looks_like_header, mend_header
from treelab.data.reading.records import MOST_RECORD, lines, records, sample_records
from treelab.data.reading.row_errors import (
    DELIMITER_NAMES,
    one_column_error,
    refuse_open_quote,
    refuse_ragged_rows,
)
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import TYPED, CellForm

MOST_LINE = 2**22  # bytes


@dataclass(frozen=True)
class Cells:
    """The cells of a delimited file."""

    names: list[str]  # the columns, as the header has them; made up where there is none
    columns: list[pa.Array]  # the cells of each column, without the header
    delimiter: str
    has_header: bool
    notes: list[str]
    # What was parsed, as UTF-8, for finding lines again; empty if a row's line is its
    # number.
    text: bytes
    place: str = "line"  # what messages call a line

    def place_of(self, row: int) -> str:
        """Return where in the file a row (from 0) ends, such as "line 7"."""
        return f"{self.place} {self.line_of(row):,}"

    def line_of(self, row: int) -> int:
        """Return the line of the file, from 1, on which a row (from 0) ends."""
        record = row + self.has_header
        known = record < len(self._line_of_record)
        return int(self._line_of_record[record]) if known else record + 1

    @cached_property
    def _line_of_record(self) -> np.ndarray:
        """Line on which each record ends, up to a field that is too long for csv."""

        def ends():
            try:
                yield from (line for line, _ in records(self.text, self.delimiter))
            except csv.Error:
                return

        return np.fromiter(ends(), dtype=np.int32)


def read_cells(
    text: bytes,
    name: str,
    delimiter: str | None = None,
    header: int | None = None,
    *,
    one_column: bool = False,
    known: Mapping[str, CellForm] = MappingProxyType({}),
) -> Cells:
    """Split the text of a file (UTF-8), which messages call ``name``, into cells.

    The delimiter is one character; None finds it. ``header`` is the line that names the
    columns, from 1; 0 if none does, None finds out. ``one_column`` says that a single
    column will do. ``known`` are the columns of another table that this one is read as:
    a line that names some of them is the header.

    Raises TableError if there is no row, one column only, a row with more or fewer
    fields than the others, or a quotation mark that is never closed.
    """
    notes = []
    if named := re.match(rb"sep=([!-~\t])\r?\n", text):  # Excel's own first line
        delimiter = delimiter or named.group(1).decode()
        text = b"\n" + text[named.end() :]  # the empty line keeps lines countable
    if not any(line.strip() for line in lines(text)):
        raise TableError(f"{name} is empty. Choose a file with a table in it.")
    _refuse_long_lines(text, name)
    if header is not None and header > 1:
        text = _without_lines(text, header - 1, name)
    if delimiter is None:
        delimiter = find_delimiter(text, known)
    if delimiter is None and one_column and not is_split_by_spaces(text):
        unused = (d for d in (",", *DELIMITERS, "\x1f") if d.encode() not in text)
        delimiter = next(unused)
    elif delimiter is None:
        text, delimiter = spaces_to_tabs(text, name)
        notes.append("The columns are separated by spaces.")
    elif delimiter != ",":
        character = DELIMITER_NAMES.get(delimiter, delimiter)
        notes.append(f"The columns are separated by {character}s.")
    text = mend_header(text, delimiter, name, known)
    if known and len(sample_records(text, delimiter)[0]) == 1:
        text = _with_blank_cells(text)
    if not text.endswith(b"\n"):
        text += b"\n"  # pyarrow finds no line without it
    columns = _parse(text, name, delimiter, one_column)
    if header is None:
        sample = sample_records(text, delimiter)
        header = n_known(sample[0], known) > 0
        # Columns that were made up, as no line named them.
        made_up = f"column_{len(columns)}" in known or "column_1" in known
        if not header and not made_up:
            header = looks_like_header(sample)
        if not header:
            notes.append(
                "The first line looks like data, so the columns are called column_1, "
                "column_2 and so on. Add a line of names above it to change that."
            )
    names = [f"column_{j + 1}" for j in range(len(columns))]
    if header:
        names = [column[0].as_py().removeprefix(TYPED) for column in columns]
        columns = [column[1:] for column in columns]
    if len(columns[0]) == 0:
        raise TableError(f"{name} names columns but has no rows. Add rows below them.")
    return Cells(names, columns, delimiter, bool(header), notes, text)


def _with_blank_cells(text: bytes) -> bytes:
    """Return a text of one column whose blank lines, below the first, are cells."""
    start = len(text) - len(text.lstrip())
    blank = re.compile(rb'"[^"]*"|^(?=\r?\n)', re.M)  # none within quotation marks
    return text[:start] + blank.sub(lambda m: m.group() or b'""', text[start:])


def _without_lines(text: bytes, n_lines: int, name: str) -> bytes:
    """Return a text with its first lines empty, so that the others keep their number.

    Raises TableError if nothing is left.
    """
    ends = islice(re.finditer(rb"\r\n|\r|\n", text), n_lines - 1, n_lines)
    rest = b"".join(text[end.end() :] for end in ends)
    if not rest.strip():
        raise TableError(
            f"{name} has no row below line {n_lines:,}. Choose a smaller number for "
            "the line that names the columns."
        )
    return b"\n" * n_lines + rest


def _refuse_long_lines(text: bytes, name: str) -> None:
    """Raise TableError for a text with a line that is far longer than any row."""
    for start in range(0, len(text) - MOST_LINE, MOST_LINE):
        end = start + MOST_LINE
        if text.find(b"\n", start, end) < 0 and text.find(b"\r", start, end) < 0:
            raise TableError(
                f"{name} has a line of more than {MOST_LINE // 2**20} MiB. A table has "
                "a line for each row."
            )


def _parse(text: bytes, name: str, delimiter: str, one_column: bool) -> list[pa.Array]:
    """Return the columns of all records, the first included, as trimmed text."""
    sample = sample_records(text, delimiter)
    n_columns = len(sample[0])
    if {len(row) for row in sample} == {1} and not one_column:
        raise one_column_error(name, sample[0][0])
    check_extent(0, n_columns, name)
    if text.count(b'"') % 2:
        refuse_open_quote(text, name, delimiter)
    pieces: list[list[pa.Array]] = [[] for _ in range(n_columns)]
    n_rows = -1  # the first is mostly the header
    try:
        for batch in _batches(text, delimiter, n_columns):
            n_rows += batch.num_rows
            check_extent(n_rows, n_columns, name)
            if batch.num_columns != n_columns:
                refuse_ragged_rows(text, name, delimiter)
                raise TableError(
                    f"{name} has rows with different numbers of fields. Save it again "
                    "with every field in quotation marks."
                )
            for column, cells in zip(pieces, batch.columns):
                column.append(pc.utf8_trim_whitespace(cells))
    except pa.ArrowInvalid as error:
        refuse_ragged_rows(text, name, delimiter)
        raise TableError(f"{name} cannot be read as a table: {error}") from error
    columns = []
    for column in pieces:
        columns.append(pa.concat_arrays(column))
        column.clear()
    return columns


def _batches(text: bytes, delimiter: str, n_columns: int) -> Iterator[pa.RecordBatch]:
    """Yield some rows at a time, all columns as text."""
    yield from pyarrow.csv.open_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(
            autogenerate_column_names=True, block_size=MOST_RECORD
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={f"f{j}": pa.string() for j in range(n_columns)},
            strings_can_be_null=False,
        ),
    )
