"""Errors on the rows of a delimited text: which line does not fit, and what to do."""

import csv
from collections import Counter

from treelab.data.reading.records import lines, records
from treelab.data.reading.table_error import TableError
from treelab.trees.words import counted

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
