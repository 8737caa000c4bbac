"""The header of a delimited text: whether its first line names the columns."""

import re
from collections.abc import Mapping

import pyarrow as pa

from treelab.data.reading.records import NUMBER, sample_records
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import CellForm, read_words


def looks_like_header(sample: list[list[str]]) -> bool:
    """Whether the first of some rows names the columns.

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


def mend_header(
    text: bytes, delimiter: str, name: str, known: Mapping[str, CellForm]
) -> bytes:
    """Name one column more where every row has exactly one field more.

    So R writes row names (before the first column), and so look lines that end in a
    delimiter (after the last). Raises TableError if the columns are known, so that few
    rows may come, and it may be either.
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
