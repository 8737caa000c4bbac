"""Anchors: the shortest conditions on a row under which a model predicts as it does.

After Ribeiro, Singh and Guestrin, "Anchors: High-Precision Model-Agnostic
Explanations", AAAI 2018, section 4: conditions are added one by one, the most precise
first. Precision is counted on the rows of a table, not on rows drawn around the
explained one.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

PRECISION = 0.95  # of an anchor
_FEW_VALUES = 10  # numbers with no more of them are compared by value
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Anchor:
    """Conditions on some columns, true of the explained row.

    Attributes
    ----------
    columns : tuple of int
        Columns with a condition, in the order they were added.
    precision : float
        Share of the rows that meet all conditions on which the model predicts as it
        does for the explained row.
    coverage : float
        Share of all rows that meet them.
    """

    columns: tuple[int, ...]
    precision: float
    coverage: float


def interval_codes(X: pd.DataFrame) -> np.ndarray:
    """Return the value, or the quarter of its column's rows, of each cell as a code.

    Returns
    -------
    int array of shape (n_rows, n_columns)
        Equal codes in a column are one condition.
    """
    codes = []
    for name in X.columns:
        column = X[name]
        numeric = pd.api.types.is_numeric_dtype(column)
        if numeric and column.nunique() > _FEW_VALUES:
            edges = np.unique(column.quantile(_QUARTILES).to_numpy())
            own = np.searchsorted(edges, column.to_numpy())
            codes.append(np.where(column.isna(), -1, own))
        else:
            codes.append(pd.factorize(column)[0])
    return np.stack(codes, axis=1)


def find_anchor(codes: np.ndarray, predicted: np.ndarray, row: int) -> Anchor:
    """Add the condition that makes the prediction of a row surest, until it is sure.

    Parameters
    ----------
    codes : int array of shape (n_rows, n_columns)
        See ``interval_codes``.
    predicted : ndarray of shape (n_rows,)
        The model's prediction for each row.
    row : int
        The row to explain.
    """
    same = predicted == predicted[row]
    meets = np.ones(len(codes), dtype=bool)
    columns: list[int] = []
    while (precision := same[meets].mean()) < PRECISION and len(columns) < len(codes.T):
        # Of equally precise conditions the one that more rows meet.
        equal = (codes == codes[row]) & meets[:, None]
        count = equal.sum(0)
        sure = (equal & same[:, None]).sum(0) / count
        order = np.lexsort((-count, -sure))
        columns.append(int(order[~np.isin(order, columns)][0]))
        meets = equal[:, columns[-1]]
    return Anchor(tuple(columns), float(precision), float(meets.mean()))


def anchor_facts(
    X: pd.DataFrame, predicted: np.ndarray, rows: np.ndarray, column: str
) -> dict[str, float]:
    """Return what the anchors of some rows have in common.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
    predicted : ndarray of shape (n_rows,)
        The model's prediction for each row.
    rows : int array
        The rows to explain.
    column : str
        Column that anchors may name.

    Returns
    -------
    dict
        Means: ``conditions``, ``precision``, ``coverage``; ``naming``, the share of
        anchors with a condition on the column, and ``alone``, on nothing else.
    """
    codes = interval_codes(X)
    found = [find_anchor(codes, predicted, row) for row in rows.tolist()]
    place = X.columns.get_loc(column)
    return {
        "conditions": float(np.mean([len(a.columns) for a in found])),
        "precision": float(np.mean([a.precision for a in found])),
        "coverage": float(np.mean([a.coverage for a in found])),
        "naming": float(np.mean([place in a.columns for a in found])),
        "alone": float(np.mean([a.columns == (place,) for a in found])),
    }
