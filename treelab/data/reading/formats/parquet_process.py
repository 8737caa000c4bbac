"""Write an Arrow, Stata, SPSS or SAS file as Parquet; runs in a process of its own."""

import io
import re
from datetime import time
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
# Formats of dates that pyreadstat does not know, and of Stata's, which add how the date
# is shown: "%tdDD/NN/CCYY".
_SAS_DATES = ("MONYY", "WORDDATE", "WORDDATX", "JULIAN", "YYMON", "YYMM", "MMYY", "YYQ")
_SPSS_DATES = ("MOYR", "QYR", "WKYR")
_STATA_DATE = re.compile(r"%-?t?d")
_STATA_MOMENT = re.compile(r"%-?t[cC](?!HH:MM(:SS)?$)")
_STATA_MONTHS = {"%tm": 1, "%tq": 3, "%th": 6}  # that one step of a date has


def as_parquet(
    content: bytes, name: str, kind: str, kinds: dict[str, str]
) -> tuple[dict, bytes]:
    """Return a file's table as Parquet.

    ``kind`` is "arrow", "stata", "spss", "sas" or "xport"; ``kinds`` are "number",
    "date" or "category": what columns were at training, as far as known.
    """
    notes: list[str] = []
    hours: list[str] = []  # columns of times
    try:
        if kind == "arrow":
            table = _read_arrow(content, name)
        else:
            table = _read_statistics(content, name, kind, kinds, notes, hours)
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
    return {"notes": notes, "hours": hours}, written.getvalue()


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
    content: bytes,
    name: str,
    kind: str,
    kinds: dict[str, str],
    notes: list[str],
    hours: list[str],
) -> pa.Table:
    """Read a file of a statistics program; codes become their labels, times ``hours``.

    Codes that are numbers do where all have one, or where training rows held
    categories: there what a code is does not depend on the other rows.
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
    n_tables = len(re.findall(rb"HEADER RECORD\*{7}MEMB", content))
    if kind == "xport" and n_tables > 1:
        raise TableError(
            f"{name} holds {n_tables} data sets. Write the one to read as a file."
        )
    _, about = read(io.BytesIO(content), metadataonly=True)
    check_extent(about.number_rows or 0, about.number_columns, name)
    formats = {column: f or "" for column, f in about.original_variable_types.items()}
    days, moments = list(_SPSS_DATES if kind == "spss" else _SAS_DATES), []
    if kind == "stata":
        days = [f for f in formats.values() if _STATA_DATE.match(f)]
        moments = [f for f in formats.values() if _STATA_MOMENT.match(f)]
    # Days of moments, which pyreadstat takes for days.
    is_sas = kind in ("sas", "xport")
    seconds = [column for column, f in formats.items() if is_sas and f[:2] == "DT"]
    frame, about = read(
        io.BytesIO(content),
        usecols=[column for column in formats if column not in seconds],
        dates_as_pandas_datetime=True,
        extra_date_formats=days,
        extra_datetime_formats=moments,
    )
    if seconds:
        choices = {"usecols": seconds, "disable_datetime_conversion": True}
        raw = read(io.BytesIO(content), **choices)[0]
        frame[seconds] = raw[seconds].apply(_since_1960, args=("s",))
        frame = frame[list(formats)]
    for column, form in formats.items() if kind == "stata" else ():
        if form[:3] in _STATA_MONTHS:
            steps = frame[column] * _STATA_MONTHS[form[:3]]
            frame[column] = _since_1960(steps, "M")
        elif form[:3] == "%tw" and kinds.get(column) != "number":
            frame[column] = _first_days_of_weeks(frame[column])
        elif form[:3] == "%tb":
            notes.append(
                f"Column {column!r} holds business days, of which the file does not "
                "tell the dates: they are numbers of days."
            )
    for column, given in about.variable_value_labels.items():
        labels = {value: label for value, label in given.items() if label.strip()}
        values = frame[column].dropna()
        is_category = len(labels) > 0 and values.isin(list(labels)).all()
        is_category |= values.dtype == "str"
        if kinds.get(column, "category" if is_category else "number") == "category":
            texts = {value: value_text(value) for value in values.unique()}
            frame[column] = frame[column].map(texts | labels)
    for column in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        if isinstance(next(iter(frame[column].dropna()), None), time):
            # As times of day they would lose their days: 30:00 and 6:00 are two.
            choices = {"usecols": [column], "disable_datetime_conversion": True}
            cells = read(io.BytesIO(content), **choices)[0][column]
            frame[column] = cells / (3_600_000 if kind == "stata" else 3600)
            if kind == "stata" or formats[column].startswith("TOD"):
                frame[column] %= 24  # of moments, only the time is shown
            hours.append(column.strip())
            notes.append(f"Column {column!r} holds times, which became hours.")
            continue
        texts = frame[column].map(lambda cell: None if pd.isna(cell) else str(cell))
        frame[column] = texts.replace("", None)
    return pa.Table.from_pandas(frame, preserve_index=False)


def _since_1960(steps, unit: str):
    """Return dates (Series) so many steps of a unit after the year 1960 began."""
    import numpy as np
    import pandas as pd

    passed = steps.fillna(0).to_numpy().astype(np.int64).astype(f"timedelta64[{unit}]")
    dates = (np.datetime64("1960") + passed).astype("datetime64[s]")
    return pd.Series(dates, index=steps.index).where(steps.notna())


def _first_days_of_weeks(weeks):
    """Return the dates (Series) on which weeks since 1960 begin, in Stata's count.

    A year has 52, the first of which begins on the first of January.
    """
    import pandas as pd

    years = _since_1960(weeks // 52 * 12, "M")
    return years + pd.to_timedelta(weeks % 52 * 7, unit="D")


if __name__ == "__main__":
    serve(as_parquet)
