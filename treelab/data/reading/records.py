"""The lines and records of a delimited text, by Python's own csv reader.

Texts are UTF-8 bytes here: as ``str`` one emoji makes each letter four bytes, and a
list of all lines takes many times what they hold. So lines are decoded as they are
read.
"""

import csv
import io
import re
from collections.abc import Iterator

from treelab.trees.cells import TYPED

SAMPLE_LINES = 200
SAMPLE_BYTES = 2**18
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
