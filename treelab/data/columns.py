"""What the columns of a table are: their kinds, their values, what is odd in them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

LARGEST_NUMBER = 1e150  # squares of larger numbers leave float64


def column_kind(column: pd.Series) -> str:
    """Return "number" for a column of a numeric type, else "category".

    True and false are categories, and so are text and pandas' own categories.
    """
    numeric = is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)
    return "number" if numeric else "category"


def as_frame(X, feature_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table as a frame whose columns have text names.

    Parameters
    ----------
    X : DataFrame, or array-like of shape (n_rows, n_columns)
        Columns of an array are called x0, x1 and so on. Columns of objects that are
        all numbers become numbers.
    feature_names : sequence of str, optional
        Names that the columns must have. A frame is put into their order; an array
        must have as many columns and takes the names.

    Returns
    -------
    DataFrame
        A new frame; values are not copied where pandas can avoid it.

    Raises
    ------
    ValueError
        If a column of ``feature_names`` is absent, if the number of columns differs,
        or if two columns have one name.
    """
    if isinstance(X, pd.DataFrame):
        frame = X.copy(deep=False)
        frame.columns = [str(name) for name in X.columns]
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise ValueError(
                f"Two columns are called {twice[0]!r}; give each its own name."
            )
        if feature_names is not None:
            absent = [name for name in feature_names if name not in frame.columns]
            if absent:
                raise ValueError(
                    f"The table has no column {absent[0]!r}; it has "
                    f"{_listed(frame.columns)}."
                )
            frame = frame[list(feature_names)]
    else:
        values = np.asarray(X)
        if values.ndim != 2:
            raise ValueError(
                "A table needs rows and columns, (n_rows, n_columns), but the array "
                f"has shape {values.shape}."
            )
        if feature_names is None:
            feature_names = [f"x{i}" for i in range(values.shape[1])]
        elif len(feature_names) != values.shape[1]:
            raise ValueError(
                f"The array has {values.shape[1]} columns, but {len(feature_names)} "
                "were learned."
            )
        frame = pd.DataFrame(values, columns=list(feature_names))
    objects = [name for name in frame.columns if frame[name].dtype == object]
    if objects:
        frame = frame.assign(**{name: frame[name].infer_objects() for name in objects})
    return frame


def numbers(column: pd.Series) -> np.ndarray:
    """Return a number column as float64 (n_rows,), missing values as NaN.

    Raises
    ------
    ValueError
        If a value is infinite or larger than 1e150; names the column and the row.
    """
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        bad = np.abs(values) > LARGEST_NUMBER
    if bad.any():
        row = int(np.argmax(bad))
        what = "an infinite value" if np.isinf(values[row]) else f"{values[row]:g}"
        raise ValueError(
            f"Column {column.name!r} holds {what} in row {row}. Give a number up to "
            f"{LARGEST_NUMBER:g}, or leave the cell empty."
        )
    return values


def categories(column: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the levels of a category column and which one each row has.

    Parameters
    ----------
    column : Series of shape (n_rows,)
        Any values; a level is the text of a value.

    Returns
    -------
    codes : ndarray of shape (n_rows,), int64
        Index of the row's level, -1 where the value is missing.
    levels : tuple of str
        The texts that occur, sorted.
    """
    codes, values = pd.factorize(column)
    if len(values) == 0:
        return codes.astype(np.int64), ()
    texts = np.array([str(value) for value in values], dtype=object)
    levels, level_of_value = np.unique(texts, return_inverse=True)
    return np.where(codes < 0, -1, level_of_value[codes]), tuple(levels)


def _listed(names: Sequence[str], most: int = 8) -> str:
    """Name a few columns in a sentence, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown
