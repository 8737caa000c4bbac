"""Read JSON lines: a text with a record, {"name": value, ...}, on each line."""

import json

from treelab.data.reading.delimited import Cells, lines
from treelab.data.reading.formats.text_columns import TextColumns, typed_text
from treelab.data.reading.table_error import TableError
from treelab.trees.words import listed


def read_json_lines(text: bytes, name: str) -> Cells:
    """Read the records of a text (UTF-8) as rows.

    Raises TableError if a line is no record, which it names, or there is no column.
    """
    columns = TextColumns(name)
    nested: set[str] = set()
    for number, line in enumerate(lines(text), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _no_record(name, number) from error
        if not isinstance(record, dict):
            raise _no_record(name, number)
        row = {}
        for key, value in record.items():
            if isinstance(value, (dict, list)):
                nested.add(key)
            else:
                row[key] = typed_text(value)
        columns.add(row)
    cells = columns.cells("record")
    if nested:
        kept = [j for j, key in enumerate(cells.names) if key not in nested]
        cells.notes.append(
            f"{listed(sorted(nested))} {'is' if len(nested) == 1 else 'are'} left out: "
            "records or lists in a column are no numbers and no text."
        )
        cells.names[:] = [cells.names[j] for j in kept]
        cells.columns[:] = [cells.columns[j] for j in kept]
    if not cells.names:
        raise TableError(
            f"{name} holds records or lists alone, no column of numbers or text. Write "
            "a record of numbers and text a line (in pandas, "
            "to_json(..., orient='records', lines=True)), and try again."
        )
    return cells


def _no_record(name: str, number: int) -> TableError:
    """Return the error for a line that holds no record."""
    return TableError(
        f"{name}: line {number:,} is no JSON record. JSON lines hold one whole record, "
        '{"name": value, ...}, on each line.'
    )
