"""Refusals of tables and targets that no learner can use, by column and row."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array, column_or_1d

from treelab.data.columns import column_kind
from treelab.trees.frames import as_pandas, plain_column


def check_table(X):
    """Return a table of features, a pandas frame or an array with at least one row.

    Raises
    ------
    TypeError
        For a sparse matrix.
    ValueError
        If there is no row or no column.
    """
    if issparse(X):
        raise TypeError("Sparse data was passed for X, but dense data is required.")
    X = as_pandas(X)
    if not isinstance(X, pd.DataFrame):
        X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=1)
    if len(X) == 0:
        raise ValueError("X has 0 sample(s), but at least 1 row is required.")
    if X.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 "
            "is required."
        )
    return X


def in_fitted_order(X, names: Sequence[str] | None, columns: Sequence[str]):
    """Return a table with its columns in the order in which they were fitted.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_rows, n_columns)
    names : sequence of str or None
        ``feature_names_in_``, None where the table that was fitted had no names.
    columns : sequence of str
        What its columns are called, x0, x1, ... those of an array.

    Returns
    -------
    DataFrame or ndarray
        The table itself where it is an array or has other columns. Where an array was
        fitted, columns of other names are taken in their order, as scikit-learn does.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    own = [str(name) for name in X.columns]
    if len(own) != len(columns):
        return X
    if set(own) == set(columns):
        return X if own == list(columns) else X.iloc[:, [*map(own.index, columns)]]
    was_array = names is None and list(columns) == [f"x{i}" for i in range(len(own))]
    return X.set_axis([*columns], axis=1) if was_array else X


def check_finite(column: pd.Series) -> None:
    """Raise ValueError that names the column and row of an infinite value."""
    if column_kind(column) != "number":
        return
    infinite = np.isinf(column.to_numpy(dtype=float, na_value=np.nan))
    if infinite.any():
        raise ValueError(
            f"Column {column.name!r} contains infinity, first in row "
            f"{int(np.argmax(infinite))}. Give a number or leave the cell empty."
        )


def check_target(y, n_rows: int, name: str) -> np.ndarray:
    """Return a target as an array (n_rows,) without missing values.

    Raises
    ------
    ValueError
        If it has another length than the table or a missing value; ``name`` is what
        the message calls it.
    """
    y = column_or_1d(y, warn=True)
    if isinstance(y, pd.Series):
        y = y.to_numpy()
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has "
            f"{n_rows} rows, {name} has {len(y)}."
        )
    missing = pd.isna(y)
    if missing.any():
        raise ValueError(
            f"{name} contains NaN, first in row {int(np.argmax(missing))}; drop the "
            "rows whose target is missing."
        )
    return np.asarray(y)


def check_numeric_target(y, n_rows: int, name: str) -> np.ndarray:
    """Return a target of numbers, float64 (n_rows,); dates are as in ``plain_column``.

    Raises
    ------
    ValueError
        As ``check_target``, and if a value is no number or not finite.
    """
    y = check_target(y, n_rows, name)
    try:
        y = plain_column(pd.Series(y)).to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers for regression.") from error
    if not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise ValueError(f"{name} contains NaN or infinity, first in row {row}.")
    return y


def label_text(label) -> str:
    """Write a label as Python would, not as numpy does."""
    return repr(label.item() if isinstance(label, np.generic) else label)
