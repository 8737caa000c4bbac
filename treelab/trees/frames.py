"""Tables of any library as plain pandas frames: numbers, categories, true and false.

A date is a number, and so are a time, a duration and an exact decimal: a split may say
``<=`` of each. Only what is none of them is a category.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real

import narwhals as nw
import narwhals.selectors as ncs
import numpy as np
import pandas as pd
from pandas.api import types

from treelab.trees.cells import DAYS, HOURS, CellForm
from treelab.trees.dates import ISO, decimal_years

# What the cells of a column of objects are called, the first that fits: a timedelta64
# counts as an integer for numpy, and true and false do for Python.
_KINDS: dict[str, tuple[type, ...]] = {
    "true or false": (bool, np.bool_),
    "text": (str, bytes),
    "date": (date, np.datetime64, pd.Period),
    "duration": (timedelta, np.timedelta64, pd.offsets.Tick, pd.offsets.Day),
    "time of day": (time,),
    "number": (Real, Decimal),
    # A month, as the difference of two periods has it, is no fixed duration.
    "no single value": (Collection, pd.offsets.BaseOffset),
}
_DAY = np.timedelta64(1, "D")
_MEASURES = {"date", "duration", "time of day"}  # these do not mix with others


def as_pandas(X):
    """Return a table of any library that narwhals knows as a pandas frame.

    What is no table with names stays as it is; masked cells of an array become NaN.
    TypeError if the table is lazy: its rows have no order yet.
    """
    if isinstance(X, np.ma.MaskedArray):  # numpy would take what lies below the mask
        return (pd.DataFrame if X.ndim == 2 else pd.Series)(X).to_numpy()
    if isinstance(X, pd.DataFrame | np.ndarray):
        return X
    table = nw.from_native(X, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        raise TypeError(
            "The table is lazy, so that its rows have no order yet. Collect it first, "
            "as by X.collect()."
        )
    if isinstance(table, nw.DataFrame):
        wide = ncs.by_dtype(nw.Int128, nw.UInt128)  # pandas has no such integers
        return table.with_columns(wide.cast(nw.Float64)).to_pandas()
    if hasattr(X, "__arrow_c_stream__") and hasattr(X, "schema"):  # record batches
        return pd.DataFrame.from_arrow(X)
    return X


def named_frame(
    X, names: Sequence[str] | None = None, *, has_more: bool = False
) -> pd.DataFrame:
    """Return any table as a pandas frame whose columns have text names.

    ``X`` is what ``as_pandas`` takes, or an array, whose columns have these ``names``;
    None: they are called x0, x1 and so on. ``has_more``: they may be so where the
    names are some of these.

    TypeError if the array is sparse, ValueError if it has no rows and columns, or
    another number of columns.
    """
    X = as_pandas(X)
    if isinstance(X, pd.DataFrame):
        if X.columns.inferred_type == "string":
            return X
        return X.set_axis([str(name) for name in X.columns], axis=1)
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix. Give its numbers as X.toarray().")
    X = as_array(X)
    if X.ndim != 2:
        raise ValueError(
            "A table needs rows and columns, (n_rows, n_columns), but the array has "
            f"shape {X.shape}. Reshape one row with X.reshape(1, -1)."
        )
    places = [f"x{i}" for i in range(X.shape[1])]
    if names is not None and len(names) == len(places):
        return pd.DataFrame(X, columns=list(names))
    if names is not None and not (has_more and set(names) <= set(places)):
        raise ValueError(
            f"X has {X.shape[1]} columns without names, but {len(names)} were fitted. "
            "Pass a data frame with named columns."
        )
    return pd.DataFrame(X, columns=places)


def as_array(X) -> np.ndarray:
    """Return a table without names as an array, in which numbers stay numbers.

    Of lists that hold numbers beside text, numpy would make text alone.
    """
    values = np.asarray(X)
    is_mixed = values.dtype.kind in "US" and not hasattr(X, "dtype")
    return np.asarray(X, dtype=object) if is_mixed else values


def plain_frame(
    frame: pd.DataFrame, kinds: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return a frame in which whatever can be measured is a number.

    ``kinds`` are the columns that matter, and how each will be read: a category is only
    checked, and stays as it is written. None: all become plain. The frame itself where
    all is plain; see ``plain_column``.
    """
    dtypes = frame.dtypes.to_numpy()
    odd = {id(t) for t in {id(t): t for t in dtypes}.values() if not _is_plain(t)}
    if not odd:
        return frame
    plain = frame.copy(deep=False)
    for place in [i for i, dtype in enumerate(dtypes) if id(dtype) in odd]:
        kind = "number" if kinds is None else kinds.get(str(frame.columns[place]))
        if kind is not None:
            column = plain_column(frame.iloc[:, place])
            if kind == "number":
                plain.isetitem(place, column.array)
    return plain


def plain_column(column: pd.Series) -> pd.Series:
    """Return a column as numbers where that is what it holds, else as it is.

    Dates become years with decimals, as in files (see ``decimal_years``), a period the
    date on which it starts; durations become days, times of day hours since midnight,
    and exact decimals float64. Objects become what all of them are.

    ValueError if a cell holds a list or another container, or dates, durations or times
    stand beside other things; it names the column, the row and what it holds.
    """
    try:
        column = column.infer_objects()  # objects that are all numbers, text or moments
    except UnicodeEncodeError as error:
        raise ValueError(
            f"Column {column.name!r} holds text that no file can hold, "
            f"{error.object!a}: half of a character (a lone surrogate). Replace "
            "it, as by text.encode(errors='replace').decode()."
        ) from error
    dtype = column.dtype
    if _is_plain(dtype):
        return column
    if isinstance(dtype, pd.PeriodDtype):
        return decimal_years(column.dt.start_time)
    if types.is_datetime64_any_dtype(dtype) and not isinstance(dtype, pd.ArrowDtype):
        return decimal_years(column)
    if types.is_timedelta64_dtype(dtype):
        days = column.to_numpy() / _DAY
        return pd.Series(days, index=column.index, name=column.name)
    known = column.notna().to_numpy()
    cells = column.astype(object).to_numpy()[known]
    kind = _kind_of_cells(column, cells, np.flatnonzero(known))
    if kind not in _TO_NUMBERS:
        return column
    numbers = np.full(len(column), np.nan)
    numbers[known] = _TO_NUMBERS[kind](cells)
    return pd.Series(numbers, index=column.index, name=column.name)


def form_of_moments(column: pd.Series) -> CellForm | None:
    """Return the form of a column of dates, periods, durations or times; else None."""
    if _is_plain(column.dtype):
        return None
    dates, durations = CellForm("date", date=ISO), CellForm(unit=DAYS)
    if column.dtype.kind in "Mm":
        return dates if column.dtype.kind == "M" else durations
    known = column.dropna() if column.dtype.kind == "O" else column[:0]
    first = None if known.empty else known.iloc[0]
    if isinstance(first, _KINDS["duration"]):
        return durations
    if isinstance(first, _KINDS["time of day"]):
        return CellForm(unit=HOURS)
    return dates if isinstance(first, _KINDS["date"]) else None


def _is_plain(dtype) -> bool:
    """Whether a column of this type is a number, a category, text, true or false."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iufcbUS"
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return True
    return types.is_numeric_dtype(dtype) or types.is_bool_dtype(dtype)


def _kind_of_cells(column: pd.Series, cells: np.ndarray, rows: np.ndarray) -> str:
    """Return what all of these cells are, "" where they differ and may; else refuse."""
    found = {type(cell): "" for cell in cells}
    for cell_type in found:
        fits = (kind for kind, of in _KINDS.items() if issubclass(cell_type, of))
        found[cell_type] = next(fits, cell_type.__name__)
    kinds = set(found.values())
    if "no single value" in kinds:
        place, cell = _first(cells, rows, found, {"no single value"})
        raise ValueError(
            f"Column {column.name!r} holds a {type(cell).__name__} in row {place}, "
            f"counted from 0: {_short(cell)}. Give each cell one number, text or date; "
            "make columns of what a cell holds together."
        )
    if len(kinds) > 1 and kinds & _MEASURES:
        place, cell = _first(cells, rows, found, kinds - {found[type(cells[0])]})
        raise ValueError(
            f"Column {column.name!r} mixes kinds of values: row {place}, counted from "
            f"0, holds the {found[type(cell)]} {_short(cell)}, row {rows[0]} the "
            f"{found[type(cells[0])]} {_short(cells[0])}. Give a column one kind."
        )
    return kinds.pop() if len(kinds) == 1 else ""


def _first(cells, rows, found: dict[type, str], kinds: set[str]) -> tuple[int, object]:
    """Return the row and the value of the first cell that is one of these kinds."""
    return next(
        (int(row), cell) for row, cell in zip(rows, cells) if found[type(cell)] in kinds
    )


def _short(cell) -> str:
    """Write a value, of a long one the beginning."""
    text = str(cell) if isinstance(cell, date) else repr(cell)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _years(cells: np.ndarray) -> np.ndarray:
    """Dates, with times or without, of any library, as years with decimals."""
    moments = [c.start_time if isinstance(c, pd.Period) else c for c in cells]
    return decimal_years(pd.to_datetime(pd.Series(moments), utc=True)).to_numpy()


def _days(cells: np.ndarray) -> np.ndarray:
    """Durations in days."""
    return pd.to_timedelta(pd.Series(cells)).to_numpy() / _DAY


def _hours(cells: np.ndarray) -> np.ndarray:
    """Times of day in hours since midnight."""
    since = [timedelta(0, t.second, t.microsecond, 0, t.minute, t.hour) for t in cells]
    return np.array(since, dtype=object) / timedelta(hours=1)


def _floats(cells: np.ndarray) -> np.ndarray:
    """Numbers of any kind as float64; a whole number that is too large is infinite."""
    try:
        return cells.astype(np.float64)
    except OverflowError:
        return np.array([_float(cell) for cell in cells])


def _float(cell) -> float:
    """One number as float64."""
    try:
        return float(cell)
    except OverflowError:
        return np.copysign(np.inf, 1 if cell > 0 else -1)


_TO_NUMBERS = {
    "number": _floats,
    "date": _years,
    "duration": _days,
    "time of day": _hours,
}
