"""The delimiter of a text: which character separates its columns."""

import io
from collections import Counter
from collections.abc import Collection

from treelab.data.reading.records import (
    NUMBER,
    SAMPLE_LINES,
    chunks,
    lines,
    sample_records,
)
from treelab.data.reading.row_errors import one_column_error

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
        for chunk in chunks(text):
            rows = io.StringIO(chunk, newline="")
            tabbed += "".join("\t".join(row.split()) + "\n" for row in rows).encode()
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
