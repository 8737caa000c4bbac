"""How a model's prediction depends on one column, others as the rows have them.

Sources: partial dependence, Friedman, "Greedy function approximation", Annals of
Statistics 29, 2001; a line for each row (ICE), Goldstein et al., "Peeking inside the
black box", JCGS 24, 2015.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.data.columns import column_kind

MOST_NUMBERS = 30
MOST_CATEGORIES = 12
MOST_ROWS = 200


@dataclass(frozen=True, eq=False)
class Dependence:
    """Predictions of rows in which one column takes one value after the other.

    Attributes
    ----------
    column : str
    values : array of shape (n_values,)
        Numbers, ascending, or categories, the most frequent first.
    is_number : bool
    lines : float64 array of shape (n_rows, n_values)
        A prediction: a class's probability, or a value in the target's unit.
    """

    column: str
    values: np.ndarray
    is_number: bool
    lines: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Partial dependence, (n_values,)."""
        return self.lines.mean(axis=0)


def dependence(
    model, X: pd.DataFrame, column: str, values: np.ndarray, output: int = 0
) -> Dependence:
    """Return what a model predicts for rows, one column set to each value.

    Parameters
    ----------
    model : Tree, WeightedTrees or PruningPath
    X : DataFrame of shape (n_rows, n_columns)
        The rows, at least one.
    column : str
    values : array of shape (n_values,)
        Such as those of ``grid``.
    output : int, default=0
        Which class's probability, in the order of ``classes``; 0 for regression.
    """
    every = X.iloc[np.repeat(np.arange(len(X)), len(values))].reset_index(drop=True)
    is_number = column_kind(X[column]) == "number"
    own = pd.Series(np.tile(values, len(X)))
    every[column] = own.astype(float if is_number else object)
    if model.classes is None:
        predicted = model.predict(every)
    else:
        predicted = model.predict_proba(every)[:, output]
    lines = np.asarray(predicted, float).reshape(len(X), len(values))
    return Dependence(column, np.asarray(values), is_number, lines)


def grid(values: pd.Series) -> np.ndarray:
    """Return the values at which to look at a column.

    Numbers: all distinct ones, or quantiles of them where there are more than 30.
    Categories: the twelve most frequent. Missing ones are left out.
    """
    known = values.dropna()
    if column_kind(values) != "number":
        return known.value_counts().index[:MOST_CATEGORIES].to_numpy(object)
    distinct = np.unique(known.to_numpy(float))
    if len(distinct) <= MOST_NUMBERS:
        return distinct
    places = np.linspace(0, 1, MOST_NUMBERS)
    # Half by rank, half by size: dense where rows are, and no wide gaps elsewhere.
    ranks = np.quantile(known.to_numpy(float), places[::2], method="nearest")
    sizes = np.interp(places[1::2], [0, 1], distinct[[0, -1]])
    return np.unique(np.concatenate([ranks, sizes]))


def sample_rows(X: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return at most ``MOST_ROWS`` rows, drawn at random, in the table's order."""
    if len(X) <= MOST_ROWS:
        return X
    rows = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    return X.iloc[np.sort(rows)]
