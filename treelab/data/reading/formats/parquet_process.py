"""Write an Arrow, Stata, SPSS or SAS file as Parquet; runs in a process of its own."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from treelab.data.reading.extent import check_extent
from treelab.data.reading.formats.guarded import serve
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import value_text

TITLES = {
    "arrow": "an Arrow or Feather file",
    "stata": "a Stata file",
    "spss": "an SPSS file",
    "sas": "a SAS file",
    "xport": "a SAS transport file",
}


def as_parquet(
    content: bytes, name: str, kind: str, kinds: dict[str, str]
) -> tuple[dict, bytes]:
    """Return a file's table as Parquet.

    Parameters
    ----------
    content : bytes
    name : str
        The file, in messages.
    kind : str
        "arrow", "stata", "spss", "sas" or "xport".
    kinds : dict
        "number", "date" or "category": what columns were at training, as far as known.
    """
    try:
        if kind == "arrow":
            table = _read_arrow(content, name)
        else:
            table = _read_statistics(content, name, kind, kinds)
    except (TableError, MemoryError):
        raise
    except Exception as error:  # the libraries raise many kinds for damaged files
        words = str(error)
        if "malloc" in words or "memory" in words.lower():
            raise MemoryError from error
        raise TableError(
            f"{name} is {TITLES[kind]} that is damaged or cut off ({words[:100]}). "
            "Download or write it again."
        ) from error
    written = io.BytesIO()
    pyarrow.parquet.write_table(table, written, compression="none")
    return {}, written.getvalue()


def _read_arrow(content: bytes, name: str) -> pa.Table:
    """Read the batches of an Arrow file, or an old Feather file."""
    if content[:4] == b"FEA1":
        from pyarrow import feather

        table = feather.read_table(pa.BufferReader(content))
    else:
        table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
    check_extent(table.num_rows, table.num_columns, name)
    return table


def _read_statistics(
    content: bytes, name: str, kind: str, kinds: dict[str, str]
) -> pa.Table:
    """Read a file of a statistics program; codes become their labels.

    So they do where all have one, or where training rows held categories: there what a
    code is does not depend on the other rows.
    """
    import pandas as pd
    import pyreadstat

    readers: dict[str, Any] = {
        "stata": pyreadstat.read_dta,
        "spss": pyreadstat.read_sav,
        "sas": pyreadstat.read_sas7bdat,
        "xport": pyreadstat.read_xport,
    }
    read = readers[kind]
    _, about = read(io.BytesIO(content), metadataonly=True)
    check_extent(about.number_rows or 0, about.number_columns, name)
    frame, about = read(io.BytesIO(content), dates_as_pandas_datetime=True)
    for column, labels in about.variable_value_labels.items():
        values = frame[column].dropna()
        all_have = len(labels) > 0 and values.isin(list(labels)).all()
        if kinds.get(column, "category" if all_have else "number") == "category":
            texts = {value: value_text(value) for value in values.unique()}
            frame[column] = frame[column].map(texts | labels)
    for column in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        texts = frame[column].map(lambda cell: None if pd.isna(cell) else str(cell))
        frame[column] = texts.replace("", None)
    return pa.Table.from_pandas(frame, preserve_index=False)


if __name__ == "__main__":
    serve(as_parquet)
