"""Columns that settle the target by themselves, which is seldom meant."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from treelab.data.columns import class_labels, column_kind
from treelab.data.encoding import LARGEST, ranks, zscore

SETTLED = 0.99  # of held-out rows: balanced accuracy, or R2
MOST_LEAVES = 32
SIZES = (2, 4, 8, 16, MOST_LEAVES)  # of which a column's tree has the best
MOST_ROWS, FEWEST_ROWS = 2000, 300
MOST_CELLS = 200_000  # of wide tables fewer rows are looked at
TOO_FEW = 40  # rows, of which nothing can be said
MANY_COLUMNS = 400  # of more, small trees are fitted to each once that is asked for


def scores_alone(
    columns: pd.DataFrame, target: pd.Series, task: str, sizes: tuple[int, ...] = SIZES
) -> Iterator[tuple[str, float]]:
    """Yield the name of each column and how well a small tree of it alone predicts.

    A tree is fitted to a half of a sample of rows and scored on the other half:
    balanced accuracy, or R2 for a regression. Of several most leaves, ``sizes``, it has
    those by which a quarter of the rows predicts the next quarter best. Missing values
    of a column are a value of their own; rows without a target are left out.
    """
    rows = sampled_rows(target, columns.shape[1])
    if len(rows) < TOO_FEW or target.iloc[rows].nunique() < 2:
        return
    known = target.iloc[rows]
    if task == "regression":
        y = known.to_numpy(np.float64)
        y = zscore(y)(y)
    else:
        y = class_labels(known).to_numpy()
    half = len(rows) // 2
    weights = None  # else a column that makes a rare class likelier predicts nothing
    if task != "regression":
        y = np.unique(y, return_inverse=True)[1]
        n_rows = np.bincount(y[:half], minlength=y.max() + 1)
        weights = half / ((n_rows > 0).sum() * np.maximum(n_rows, 1))[y[:half]]
    for name in columns.columns:
        x = _codes(columns[name].iloc[rows], half)[:, None]
        size = sizes[0]
        if len(sizes) > 1:
            first = x[:half], y[:half], half // 2, weights
            size = max(sizes, key=lambda each: _score(*first, each))
        yield str(name), _score(x, y, half, weights, size)


def leaks(
    columns: pd.DataFrame, target: pd.Series, task: str
) -> Iterator[tuple[str, float]]:
    """Yield the columns whose ``scores_alone`` are at least ``SETTLED``."""
    for name, score in scores_alone(columns, target, task, (MOST_LEAVES,)):
        if score >= SETTLED:
            yield name, score


def sampled_rows(target: pd.Series, n_columns: int) -> np.ndarray:
    """Return places of rows with a target, in random order; of many a sample."""
    known = np.flatnonzero(target.notna())
    most = int(np.clip(MOST_CELLS // max(n_columns, 1), FEWEST_ROWS, MOST_ROWS))
    return np.random.default_rng(0).permutation(known)[:most]


def _codes(column: pd.Series, half: int) -> np.ndarray:
    """Return a column as ranks among the first rows, missing values below all others.

    So its unit does not matter.
    """
    if column_kind(column) != "number":
        return pd.factorize(column)[0].astype(np.float64)
    values = column.to_numpy(np.float64, na_value=np.nan)
    finite = np.clip(values, -LARGEST, LARGEST)
    return np.nan_to_num(ranks(finite[:half])(finite), nan=-1)


def _score(
    x: np.ndarray, y: np.ndarray, half: int, weights: np.ndarray | None, size: int
) -> float:
    """Return how well a tree of one column predicts the rows from ``half`` on.

    It is fitted to those before, which may have ``weights``.
    """
    # Here: a table is shown before its columns are looked through.
    from sklearn.metrics import r2_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    setting = {"max_leaf_nodes": size, "random_state": 0}
    if weights is None:
        tree = DecisionTreeRegressor(**setting).fit(x[:half], y[:half])
        return float(r2_score(y[half:], tree.predict(x[half:])))
    tree = DecisionTreeClassifier(**setting).fit(x[:half], y[:half], weights[:half])
    right = tree.predict(x[half:]) == y[half:]
    n_rows = np.bincount(y[half:])
    recall = np.bincount(y[half:], right) / np.maximum(n_rows, 1)
    return float(recall[n_rows > 0].mean())
