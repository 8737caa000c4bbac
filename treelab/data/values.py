"""The values of one column: as numbers, as categories, as labels of classes."""

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from treelab.data.columns import column_kind
from treelab.trees.cells import (
    CATEGORY,
    LARGEST_NUMBER,
    factorized,
    read_column,
    value_text,
)


def numbers(column: pd.Series) -> np.ndarray:
    """Return a number column as float64 (n_rows,), missing values as NaN.

    Raises ValueError if a value is infinite or larger than 1e150; names the column and
    the row.
    """
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.abs(values) > LARGEST_NUMBER
    if bad.any():
        row = int(np.argmax(bad))
        what = "an infinite value" if np.isinf(values[row]) else f"{values[row]:g}"
        raise ValueError(
            f"Column {column.name!r} holds {what}, first in row {row}, counted from 0. "
            f"Give a number up to {LARGEST_NUMBER:g}, or leave the cell empty."
        )
    return values


def categories(column: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the level of each row of a category column, and what the levels are.

    The first are int64 (n_rows,), -1 where the value is missing; the others the texts
    of values that occur, sorted.
    """
    codes, values = factorized(column)
    if len(values) == 0:
        return codes.astype(np.int64), ()
    held = values.categories if isinstance(values, pd.CategoricalIndex) else values
    # Among objects 1 and 1.0 are one value, and which of them comes first is chance.
    text_of = str if is_numeric_dtype(held.dtype) else value_text
    texts = np.array([text_of(value) for value in values], dtype=object)
    levels, level_of_value = np.unique(texts, return_inverse=True)
    return np.where(codes < 0, -1, level_of_value[codes]), tuple(levels)


def cast_column(column: pd.Series, kind: str) -> pd.Series:
    """Return a column as the kind that a person chose, itself where it is that.

    A number becomes the text of it, 3.0 being "3". Text becomes the number it shows and
    is missing where it shows none; true and false become 1 and 0.
    """
    if kind not in ("number", "category"):
        raise ValueError(f'kind must be "number" or "category", got {kind!r}.')
    if column_kind(column) == kind:
        return column
    if kind == "number":
        if is_bool_dtype(column.dtype):
            return column.astype("Float64").astype(np.float64)
        return read_column(column, CATEGORY, "number")  # as later tables are read
    texts = {value: value_text(value) for value in column.dropna().unique()}
    return column.map(texts).astype("str")


def class_labels(target: pd.Series) -> pd.Series:
    """Return a target without missing values as labels of classes.

    Whole numbers are int64 (also when stored as 1.0) or, from 2**63 on, uint64, true
    and false bool, and everything else its text: scikit-learn takes other numbers for
    no classes.
    """
    target = target.infer_objects()
    if is_bool_dtype(target.dtype):
        return target.astype(bool)
    if column_kind(target) == "category":
        codes, levels = categories(target)
        labels = np.array(levels, dtype=object)[codes] if len(levels) else codes
        return pd.Series(labels, index=target.index, name=target.name, dtype="str")
    if is_integer_dtype(target.dtype):  # exact, however many digits they have
        return target.astype(np.uint64 if (target >= 2**63).any() else np.int64)
    values = target.astype(np.float64)
    if (values == np.round(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values.map(value_text).astype("str")  # half stars, say
