"""A changed row: what changed, how far, and which changes are allowed.

A change of a number is measured in robust standard deviations of its column (1.4826
times the median absolute deviation), a change of a category, or to or from a missing
value, as one. Distances add up over columns.

Source: Wachter, Mittelstadt and Russell, "Counterfactual explanations without opening
the black box", Harvard Journal of Law & Technology 31(2), 2018, section III.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind

NORMAL = 1.4826  # median absolute deviations in a standard deviation of a bell curve


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A row like another one, but predicted otherwise.

    Attributes
    ----------
    row : DataFrame of one row
    prediction : object
        Label, or value in the target's unit.
    changes : dict
        Column to (value before, value now).
    distance : float
        See the module.
    """

    row: pd.DataFrame
    prediction: object
    changes: dict[str, tuple]
    distance: float


class KnownValues:
    """What the columns of some rows hold, looked up once for all rows that change.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_columns)
        Rows whose values count as possible, such as the training rows.
    """

    def __init__(self, X: pd.DataFrame):
        self.X = X
        self._distinct: dict[str, np.ndarray] = {}
        self._has_missing: dict[str, bool] = {}

    @cached_property
    def spreads(self) -> dict[str, float]:
        """Robust standard deviation of each number column, never 0."""
        return robust_spreads(self.X)

    def distinct(self, column: str) -> np.ndarray:
        """Return the distinct values of a column, numbers ascending."""
        if column not in self._distinct:
            values = self.X[column].dropna()
            if column in self.spreads:
                self._distinct[column] = np.unique(values.to_numpy(float))
            else:
                self._distinct[column] = values.unique()
        return self._distinct[column]

    def has_missing(self, column: str) -> bool:
        """Whether some row lacks a value of a column."""
        if column not in self._has_missing:
            self._has_missing[column] = bool(self.X[column].isna().any())
        return self._has_missing[column]


@dataclass(frozen=True, eq=False)
class Changes:
    """A row, the rows it comes from, and how it may change.

    Parameters
    ----------
    row : DataFrame of one row
    known : KnownValues
    locked : collection of str
        Columns that stay as they are.
    rising, falling : collection of str
        Number columns that may only grow, or only fall.
    """

    row: pd.DataFrame
    known: KnownValues
    locked: Collection[str] = ()
    rising: Collection[str] = ()
    falling: Collection[str] = ()

    @property
    def spreads(self) -> dict[str, float]:
        """Robust standard deviation of each number column, never 0."""
        return self.known.spreads

    def observed(self, column: str) -> np.ndarray:
        """Return the distinct values of a column, numbers ascending."""
        return self.known.distinct(column)

    def value(self, column: str):
        """Return the row's value."""
        return self.row[column].iloc[0]

    def allows(self, column: str, now) -> bool:
        """Whether a column may take a value."""
        before = self.value(column)
        if same(before, now):
            return True
        if column in self.locked:
            return False
        if pd.isna(now):  # where no row lacks a value, none can be taken away
            return self.known.has_missing(column)
        if pd.isna(before):
            return True
        too_low = column in self.rising and now < before
        return not (too_low or (column in self.falling and now > before))

    def cost(self, column: str, now) -> float:
        """Distance of a value from the row's."""
        before = self.value(column)
        if same(before, now):
            return 0.0
        if column not in self.spreads or pd.isna(before) or pd.isna(now):
            return 1.0
        return abs(float(now) - float(before)) / self.spreads[column]

    def changed(self, values: dict) -> pd.DataFrame:
        """Return the row with other values, its columns' kinds kept."""
        row = self.row.copy()
        for column, now in values.items():
            dtype = float if column in self.spreads else object
            row[column] = pd.Series([now], index=row.index, dtype=dtype)
        return row

    def counterfactual(self, values: dict, prediction) -> Counterfactual:
        """Bind changed values with what is predicted of them."""
        values = {c: v for c, v in values.items() if not same(self.value(c), v)}
        return Counterfactual(
            self.changed(values),
            prediction,
            {column: (self.value(column), now) for column, now in values.items()},
            float(sum(self.cost(column, now) for column, now in values.items())),
        )


@dataclass(frozen=True)
class Wanted:
    """Which predictions are asked for.

    Attributes
    ----------
    labels : tuple
        Any of these classes; for regression empty.
    low, high : float
        Or a value from ``low`` to ``high``.
    """

    labels: tuple = ()
    low: float = -np.inf
    high: float = np.inf

    def accepts(self, predictions) -> np.ndarray:
        """Whether each prediction (n,) is one of them, bool (n,)."""
        predictions = np.asarray(predictions)
        if self.labels:
            return np.array([label in self.labels for label in predictions.tolist()])
        return (predictions >= self.low) & (predictions <= self.high)


def robust_spreads(X: pd.DataFrame) -> dict[str, float]:
    """Return the robust standard deviation of each number column, never 0."""
    found = {}
    for column in X.columns:
        if column_kind(X[column]) != "number":
            continue
        values = X[column].dropna().to_numpy(float)
        if not len(values):
            found[column] = 1.0
            continue
        spread = NORMAL * np.median(np.abs(values - np.median(values)))
        found[column] = float(spread or values.std() or 1.0)
    return found


def same(before, now) -> bool:
    """Whether two cells hold the same; missing ones do."""
    if pd.isna(before) or pd.isna(now):
        return bool(pd.isna(before) and pd.isna(now))
    return bool(before == now)
