"""The delimiter of a text: which character separates its columns."""

from collections import Counter

from treelab.data.reading.records import NUMBER, SAMPLE_LINES, sample_records
from treelab.data.reading.row_errors import one_column_error

DELIMITERS = ("\t", ";", "|", ",")  # in this order where a file fits several


def find_delimiter(text: str) -> str | None:
    """Return the character that splits the first lines evenly, or None."""
    shares: dict[str, float] = {}
    for delimiter in DELIMITERS:
        widths = [len(row) for row in sample_records(text, delimiter)]
        width, n = Counter(widths).most_common(1)[0]
        shares[delimiter] = n / len(widths) if width > 1 else 0.0
    even = [delimiter for delimiter in DELIMITERS if shares[delimiter] > 0.98]
    best = even[0] if even else max(DELIMITERS, key=shares.__getitem__)
    return best if shares[best] > 0 else None


def spaces_to_tabs(text: str, name: str) -> tuple[str, str]:
    """Return a text whose columns are separated by spaces with tabs instead.

    Raises
    ------
    TableError
        If there are no such columns: the file has one column only.
    """
    if is_split_by_spaces(text):
        return "\n".join("\t".join(line.split()) for line in text.splitlines()), "\t"
    raise one_column_error(
        name, next(line for line in text.splitlines() if line.strip())
    )


def is_split_by_spaces(text: str) -> bool:
    """Whether spaces split every line into equally many fields, mostly numbers."""
    lines = [line.split() for line in text.splitlines()]
    widths = {len(line) for line in lines if line}
    cells = [cell for line in lines[1 : SAMPLE_LINES + 1] for cell in line]
    numeric = sum(bool(NUMBER.match(cell)) for cell in cells)
    even = len(widths) == 1 and max(widths) > 1
    return even and bool(cells) and numeric >= len(cells) / 2
