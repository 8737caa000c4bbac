"""From the text of a delimited file to columns of cells, all still text."""

import io
import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv

from treelab.data.reading.delimiter import (
    find_delimiter,
    is_split_by_spaces,
    spaces_to_tabs,
)
from treelab.data.reading.header import looks_like_header, mend_header
from treelab.data.reading.records import records, sample_records
from treelab.data.reading.row_errors import (
    DELIMITER_NAMES,
    one_column_error,
    refuse_open_quote,
    refuse_ragged_rows,
)
from treelab.data.reading.table_error import TableError


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
        for number, (line, _) in enumerate(records(self.text, self.delimiter)):
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
    """Split the text of a file into cells.

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
    if delimiter is None and one_column and not is_split_by_spaces(text):
        delimiter = ","  # which the text does not hold
    elif delimiter is None:
        text, delimiter = spaces_to_tabs(text, name)
        notes.append("The columns are separated by spaces.")
    elif delimiter != ",":
        character = DELIMITER_NAMES.get(delimiter, delimiter)
        notes.append(f"The columns are separated by {character}s.")
    text = mend_header(text, delimiter)
    columns = _parse(text, name, delimiter, one_column)
    if header is None:
        header = looks_like_header(sample_records(text, delimiter))
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


def _parse(text: str, name: str, delimiter: str, one_column: bool) -> list[pa.Array]:
    """Return the columns of all records, the first included, as trimmed text."""
    ragged = []
    content = text.encode("utf-8", errors="replace") + b"\n"
    sample = sample_records(text, delimiter)
    n_columns = len(sample[0])
    if {len(row) for row in sample} == {1} and not one_column:
        raise one_column_error(name, sample[0][0])
    if text.count('"') % 2:
        refuse_open_quote(text, name, delimiter)

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
        refuse_ragged_rows(text, name, delimiter)
        raise TableError(f"{name} cannot be read as a table: {error}") from error
    if ragged or table.num_columns != n_columns:
        refuse_ragged_rows(text, name, delimiter)
        raise TableError(
            f"{name} has rows with different numbers of fields. Save it again with "
            "every field in quotation marks."
        )
    trim = pa.compute.utf8_trim_whitespace
    return [trim(column.combine_chunks()) for column in table.columns]
