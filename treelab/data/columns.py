"""The columns of a table: their kinds, what is odd in them, and their values."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from treelab.trees.cells import (
    CATEGORY,
    LARGEST_NUMBER,
    CellForm,
    counted_row,
    factorized,
    note_forms,
    noted_forms,
    read_column,
    value_text,
)
from treelab.trees.date_parts import YEARS
from treelab.trees.frames import form_of_moments, named_frame, plain_frame
from treelab.trees.words import listed

TASKS = ("binary", "multiclass", "regression")

MOST_CODES = 10  # whole numbers with more distinct values are amounts, not codes
ROWS_A_CODE = 10  # and so are those with fewer rows a value than this
FEWEST_IDS = 20  # in fewer rows all values may well differ by chance
ID_SHARE = 0.9  # text of which a larger share is distinct names rows, not kinds


def column_kind(column: pd.Series) -> str:
    """Return "number" for a column of a numeric type, else "category".

    True and false are categories, and so are text and pandas' own categories.
    """
    numeric = is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)
    return "number" if numeric else "category"


def as_frame(
    X,
    feature_names: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return a table as a new frame whose columns have text names.

    ``X`` is a frame of pandas or of any library that narwhals knows, or an array, whose
    columns are called x0, x1 and so on. Dates and whatever else can be measured become
    numbers, see ``plain_column``. A frame is put into the order of ``feature_names``;
    an array must have as many columns and takes the names. ``kinds`` are what columns
    were when they were fitted: dates of a category stay dates, which it has as text.

    ValueError if a column of ``feature_names`` is absent, if the number of columns
    differs, if two columns have one name, or a cell holds a container or stands out
    from its column of dates.
    """
    frame = named_frame(X, feature_names).copy(deep=False)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(
            f"Two columns are called {twice[0]!r}; give each its own name."
        )
    if feature_names is not None:
        known = set(frame.columns)
        absent = [name for name in feature_names if name not in known]
        if absent:
            raise ValueError(
                f"The table has no column {absent[0]!r}; it has "
                f"{listed(list(frame.columns))}."
            )
        frame = frame[list(feature_names)]
    plain = plain_frame(frame, kinds)
    if plain is not frame:
        found = {str(n): form_of_moments(column) for n, column in frame.items()}
        forms = {name: form for name, form in found.items() if form is not None}
        if forms:  # so that a file's dates are read as such
            note_forms(plain, noted_forms(frame) | forms)
    return plain


def infer_task(target: pd.Series) -> str:
    """Return the task that a target most likely means.

    Text, true and false, and columns of two distinct values are classes: "binary" up
    to two of them, "multiclass" above. Numbers are "regression", unless they look like
    codes of classes: whole, at most 10 distinct ones that start at -1, 0 or 1 and
    leave out at most one in three, with 10 rows a code on average. So digits 0 to 9
    are classes, and 28 different counts of rings on a shell, or ratings from 3 to 9,
    are numbers.
    """
    known = target.dropna()
    values = known.unique()
    if len(values) <= 2:
        return "binary"
    if column_kind(target) == "category":
        return "multiclass"
    values = np.sort(np.asarray(values, dtype=np.float64))
    whole = bool((values == np.round(values)).all())
    few = len(values) <= MOST_CODES and len(known) >= ROWS_A_CODE * len(values)
    starts_low = values[0] in (-1, 0, 1)
    span = values[-1] - values[0] + 1
    dense = len(values) >= span * 2 / 3
    return "multiclass" if whole and few and starts_low and dense else "regression"


def column_note(column: pd.Series) -> str:
    """Return why a column cannot help to predict, or "" where it may.

    "looks like an id": text of which more than nine in ten values differ. "looks like
    a row number": whole numbers without a gap, each once, unless they may be years, as
    those of a yearly series are. Both need 20 rows.
    """
    known = column.dropna()
    if len(known) == 0:
        return "all missing"
    complete = len(known) == len(column)
    if column_kind(column) == "category":
        n_unique = known.nunique()
        if n_unique == 1 and complete:
            return "constant"
        many = len(known) >= FEWEST_IDS and n_unique > ID_SHARE * len(known)
        return "looks like an id" if many else ""
    # Distinct numbers are not counted: of millions, that takes many times their memory.
    values = known.to_numpy(dtype=np.float64)
    low, high = values.min(), values.max()
    if low == high and complete:
        return "constant"
    could_count = low == np.round(low) and high - low == len(known) - 1
    could_count &= not (YEARS[0] <= low and high <= YEARS[1])
    if not (could_count and complete and len(known) >= FEWEST_IDS):
        return ""
    in_order = np.diff(np.sort(values))
    return "looks like a row number" if (in_order == 1).all() else ""


def useful_columns(frame: pd.DataFrame, target: str) -> tuple[str, ...]:
    """Return the columns to predict from by default: all that may help, no target."""
    return tuple(
        str(name)
        for position, name in enumerate(frame.columns)
        if str(name) != target and not column_note(frame.iloc[:, position])
    )


# The values of one column: as numbers, as categories, as labels of classes.


def numbers(column: pd.Series) -> np.ndarray:
    """Return a number column as float64 (n_rows,), missing values as NaN.

    Raises ValueError if a value is infinite or larger than 1e150; names the column and
    the row.
    """
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if bad := too_large(values):
        raise ValueError(f"Column {column.name!r} {bad}")
    return values


def too_large(values: np.ndarray, most: float = LARGEST_NUMBER) -> str:
    """Return which numbers a column must not hold, and where; "" if it holds none."""
    bad = np.abs(values) > most
    if not bad.any():
        return ""
    row = int(np.argmax(bad))
    what = "an infinite value" if np.isinf(values[row]) else f"{values[row]:g}"
    more = int(bad.sum()) - 1
    others = f" and {more:,} more" if more else ""
    return (
        f"holds {what} in {counted_row(row)}{others}. Give a number up to "
        f"{LARGEST_NUMBER:g}, or leave the cell empty."
    )


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


def cast_column(
    column: pd.Series, kind: str, form: CellForm | None = None
) -> pd.Series:
    """Return a column as the kind that a person chose, itself where it is that.

    A number becomes the text of it, 3.0 being "3". Text becomes the number it shows and
    is missing where it shows none; true and false become 1 and 0. ``form`` is how the
    cells of text are written, plainly by default.
    """
    if kind not in ("number", "category"):
        raise ValueError(f'kind must be "number" or "category", got {kind!r}.')
    if column_kind(column) == kind:
        return column
    if kind == "number":
        if is_bool_dtype(column.dtype):
            return column.astype("Float64").astype(np.float64)
        # As later tables are read.
        return read_column(column, form or CATEGORY, "number")
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
