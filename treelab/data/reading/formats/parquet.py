"""Read Parquet: the columns of a file, and what their cells mean by their types."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pandas.api.types import pandas_dtype
from pyarrow import types

from treelab.data.reading.delimited import Cells
from treelab.data.reading.extent import check_bytes, check_extent
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import (
    ColumnReading,
    Said,
    date_note,
    infinite_note,
    long_note,
    read_column,
    unreadable,
)
from treelab.trees.cells import CATEGORY, DAYS, HOURS, CellForm, check_held, value_text
from treelab.trees.dates import ISO
from treelab.trees.frames import plain_column
from treelab.trees.words import counted

BATCH_CELLS = 2**20
# What pandas would make floats or objects of, where cells are missing.
_INTEGERS = [f"{kind}{8 * size}" for kind in ("Int", "UInt") for size in (1, 2, 4, 8)]
_NULLABLE = {pa.from_numpy_dtype(n.lower()): pandas_dtype(n) for n in _INTEGERS}
_NULLABLE[pa.bool_()] = pd.BooleanDtype()


def read_parquet(content: bytes, name: str) -> Cells:
    """Return the columns of a Parquet file, of whatever types they are."""
    try:
        return _read_columns(content, name)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise TableError(
            f"{name} is a damaged Parquet file. Download or write it again."
        ) from error


def _categoricals(schema: pa.Schema) -> list[str]:
    """Return the columns that pandas wrote as categories, be they numbers or not."""
    columns = (schema.pandas_metadata or {}).get("columns", [])
    found = [c for c in columns if c["pandas_type"] == "categorical"]
    return [str(c.get("field_name", c["name"])).strip() for c in found]


def _read_columns(content: bytes, name: str) -> Cells:
    """Return the columns of numbers and text; note the others."""
    file = pyarrow.parquet.ParquetFile(pa.BufferReader(content))
    check_extent(file.metadata.num_rows, file.metadata.num_columns, name)
    if file.metadata.num_rows == 0:
        raise TableError(f"{name} has no rows. Choose a file with rows in it.")
    notes: list[str] = []
    fields, leaves, leaf = [], [], 0
    for field in file.schema_arrow:
        if _is_read(field.type):
            fields.append(field)
            leaves.append(leaf)
        else:
            notes.append(
                f"Column {field.name!r} is left out: it holds {field.type} values, "
                "which are neither numbers nor text."
            )
        leaf += _n_leaves(field.type)
    if not fields:
        raise TableError(f"{name} has no columns of numbers or text.")
    texts = [field.name for field in fields if _is_text(field.type)]
    # A word that stands in each row is stored once, and so it must be read.
    file = pyarrow.parquet.ParquetFile(
        pa.BufferReader(content), read_dictionary=texts, pre_buffer=False
    )
    _check_unpacked(file.metadata, leaves, name)
    batches = file.reader.iter_batches(
        max(1, BATCH_CELLS // max(1, len(leaves))),
        row_groups=range(file.metadata.num_row_groups),
        column_indices=leaves,
    )
    pieces: list[list[pa.Array]] = [[] for _ in leaves]
    n_rows = n_bytes = 0
    for batch in batches:
        n_rows += batch.num_rows
        check_extent(n_rows, len(leaves), name)
        for column, values in zip(pieces, batch.columns):
            n_bytes += _text_bytes(values)
            check_bytes(n_bytes, name)
            column.append(_plain(values))
    return Cells(
        [field.name.strip() for field in fields],
        [pa.chunked_array(column) for column in pieces],
        notes=notes,
        place="row",
        categories=_categoricals(file.schema_arrow),
        is_typed=True,
    )


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Type of a column's values, behind a dictionary of them."""
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, behind a dictionary or not."""
    kind = _value_type(kind)
    return types.is_string(kind) or types.is_large_string(kind)


def _is_read(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, dates, durations, text, or true and false."""
    kind = _value_type(kind)
    checks = (
        *(types.is_boolean, types.is_null, types.is_integer, types.is_floating),
        *(types.is_decimal, types.is_date, types.is_timestamp),
        *(types.is_duration, types.is_time),
    )
    return _is_text(kind) or any(check(kind) for check in checks)


def _n_leaves(kind: pa.DataType) -> int:
    """Columns of the file that hold one column of the table."""
    kind = getattr(kind, "storage_type", kind)
    if kind.num_fields == 0:
        return 1
    return sum(_n_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _check_unpacked(metadata, leaves: list[int], name: str) -> None:
    """Refuse a file whose columns, unpacked, are larger than any table's numbers."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    for leaf in leaves:
        sizes = [group.column(leaf).total_uncompressed_size for group in groups]
        check_bytes(max(0, sum(sizes) - 16 * metadata.num_rows), name)


def _text_bytes(values: pa.Array) -> int:
    """Count the bytes of all texts, each as often as it stands there."""
    if not _is_text(values.type):
        return 0
    if types.is_dictionary(values.type):
        lengths = pc.binary_length(values.dictionary).take(values.indices)
        return pc.sum(lengths.cast(pa.int64())).as_py() or 0
    return pc.sum(pc.binary_length(values).cast(pa.int64())).as_py() or 0


def _plain(values: pa.Array) -> pa.Array:
    """Return values without a dictionary."""
    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def read_typed(
    column: pa.ChunkedArray,
    name: str,
    cells: Cells,
    said: Said,
    as_in: CellForm | None = None,
) -> ColumnReading:
    """Read a column of the table that some cells make, and keep these as they came.

    Text is a category, of which only an empty cell has no value, unless all of it are
    dates or times; but as in ``text_column.read_column`` all is read by the form that
    training found.
    """
    kind = column.type
    notes: list[str] = []
    if types.is_date(kind) or types.is_timestamp(kind):
        column = _within_calendar(column, name, notes)
    held = column.to_pandas(types_mapper=_NULLABLE.get if column.null_count else None)
    held = held.rename(name)
    as_text = said.as_text if as_in is None else as_in.kind == "category"
    text: pa.ChunkedArray | None = None
    if _is_text(kind):
        text = column
    elif types.is_boolean(kind):
        if column.null_count:  # true, false and missing
            text = pc.if_else(column, "True", "False")
    elif _is_long(column):  # a float would take some for others
        text = column.cast(pa.string())
        notes += [] if as_in is not None else [long_note(name)]
    # Which category a number is depends on those that training rows held.
    elif as_text and (as_in is None or types.is_temporal(kind)):
        texts = held.map(value_text, na_action="ignore")
        text = pa.chunked_array([pa.array(texts, pa.string(), from_pandas=True)])
    if text is None:
        reading = _read_values(column, held, cells, said, as_in)
    else:
        trimmed = pc.utf8_trim_whitespace(text.cast(pa.string())).combine_chunks()
        if as_text or not _is_text(kind):
            said = replace(said, keep_usual=True, as_text=True)
        said = replace(said, is_typed=True)
        reading = read_column(trimmed, name, cells, said, as_in)
    reading.notes[:0] = notes
    reading.written = held
    return reading


def _is_long(column: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers that float64 does not tell apart."""
    kind = column.type
    if not (types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0)):
        return False
    ends = pc.min_max(column).as_py().values()
    return max((abs(end) for end in ends if end is not None), default=0) > 2**53


def _read_values(
    column: pa.ChunkedArray,
    held: pd.Series,
    cells: Cells,
    said: Said,
    as_in: CellForm | None,
) -> ColumnReading:
    """Read numbers, and what is one by a measure; true and false stay what they are."""
    kind, name = column.type, str(held.name)
    own, notes = CellForm(), []
    if types.is_boolean(kind):
        own = replace(CATEGORY, missing=("",))
    elif types.is_date(kind) or types.is_timestamp(kind):
        own = CellForm("date", date=ISO)
        notes.append(date_note(name))
    elif types.is_temporal(kind):
        own = CellForm(unit=DAYS if types.is_duration(kind) else HOURS)
        became = "hours since midnight" if own.unit == HOURS else own.unit
        notes.append(f"Column {name!r} holds {kind} values, which became {became}.")
    elif name in cells.hours:
        own = CellForm(unit=HOURS)
    form = as_in or replace(own, missing=(*own.missing, *said.missing))
    if as_in is not None and held.notna().any():
        try:
            check_held(name, held.dtype, own, form)
        except ValueError as error:
            return unreadable(held, form, str(error))
    if types.is_boolean(kind):
        return ColumnReading(held, form)
    if types.is_temporal(kind):
        values = plain_column(held).astype("float64")
    elif types.is_integer(kind) and not column.null_count:
        values = column.cast(pa.int64()).to_pandas()
    else:
        values = column.cast(pa.float64(), safe=False).to_pandas()
    infinite = np.isinf(values.to_numpy())
    if infinite.any():
        value = held[infinite].iloc[0]
        notes.append(infinite_note(name, value, infinite, cells))
        values = values.mask(infinite)
    marked = values.isin(form.missing_numbers)
    missing = Counter(held[marked].map(value_text))
    if missing:
        values = values.astype("float64").mask(marked)
    if as_in is None:
        form = replace(form, held=tuple(missing))
    return ColumnReading(values.rename(name), form, missing, notes)


def _within_calendar(
    column: pa.ChunkedArray, name: str, notes: list[str]
) -> pa.ChunkedArray:
    """Return dates; those that no calendar has, as a database's infinity, are empty."""
    year = column.to_numpy().astype("datetime64[Y]")
    first, last = np.datetime64("0001"), np.datetime64("9999")
    beyond = ~np.isnat(year) & ((year < first) | (year > last))
    if not beyond.any():
        return column
    notes.append(
        f"Column {name!r} holds a date beyond the years 1 to 9999 in row "
        f"{int(np.argmax(beyond)) + 1:,}; {counted(int(beyond.sum()), 'such cell')} "
        f"{'counts' if beyond.sum() == 1 else 'count'} as missing."
    )
    return pc.if_else(pa.array(beyond), pa.scalar(None, column.type), column)
