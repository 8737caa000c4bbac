"""The records of a delimited text, by Python's own csv reader."""

import csv
import io
import re
from collections.abc import Iterator

SAMPLE_LINES = 200
SAMPLE_CHARACTERS = 2**18
NUMBER = re.compile(r"[+-]?[.,\d]*\d[.,\d]*([eE][+-]?\d+)?$")  # in any country


def records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record that is not empty ends, and its fields."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for record in reader:
        if record:
            yield reader.line_num, record


def sample_records(text: str, delimiter: str) -> list[list[str]]:
    """Return the first records that are not empty."""
    head = text[:SAMPLE_CHARACTERS]
    rows = []
    try:
        for _, record in records(head, delimiter):
            rows.append(record)
            if len(rows) > SAMPLE_LINES:
                break
    except csv.Error:  # a field of more than 128 KiB: a quote that is not closed
        pass
    if len(head) < len(text) and len(rows) > 1 and len(rows) <= SAMPLE_LINES:
        rows.pop()  # incomplete
    return rows or [[""]]
