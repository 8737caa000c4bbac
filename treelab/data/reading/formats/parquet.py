"""Read the columns of a Parquet file."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from pandas.api.types import pandas_dtype
from pyarrow import types

from treelab.data.reading.column_names import unique_names
from treelab.data.reading.extent import check_bytes, check_extent
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import ColumnReading, date_note, long_note
from treelab.trees.cells import DAYS, CellForm
from treelab.trees.dates import ISO, decimal_years
from treelab.trees.frames import plain_column
from treelab.trees.words import counted

BATCH_CELLS = 2**20
# What pandas would make floats or objects of, where cells are missing.
_INTEGERS = [f"{kind}{8 * size}" for kind in ("Int", "UInt") for size in (1, 2, 4, 8)]
_NULLABLE = {pa.from_numpy_dtype(n.lower()): pandas_dtype(n) for n in _INTEGERS}
_NULLABLE[pa.bool_()] = pd.BooleanDtype()


def read_parquet(content: bytes, name: str) -> tuple[list[ColumnReading], list[str]]:
    """Read the columns of a Parquet file."""
    notes: list[str] = []
    try:
        columns = _read_columns(content, name, notes)
    except (pa.ArrowException, OSError, MemoryError) as error:
        raise TableError(
            f"{name} is a damaged Parquet file. Download or write it again."
        ) from error
    names = unique_names([n for n, _ in columns], [c for _, c in columns], notes)
    readings = []
    for column_name in names:
        _, column = columns.pop(0)  # it is not needed any longer
        if column_name:
            readings.append(_parquet_column(column, column_name))
    if not readings:
        raise TableError(f"{name} has no columns of numbers or text.")
    return readings, notes


def categoricals(content: bytes) -> list[str]:
    """Return the columns that pandas wrote as categories, be they numbers or not."""
    about = pyarrow.parquet.read_schema(pa.BufferReader(content)).pandas_metadata or {}
    columns = about.get("columns", [])
    found = [c for c in columns if c["pandas_type"] == "categorical"]
    return [str(c.get("field_name", c["name"])).strip() for c in found]


def _read_columns(
    content: bytes, name: str, notes: list[str]
) -> list[tuple[str, pa.ChunkedArray]]:
    """Return the columns of numbers and text with their names; note the others."""
    file = pyarrow.parquet.ParquetFile(pa.BufferReader(content))
    check_extent(file.metadata.num_rows, file.metadata.num_columns, name)
    if file.metadata.num_rows == 0:
        raise TableError(f"{name} has no rows. Choose a file with rows in it.")
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
    return [
        (field.name.strip(), pa.chunked_array(column))
        for field, column in zip(fields, pieces)
    ]


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Type of a column's values, behind a dictionary of them."""
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
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


def _parquet_column(column: pa.ChunkedArray, name: str) -> ColumnReading:
    """Read one column, and keep its cells as they came."""
    notes: list[str] = []
    if types.is_date(column.type) or types.is_timestamp(column.type):
        column = _within_calendar(column, name, notes)
    held = column.to_pandas(types_mapper=_NULLABLE.get if column.null_count else None)
    return replace(
        _read_values(column, name, notes), notes=notes, written=held.rename(name)
    )


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


def _read_values(column: pa.ChunkedArray, name: str, notes: list[str]) -> ColumnReading:
    """Read one column as numbers, text, or true and false."""
    kind = column.type
    if types.is_boolean(kind):
        if column.null_count:  # true, false and missing
            column = pc.if_else(column, "True", "False")
        return ColumnReading(column.to_pandas().rename(name))
    if types.is_string(kind) or types.is_large_string(kind):
        return ColumnReading(column.to_pandas().astype("str").rename(name))
    if types.is_null(kind):
        return ColumnReading(pd.Series(np.full(len(column), np.nan), name=name))
    if types.is_date(kind) or types.is_timestamp(kind):
        times = pd.to_datetime(column.to_pandas(), utc=True).dt.tz_localize(None)
        notes.append(date_note(name))
        form = CellForm("date", date=ISO)
        return ColumnReading(decimal_years(times).rename(name), form=form)
    if types.is_duration(kind) or types.is_time(kind):
        cells = column.to_pandas().rename(name)
        unit = DAYS if types.is_duration(kind) else "hours since midnight"
        notes.append(f"Column {name!r} holds {kind} values, which became {unit}.")
        days = CellForm(unit=DAYS) if types.is_duration(kind) else None
        return ColumnReading(plain_column(cells), form=days)
    if types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0):
        ends = pc.min_max(column).as_py().values()
        if max((abs(end) for end in ends if end is not None), default=0) > 2**53:
            notes.append(long_note(name))  # a float would take some for others
            return ColumnReading(column.cast(pa.string()).to_pandas().rename(name))
    if types.is_integer(kind) and column.null_count == 0:
        return ColumnReading(
            column.cast(pa.int64(), safe=False).to_pandas().rename(name)
        )
    values = column.cast(pa.float64(), safe=False).to_numpy().copy()
    infinite = np.isinf(values)
    if infinite.any():
        notes.append(
            f"Column {name!r} holds an infinite value in row "
            f"{int(np.argmax(infinite)) + 1:,}; {infinite.sum():,} such "
            f"{'cell counts' if infinite.sum() == 1 else 'cells count'} as missing."
        )
        values[infinite] = np.nan
    return ColumnReading(pd.Series(values, name=name))
