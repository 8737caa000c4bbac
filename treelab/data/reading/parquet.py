"""Read the columns of a Parquet file."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from treelab.data.reading.column_names import unique_names
from treelab.data.reading.extent import check_extent
from treelab.data.reading.table_error import TableError
from treelab.data.reading.text_column import ColumnReading, decimal_years


def read_parquet(content: bytes, name: str) -> tuple[list[ColumnReading], list[str]]:
    """Read the columns of a Parquet file."""
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        check_extent(file.metadata.num_rows, file.metadata.num_columns, name)
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{name} is a damaged Parquet file. Download or write it again."
        ) from error
    if table.num_rows == 0 or table.num_columns == 0:
        raise TableError(f"{name} has no rows. Choose a file with rows in it.")
    notes: list[str] = []
    names = unique_names(
        [str(n).strip() for n in table.column_names], table.columns, notes
    )
    readings = []
    for column, column_name in zip(table.columns, names):
        if column_name and (reading := _parquet_column(column, column_name, notes)):
            readings.append(reading)
    if not readings:
        raise TableError(f"{name} has no columns of numbers or text.")
    return readings, notes


def _parquet_column(
    column: pa.ChunkedArray, name: str, notes: list[str]
) -> ColumnReading | None:
    """Read one column; None where it is left out."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    types = pa.types
    if types.is_boolean(kind):
        series = column.to_pandas()
        if series.dtype == object:  # true, false and missing
            series = series.map({True: "True", False: "False"}).astype("str")
        return ColumnReading(series.rename(name))
    if types.is_string(kind) or types.is_large_string(kind):
        return ColumnReading(column.to_pandas().astype("str").rename(name))
    if types.is_null(kind):
        return ColumnReading(pd.Series(np.full(len(column), np.nan), name=name))
    if types.is_date(kind) or types.is_timestamp(kind):
        times = pd.to_datetime(column.to_pandas(), utc=True).dt.tz_localize(None)
        notes.append(
            f"Column {name!r} holds dates, which became years with decimals: 2019.5 is "
            "the middle of 2019."
        )
        return ColumnReading(decimal_years(times.astype("datetime64[ns]")).rename(name))
    if types.is_integer(kind) and column.null_count == 0:
        return ColumnReading(
            column.cast(pa.int64(), safe=False).to_pandas().rename(name)
        )
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
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
    notes.append(
        f"Column {name!r} is left out: it holds {kind} values, which are neither "
        "numbers nor text."
    )
    return None
