"""What the tests of reading read from a table's text."""

import pytest

from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError


def frame_of(text, **choices):
    """The table in a text."""
    return read_table(text.encode(), "t.csv", **choices).frame


def notes_of(content, **choices):
    """The notes on a file, as one text."""
    content = content.encode() if isinstance(content, str) else content
    return "\n".join(read_table(content, "t.csv", **choices).notes)


def refusal(content, name="t.csv"):
    """The sentence that refuses a file."""
    content = content.encode() if isinstance(content, str) else content
    with pytest.raises(TableError) as caught:
        read_table(content, name)
    return str(caught.value)
