"""From the text of a delimited file to columns of cells, all still text."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from treelab.data.reading.extent import check_extent
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import MISSING, MISSING_NUMBER, TYPED, CellForm, read_words
from treelab.trees.words import counted

# Lines and records, by Python's own csv reader. Texts are UTF-8 bytes here: as ``str``
# one emoji makes each letter four bytes, and a list of all lines takes many times what
# they hold. So lines are decoded as they are read.


SAMPLE_LINES = 200
SAMPLE_BYTES = 2**18
MOST_TITLES = 50  # records above a table
NUMBER = re.compile(r"[+-]?[.,\d]*\d[.,\d]*([eE][+-]?\d+)?$")  # in any country
MOST_RECORD = 2**24  # letters of one record


def lines(text: bytes) -> Iterator[str]:
    """Yield the lines of a text, with what ends them."""
    yield from io.TextIOWrapper(io.BytesIO(text), "utf-8", "replace", newline="")


def records(text: bytes, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record that is not empty ends, and its fields.

    Raises csv.Error if a field has more than 128 KiB or a record more than 16 MiB, as
    where a quotation mark is never closed.
    """
    n_letters = 0  # of the record that is being read

    def counted() -> Iterator[str]:
        nonlocal n_letters
        for line in lines(text):
            n_letters += len(line)
            if n_letters > MOST_RECORD:
                raise csv.Error("record larger than record limit")
            yield line

    reader = csv.reader(counted(), delimiter=delimiter)
    for record in reader:
        n_letters = 0
        if record:
            yield reader.line_num, record


def sample_records(text: bytes, delimiter: str) -> list[list[str]]:
    """Return the first records that are not empty, without marks of numbers."""
    head = text[:SAMPLE_BYTES]
    rows = []
    try:
        for _, record in records(head, delimiter):
            rows.append([cell.removeprefix(TYPED) for cell in record])
            if len(rows) > SAMPLE_LINES:
                break
    except csv.Error:  # a field of more than 128 KiB: a quote that is not closed
        pass
    if len(head) < len(text) and len(rows) > 1 and len(rows) <= SAMPLE_LINES:
        rows.pop()  # incomplete
    return rows or [[""]]


# Errors on the rows of a delimited text: which line does not fit, and what to do.


DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}


def refuse_ragged_rows(text: bytes, name: str, delimiter: str) -> None:
    """Raise TableError that names the first line with an odd number of fields."""
    try:
        widths = Counter(len(row) for _, row in records(text, delimiter))
    except csv.Error as error:
        raise TableError(
            f"{name} has a quotation mark that is opened and never closed. Close it, "
            "or save the table again with every field in quotation marks."
        ) from error
    if len(widths) < 2:
        return
    expected, n_expected = widths.most_common(1)[0]
    n_odd = widths.total() - n_expected
    before = 0  # the line on which the record above ends
    for line, row in records(text, delimiter):
        width = len(row)
        if width != expected:
            break
        before = line
    is_first, start = before == 0, before + 1 if before else line
    fields = counted(width, "field")
    character = DELIMITER_NAMES.get(delimiter, delimiter)
    others = f" In all, {counted(n_odd, 'line')} differ." if n_odd > 1 else ""
    if line - start > 1:
        raise TableError(
            f"{name}: the row that begins on line {start:,} runs on to line {line:,} "
            f"and has {fields} where {expected:,} were expected. Is a quotation mark "
            "opened there and not closed?"
        )
    if is_first and width < expected:
        advice = "Delete lines above the one that names the columns."
    elif width > expected:
        advice = f"Put a field that holds a {character} into quotation marks."
    else:
        advice = (
            f"Fill in the missing fields; an empty one still needs its {character}."
        )
    raise TableError(
        f"{name}: line {line:,} has {fields} where {expected:,} were expected."
        f"{others} {advice}"
    )


def refuse_open_quote(text: bytes, name: str, delimiter: str) -> None:
    """Raise TableError if the file ends inside quotation marks."""
    reader = csv.reader(lines(text), delimiter=delimiter, strict=True)
    line = 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error) or "field larger" in str(error):
            raise TableError(
                f"{name}: a quotation mark that is opened on line {line:,} or soon "
                "after is never closed. Close it, or double it where it is meant as "
                "a sign."
            ) from error


def one_column_error(name: str, first: str) -> TableError:
    """Return the error for a file with a single column."""
    return TableError(
        f"{name} has one column only, {first.strip()[:60]!r}. A table needs one column "
        "to predict and at least one to predict from. If it has more, separate them by "
        "commas."
    )


# The delimiter of a text: which character separates its columns.


DELIMITERS = ("\t", ";", "|", ",")  # in this order where a file fits several


def find_delimiter(text: bytes, known: Collection[str] = ()) -> str | None:
    """Return the character that splits the first lines evenly, or None.

    Where columns are ``known``, it is the one that splits the first line into most of
    their names.
    """
    found = {d: n_known(sample_records(text, d)[0], known) for d in DELIMITERS}
    most = [d for d in DELIMITERS if found[d] == max(found.values())]
    if len(most) == 1:
        return most[0]
    if found[most[0]] and all(len(sample_records(text, d)[0]) == 1 for d in most):
        return None  # the first line is a known name: commas below it are decimals
    shares: dict[str, float] = {}
    for delimiter in DELIMITERS:
        widths = [len(row) for row in sample_records(text, delimiter)]
        width, n = Counter(widths).most_common(1)[0]
        shares[delimiter] = n / len(widths) if width > 1 else 0.0
    even = [delimiter for delimiter in DELIMITERS if shares[delimiter] > 0.98]
    best = even[0] if even else max(DELIMITERS, key=shares.__getitem__)
    return best if shares[best] > 0 else None


def n_known(cells: list[str], known: Collection[str]) -> int:
    """Count the cells that are names of known columns."""
    return len({cell.strip() for cell in cells}.intersection(known))


def spaces_to_tabs(text: bytes, name: str) -> tuple[bytes, str]:
    """Return a text whose columns are separated by spaces with tabs instead.

    Raises TableError if there are no such columns: the file has one column only.
    """
    if is_split_by_spaces(text):
        tabbed = bytearray()
        for row in lines(text):
            tabbed += "\t".join(row.split()).encode() + b"\n"
        return bytes(tabbed), "\t"
    raise one_column_error(name, next(line for line in lines(text) if line.strip()))


def is_split_by_spaces(text: bytes) -> bool:
    """Whether spaces split every line into equally many fields, mostly numbers."""
    width = n_sampled = n_numeric = 0
    for number, line in enumerate(lines(text)):
        cells = line.split()
        width = width or len(cells)
        if cells and (len(cells) != width or width < 2):
            return False
        if 0 < number <= SAMPLE_LINES:
            n_sampled += len(cells)
            n_numeric += sum(bool(NUMBER.match(cell)) for cell in cells)
    return n_sampled > 0 and n_numeric >= n_sampled / 2


# The header of a delimited text: whether its first line names the columns.


_MARKS = {mark.lower() for mark in (*MISSING, *MISSING_NUMBER)}


def looks_like_header(sample: list[list[str]]) -> bool:
    """Whether the first of some rows names the columns.

    It does not where columns of numbers have a number in it, unless these count up by
    one as positions or years do, or are 0, 1, ... above decimals alone, or are whole
    beside a word; nor where most of its words are found again below.
    """
    first = [cell.strip() for cell in sample[0]]
    below = [
        [cell.strip() for cell in row] for row in sample[1:] if len(row) == len(first)
    ]
    if not below:
        return not any(NUMBER.match(cell) for cell in first)
    columns = list(zip(*below))
    again = [name != "" and name in column for name, column in zip(first, columns)]
    heads = [
        (name, is_again)
        for name, column, is_again in zip(first, columns, again)
        if _mostly_numbers(column)
    ]
    numbers = [head for head in heads if NUMBER.match(head[0])]
    if any(_is_word(name) and not is_again for name, is_again in heads):
        new = {name for name, is_again in numbers if name.isdecimal() and not is_again}
        return len(new) == len(numbers)
    if numbers:
        places = [name for name, _ in numbers]
        above = [own for own, name in zip(columns, first) if NUMBER.match(name)]
        is_whole = any(cell.isdecimal() for column in above for cell in column)
        if places == [*map(str, range(len(places)))] and not (is_whole or any(again)):
            return True
        from_start = _counts_up(places) and (
            int(places[0]) <= 1 or 1800 <= int(places[0]) <= 2200
        )
        return from_start and not any(_counts_up(row) for row in below)
    return bool(heads) or sum(again) <= len(first) / 2


def _lines_above(text: bytes, delimiter: str, known: Collection[str]) -> int:
    """Count the lines above a table that hold a title in the first of its columns.

    So a spreadsheet writes them: with as many fields as the table, the others empty.
    """
    n_lines, has_title = 0, False
    for line, record in islice(records(text[:SAMPLE_BYTES], delimiter), MOST_TITLES):
        cells = [cell.removeprefix(TYPED).strip() for cell in record]
        if len(cells) < 3:
            break
        if any(cells[1:]) or n_known(cells, known):
            is_table = 2 * sum(map(bool, cells)) >= len(cells) and len(set(cells)) > 1
            return n_lines if has_title and is_table else 0
        n_lines, has_title = line, has_title or bool(cells[0])
    return 0


def _is_word(cell: str) -> bool:
    """Whether a cell may name a column of numbers, and marks no missing one."""
    return cell[:1].isalpha() and cell.lower() not in _MARKS


def mend_header(
    text: bytes, delimiter: str, name: str, known: Mapping[str, CellForm]
) -> bytes:
    """Name one column more where every row has exactly one field more.

    So R writes row names (before the first column), and so look lines that end in a
    delimiter (after the last).

    Raises TableError if the columns are known, so that few rows may come, and it may be
    either.
    """
    sample = sample_records(text, delimiter)
    names, rows = [each.strip() for each in sample[0]], sample[1:]
    if len(names) < 2 or {len(row) for row in rows} != {len(names) + 1}:
        return text  # a single field may well be a title
    place = 0
    while text[place : place + 1] in (b"\r", b"\n"):
        place += 1
    if all(row[-1].strip() == "" for row in rows):
        if known and _may_name_rows([row[0].strip() for row in rows]):
            after, before = (_fits(rows, names, known, first) for first in (0, 1))
            if after and before:
                raise TableError(
                    f"{name} names {len(names)} columns, but each row has one field "
                    "more, and the last is empty: the first may be the name of the "
                    "row, or the line may end in a delimiter. Name each column in the "
                    "first line."
                )
        else:
            before = False
        if not before:
            end = re.compile(rb"\r?\n").search(text, place)
            place = end.start() if end else len(text)
    return text[:place] + delimiter.encode() + text[place:]


def _may_name_rows(cells: list[str]) -> bool:
    """Whether cells may name rows as R does: distinct, no numbers with decimals."""
    numbers = [cell for cell in cells if NUMBER.match(cell)]
    is_one_each = "" not in cells and len(set(cells)) == len(cells)
    return is_one_each and all(map(str.isdigit, numbers))


def _fits(
    rows: list[list[str]], names: list[str], known: Mapping[str, CellForm], first: int
) -> bool:
    """Whether cells, from a first field on, are written as the columns' forms say."""
    for name, *cells in zip(names, *(row[first:] for row in rows)):
        form = known.get(name)
        if form is not None and form.kind != "category":
            words = pa.array([cell.strip() for cell in cells], pa.string())
            if read_words(words, form)[2].any():
                return False
    return True


def _mostly_numbers(cells: tuple[str, ...]) -> bool:
    """Whether more than 80% of the cells that are not empty are numbers."""
    filled = [cell for cell in cells if cell]
    return sum(bool(NUMBER.match(cell)) for cell in filled) > 0.8 * len(filled)


def _counts_up(cells: list[str]) -> bool:
    """Whether cells are whole numbers one after another, as positions or years."""
    if len(cells) < 3 or not all(re.fullmatch(r"\d{1,9}", cell) for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


# The cells of a delimited text, by column.


MOST_LINE = 2**22  # bytes


@dataclass(frozen=True)
class Cells:
    """The cells of a file, by column."""

    names: list[str]  # the columns, as the header has them; made up where there is none
    # The cells of each column, without the header: text; in a file with types, any.
    columns: list
    delimiter: str = ","
    has_header: bool = False
    notes: list[str] = field(default_factory=list)
    # What was parsed, as UTF-8, for finding lines again; empty if a row's line is its
    # number.
    text: bytes = b""
    place: str = "line"  # what messages call a line
    encoding: str = ""  # of a delimited text
    categories: Collection[str] = ()  # columns of which the file says so
    hours: Collection[str] = ()  # columns of times, which are numbers of hours
    missing: tuple[str, ...] = ()  # marks of no value that the format itself has
    is_typed: bool = False  # whether text and numbers differ by their types

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
    """Split the text of a file (UTF-8) into cells.

    ``delimiter`` is one character, ``header`` the line that names the columns, from 1,
    or 0 if none does; None finds it. ``one_column``: whether a single column will do.
    ``known`` are columns of another table that this one is read as: a line that names
    some of them is the header.

    TableError if there is no row, one column only, a row with more or fewer fields than
    the others, or a quotation mark that is never closed.
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
    if header is None and (n_above := _lines_above(text, delimiter, known)):
        text = _without_lines(text, n_above, name)
        notes.append(
            f"The table begins in line {n_above + 1:,}; what stands above it, titles "
            "in the first column, is left out."
        )
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
        made_up = any(form.width for form in known.values())
        if not header and not made_up:
            header = looks_like_header(sample)
            numbers = [cell for cell in sample[0] if NUMBER.match(cell.strip())]
            if header and numbers and not _counts_up(numbers):
                notes.append(
                    "The first line is taken for the names of columns, although it "
                    f"holds numbers, such as {numbers[0]}. If it is a row, add a line "
                    "of names above it (--header 0 on the command line)."
                )
        if not header:
            notes.append(
                "The first line looks like data, so the columns are called column_1, "
                "column_2 and so on. Add a line of names above it, or where it holds "
                "them, say so (--header 1 on the command line)."
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
        # Within quotation marks as without: how a program ends lines is no word's part.
        columns.append(pc.replace_substring(pa.concat_arrays(column), "\r\n", "\n"))
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
