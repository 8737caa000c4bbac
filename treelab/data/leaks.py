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
        column, size = columns[name].iloc[rows], sizes[0]
        if len(sizes) > 1:
            first = column.iloc[:half], y[:half], half // 2, weights
            size = sizes[int(np.argmax(_scores(*first, sizes)))]
        yield str(name), _scores(column, y, half, weights, (size,))[0]


def leaks(
    columns: pd.DataFrame, target: pd.Series, task: str
) -> Iterator[tuple[str, float]]:
    """Yield the columns whose ``scores_alone`` are at least ``SETTLED``.

    Of numbers those are of their ranks: of a skewed target, such as an amount, R2 hangs
    on a few rows that no other row is near.
    """
    if task == "regression":
        target = target.rank()
    for name, score in scores_alone(columns, target, task, (MOST_LEAVES,)):
        if score >= SETTLED:
            yield name, score


def sampled_rows(target: pd.Series, n_columns: int) -> np.ndarray:
    """Return places of rows with a target, in random order; of many a sample."""
    known = np.flatnonzero(target.notna())
    most = int(np.clip(MOST_CELLS // max(n_columns, 1), FEWEST_ROWS, MOST_ROWS))
    return np.random.default_rng(0).permutation(known)[:most]


def _codes(
    column: pd.Series, y: np.ndarray, half: int, weights: np.ndarray | None
) -> np.ndarray:
    """Return a column as numbers that a tree splits well, by its first rows.

    Numbers are their ranks, so that their unit does not matter, missing values below
    all others. Categories stand in the order of what their rows predict, else splits
    could not part many of them.
    """
    if column_kind(column) == "number":
        values = column.to_numpy(np.float64, na_value=np.nan)
        finite = np.clip(values, -LARGEST, LARGEST)
        return np.nan_to_num(ranks(finite[:half])(finite), nan=-1)
    code, levels = pd.factorize(column, use_na_sentinel=False)
    targets, each = y[:half, None], np.ones(half)
    if weights is not None:
        targets, each = np.eye(y.max() + 1)[y[:half]], weights[:half]
    own = np.stack([each, *(each * targets.T)])
    n_rows, *sums = (np.bincount(code[:half], one, len(levels)) for one in own)
    mean = np.average(targets, axis=0, weights=each)  # of a level that is seen later
    means = np.stack(sums) / np.where(n_rows > 0, n_rows, 1)
    means = np.where(n_rows > 0, means, mean[:, None])
    _, place = np.unique([means.argmax(axis=0), *means], axis=1, return_inverse=True)
    return place[code].astype(np.float64)


def _scores(
    column: pd.Series,
    y: np.ndarray,
    half: int,
    weights: np.ndarray | None,
    sizes: tuple[int, ...],
) -> list[float]:
    """Return how well trees of one column predict the rows from ``half`` on.

    They have the most leaves of ``sizes`` each, and are fitted to the rows before,
    which may have ``weights``.
    """
    # Here: a table is shown before its columns are looked through.
    from sklearn.metrics import r2_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    x, truth, found = _codes(column, y, half, weights)[:, None], y[half:], []
    grower = DecisionTreeRegressor if weights is None else DecisionTreeClassifier
    known = None if weights is None else weights[:half]
    for size in sizes:
        tree = grower(max_leaf_nodes=size, random_state=0)
        predicted = tree.fit(x[:half], y[:half], known).predict(x[half:])
        if weights is None:
            found.append(float(r2_score(truth, predicted)))
            continue
        n_rows = np.bincount(truth)
        recall = np.bincount(truth, predicted == truth) / np.maximum(n_rows, 1)
        found.append(float(recall[n_rows > 0].mean()))
    return found
