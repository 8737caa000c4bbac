"""From the text of a delimited file to columns of cells, all still text."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from treelab.data.reading.table_error import TableError
from treelab.trees.text.numerals import counted

DELIMITERS = ("\t", ";", "|", ",")  # in this order where a file fits several
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SAMPLE_LINES = 200
SAMPLE_CHARACTERS = 2**18
NUMBER = re.compile(r"[+-]?[.,\d]*\d[.,\d]*([eE][+-]?\d+)?$")  # in any country


@dataclass(frozen=True)
class Cells:
    """The cells of a delimited file.

    Attributes
    ----------
    names : list of str
        The columns, as the header has them; made up where there is none.
    columns : list of pyarrow.Array of str
        The cells of each column, without the header.
    delimiter : str
    has_header : bool
    notes : list of str
    text : str
        What was parsed, for finding lines again.
    """

    names: list[str]
    columns: list[pa.Array]
    delimiter: str
    has_header: bool
    notes: list[str]
    text: str

    def line_of(self, row: int) -> int:
        """Return the line of the file, from 1, on which a row (from 0) ends."""
        wanted = row + self.has_header
        for number, (line, _) in enumerate(_records(self.text, self.delimiter)):
            if number == wanted:
                return line
        raise IndexError(f"There is no row {row}.")


def read_cells(
    text: str,
    name: str,
    delimiter: str | None = None,
    header: bool | None = None,
    *,
    one_column: bool = False,
) -> Cells:
    """Cut a file into cells.

    Parameters
    ----------
    text : str
    name : str
        The file, in messages.
    delimiter : str or None
        One character; None finds it.
    header : bool or None
        Whether the first line names the columns; None finds out.
    one_column : bool, default=False
        Whether a single column will do.

    Raises
    ------
    TableError
        If there is no row, one column only, a row with more or fewer fields than the
        others, or a quotation mark that is never closed.
    """
    notes = []
    if named := re.match(r"sep=(.)\r?\n", text):  # Excel's own first line
        delimiter = delimiter or named.group(1)
        text = "\n" + text[named.end() :]  # the empty line keeps lines countable
    if not text.strip():
        raise TableError(f"{name} is empty. Choose a file with a table in it.")
    if delimiter is None:
        delimiter = find_delimiter(text)
    if delimiter is None and one_column and not _parted_by_spaces(text):
        delimiter = ","  # which the text does not hold
    elif delimiter is None:
        text, delimiter = _spaces_to_tabs(text, name)
        notes.append("The columns are separated by spaces.")
    elif delimiter != ",":
        sign = DELIMITER_NAMES.get(delimiter, delimiter)
        notes.append(f"The columns are separated by {sign}s.")
    text = _mend_header(text, delimiter)
    columns = _parse(text, name, delimiter, one_column)
    if header is None:
        header = looks_like_header(_sample(text, delimiter))
        if not header:
            notes.append(
                "The first line looks like data, so the columns are called column_1, "
                "column_2 and so on. Add a line of names above it to change that."
            )
    names = [f"column_{j + 1}" for j in range(len(columns))]
    if header:
        names = [column[0].as_py() for column in columns]
        columns = [column[1:] for column in columns]
    if len(columns[0]) == 0:
        raise TableError(f"{name} names columns but has no rows. Add rows below them.")
    return Cells(names, columns, delimiter, header, notes, text)


def find_delimiter(text: str) -> str | None:
    """Return the sign that cuts the first lines into equally many fields, or None."""
    shares: dict[str, float] = {}
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _sample(text, delimiter)]
        width, n = Counter(widths).most_common(1)[0]
        shares[delimiter] = n / len(widths) if width > 1 else 0.0
    even = [delimiter for delimiter in DELIMITERS if shares[delimiter] > 0.98]
    best = even[0] if even else max(DELIMITERS, key=shares.__getitem__)
    return best if shares[best] > 0 else None


def looks_like_header(sample: list[list[str]]) -> bool:
    """Tell whether the first of some rows names the columns.

    It does not where columns of numbers have a number in it, unless these count up by
    one as positions or years do; nor where most of its words are found again below.
    """
    first = [cell.strip() for cell in sample[0]]
    below = [
        [cell.strip() for cell in row] for row in sample[1:] if len(row) == len(first)
    ]
    if not below:
        return not any(NUMBER.match(cell) for cell in first)
    columns = list(zip(*below))
    heads = [name for name, column in zip(first, columns) if _mostly_numbers(column)]
    if any(NUMBER.match(cell) for cell in heads):
        from_start = _counts_up(heads) and (
            int(heads[0]) <= 1 or 1800 <= int(heads[0]) <= 2200
        )
        return from_start and not any(_counts_up(row) for row in below)
    if heads:
        return True
    again = [name != "" and name in column for name, column in zip(first, columns)]
    return sum(again) <= len(first) / 2


def _mostly_numbers(cells: tuple[str, ...]) -> bool:
    """Tell whether more than 80% of the cells that are not empty are numbers."""
    filled = [cell for cell in cells if cell]
    return sum(bool(NUMBER.match(cell)) for cell in filled) > 0.8 * len(filled)


def _counts_up(cells: list[str]) -> bool:
    """Tell whether cells are whole numbers one after another, as positions or years."""
    if len(cells) < 3 or not all(re.fullmatch(r"\d{1,9}", cell) for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _sample(text: str, delimiter: str) -> list[list[str]]:
    """Return the first records that are not empty."""
    head = text[:SAMPLE_CHARACTERS]
    rows = []
    try:
        for _, record in _records(head, delimiter):
            rows.append(record)
            if len(rows) > SAMPLE_LINES:
                break
    except csv.Error:  # a field of more than 128 KiB: a quote that is not closed
        pass
    if len(head) < len(text) and len(rows) > 1 and len(rows) <= SAMPLE_LINES:
        rows.pop()  # cut short
    return rows or [[""]]


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record that is not empty ends, and its fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for record in reader:
        if record:
            yield reader.line_num, record


def _mend_header(text: str, delimiter: str) -> str:
    """Name one column more where every row has exactly one field more.

    So R writes row names (before the first column), and so look lines that end in a
    delimiter (after the last).
    """
    sample = _sample(text, delimiter)
    widths = {len(row) for row in sample[1:]}
    if len(sample[0]) < 2 or widths != {len(sample[0]) + 1}:
        return text  # a single field may well be a title
    start = len(text) - len(text.lstrip("\r\n"))
    if all(row[-1].strip() == "" for row in sample[1:]):
        end = start + len(re.split(r"\r?\n", text[start:], maxsplit=1)[0])
        return text[:end] + delimiter + text[end:]
    return text[:start] + delimiter + text[start:]


def _parse(text: str, name: str, delimiter: str, one_column: bool) -> list[pa.Array]:
    """Return the columns of all records, the first included, as trimmed text."""
    ragged = []
    content = text.encode("utf-8", errors="replace") + b"\n"
    sample = _sample(text, delimiter)
    n_columns = len(sample[0])
    if {len(row) for row in sample} == {1} and not one_column:
        raise _one_column(name, sample[0][0])
    if text.count('"') % 2:
        _refuse_open_quote(text, name, delimiter)

    def note_ragged(row) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(content),
            read_options=pyarrow.csv.ReadOptions(
                autogenerate_column_names=True, block_size=max(2**24, len(content) // 8)
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                invalid_row_handler=note_ragged,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={f"f{j}": pa.string() for j in range(n_columns)},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        _refuse_ragged(text, name, delimiter)
        raise TableError(f"{name} cannot be read as a table: {error}") from error
    if ragged or table.num_columns != n_columns:
        _refuse_ragged(text, name, delimiter)
        raise TableError(
            f"{name} has rows with different numbers of fields. Save it again with "
            "every field in quotation marks."
        )
    trim = pa.compute.utf8_trim_whitespace
    return [trim(column.combine_chunks()) for column in table.columns]


def _refuse_ragged(text: str, name: str, delimiter: str) -> None:
    """Raise TableError that names the first line with an odd number of fields."""
    try:
        widths = [(line, len(row)) for line, row in _records(text, delimiter)]
    except csv.Error as error:
        raise TableError(
            f"{name} has a quotation mark that is opened and never closed. Close it, "
            "or save the table again with every field in quotation marks."
        ) from error
    expected = Counter(width for _, width in widths).most_common(1)[0][0]
    odd = [(line, width) for line, width in widths if width != expected]
    if not odd:
        return
    line, width = odd[0]
    start = widths[widths.index(odd[0]) - 1][0] + 1 if odd[0] != widths[0] else line
    fields = counted(width, "field")
    sign = DELIMITER_NAMES.get(delimiter, delimiter)
    others = f" In all, {counted(len(odd), 'line')} differ." if odd[1:] else ""
    if line - start > 1:
        raise TableError(
            f"{name}: the row that begins on line {start:,} runs on to line {line:,} "
            f"and has {fields} where {expected:,} were expected. Is a quotation mark "
            "opened there and not closed?"
        )
    if line == widths[0][0] and width < expected:
        advice = "Delete lines above the one that names the columns."
    elif width > expected:
        advice = f"Put a field that holds a {sign} into quotation marks."
    else:
        advice = f"Fill in the missing fields; an empty one still needs its {sign}."
    raise TableError(
        f"{name}: line {line:,} has {fields} where {expected:,} were expected."
        f"{others} {advice}"
    )


def _spaces_to_tabs(text: str, name: str) -> tuple[str, str]:
    """Return a text whose columns are parted by spaces with tabs instead.

    Raises
    ------
    TableError
        If there are no such columns: the file has one column only.
    """
    if _parted_by_spaces(text):
        return "\n".join("\t".join(line.split()) for line in text.splitlines()), "\t"
    raise _one_column(name, next(line for line in text.splitlines() if line.strip()))


def _parted_by_spaces(text: str) -> bool:
    """Tell whether spaces part every line into equally many fields, mostly numbers."""
    lines = [line.split() for line in text.splitlines()]
    widths = {len(line) for line in lines if line}
    cells = [cell for line in lines[1 : SAMPLE_LINES + 1] for cell in line]
    numeric = sum(bool(NUMBER.match(cell)) for cell in cells)
    even = len(widths) == 1 and max(widths) > 1
    return even and bool(cells) and numeric >= len(cells) / 2


def _one_column(name: str, first: str) -> TableError:
    """Return the error for a file whose lines are not parted into fields."""
    return TableError(
        f"{name} has one column only, {first.strip()[:60]!r}. A table needs one column "
        "to predict and at least one to predict from. If it has more, separate them by "
        "commas."
    )


def _refuse_open_quote(text: str, name: str, delimiter: str) -> None:
    """Raise TableError if the file ends inside quotation marks."""
    records = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, strict=True
    )
    line = 1
    try:
        for _ in records:
            line = records.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error) or "field larger" in str(error):
            raise TableError(
                f"{name}: a quotation mark that is opened on line {line:,} or soon "
                "after is never closed. Close it, or double it where it is meant as "
                "a sign."
            ) from error
