"""Where oblique trees begin: greedy oblique trees and random hyperplanes.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, C outputs.
"""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

RIDGE = (
    1e-3,
    0.1,
    1.0,
)  # rows of penalty a row, of the regressions that give directions
RANDOM_DIRECTIONS = 20  # that a greedy split may test, besides every column
LOOKED_AT = 5000  # rows by which a greedy split is chosen, at most
COLUMNS_A_DIRECTION = 3  # columns that enter a random direction, on average


def random_splits(
    x: np.ndarray, depth: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Hyperplanes of random directions, each laid through a random row it splits.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    depth : int
        Splits on every path.
    rng : numpy Generator

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        A row goes left where ``weights @ x <= threshold``.
    """
    n_splits = 2**depth - 1
    directions = rng.normal(size=(n_splits, x.shape[1])) / _spread(x)
    weights = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    threshold = np.zeros(n_splits)
    rows_of = {0: np.arange(len(x))}
    for split in range(n_splits):
        rows = rows_of.pop(split)
        through = rng.choice(rows) if len(rows) else rng.integers(len(x))
        threshold[split] = x[through] @ weights[split]
        goes_left = x[rows] @ weights[split] <= threshold[split]
        rows_of[2 * split + 1] = rows[goes_left]
        rows_of[2 * split + 2] = rows[~goes_left]
    return weights, threshold


def greedy_splits(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    depth: int,
    rng: np.random.Generator,
    *,
    top: tuple[np.ndarray, np.ndarray] | None = None,
    min_leaf_rows: int = 5,
    oblique: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Splits of a tree that is grown greedily, each the best of many directions.

    A split tests a column, as CART does, or a sum of columns that ``directions`` finds.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    target : ndarray of shape (n, C)
        Values, or class membership as 0 and 1.
    weight : ndarray of shape (n,)
        What each row counts.
    depth : int
        Most splits on a path.
    rng : numpy Generator
    top : (weights, threshold), optional
        Splits of the first levels, which stay.
    min_leaf_rows : int
        Fewest rows on either side of a split.
    oblique : bool
        False: columns alone, a CART tree.

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        Where there is no split: no weights and an infinite threshold.
    """
    n_splits = 2**depth - 1
    weights = np.zeros((n_splits, x.shape[1]))
    threshold = np.full(n_splits, np.inf)
    n_top = 0
    if top is not None:
        n_top = len(top[1])
        weights[:n_top], threshold[:n_top] = top
    columns = np.eye(x.shape[1])
    waiting = [(0, np.arange(len(x)))]
    while waiting:
        split, rows = waiting.pop()
        if split >= n_splits or len(rows) < 2 * min_leaf_rows:
            continue
        if split >= n_top:
            sample = rows
            if len(rows) > LOOKED_AT:
                sample = rng.choice(rows, LOOKED_AT, replace=False)
            here, told = x[sample], target[sample]
            if np.ptp(told, axis=0).max() <= 1e-9:
                continue
            tried = columns
            if oblique:
                found = directions(here, told, weight[sample], rng)
                tried = np.hstack([columns, found])
            best = _best_split(here @ tried, told, weight[sample], min_leaf_rows)
            if best is None:
                continue
            weights[split], threshold[split] = tried[:, best[0]], best[1]
        goes_left = x[rows] @ weights[split] <= threshold[split]
        waiting.append((2 * split + 1, rows[goes_left]))
        waiting.append((2 * split + 2, rows[~goes_left]))
    return weights, threshold


def _best_split(sums, target, weight, min_leaf_rows) -> tuple[int, float] | None:
    """Direction and threshold that lower the squared error most, if any does."""
    stump = DecisionTreeRegressor(
        max_depth=1, min_samples_leaf=min_leaf_rows, random_state=0
    )
    found = stump.fit(sums, target, sample_weight=weight).tree_
    if found.feature[0] < 0:
        return None
    return found.feature[0], found.threshold[0]


def directions(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Sums of columns that are worth a test at a node.

    They are the slopes of ridge regressions on the node's rows; the directions in
    which what these leave over bends most (principal Hessian directions); and random
    sparse ones.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows of the node.
    target : ndarray of shape (n, C)
    weight : ndarray of shape (n,)
    rng : numpy Generator

    Returns
    -------
    ndarray of shape (F, k)

    References
    ----------
    Li, "On principal Hessian directions for data visualization and dimension
    reduction", JASA 1992.
    """
    n_rows, n_features = x.shape
    share = weight / weight.sum()
    spread = _spread(x)
    z = (x - share @ x) / spread
    told = target - share @ target
    if told.shape[1] == 2:  # two classes: the second mirrors the first
        told = told[:, :1]
    gram = (z * share[:, None]).T @ z
    cross = (z * share[:, None]).T @ told
    slopes = [
        np.linalg.solve(gram + ridge * np.eye(n_features), cross) for ridge in RIDGE
    ]
    found = []
    if n_rows >= 2 * n_features:
        found += slopes
    if n_rows >= 3 * n_features:
        left_over = told - z @ slopes[0]
        bend = np.einsum("n,nf,ng->fg", left_over[:, 0] * share, z, z, optimize=True)
        found.append(np.linalg.eigh(bend)[1][:, [0, -1]])
    shape = (n_features, RANDOM_DIRECTIONS)
    kept = rng.random(shape) < COLUMNS_A_DIRECTION / n_features
    found.append(rng.normal(size=shape) * kept)
    found = np.hstack(found)
    length = np.linalg.norm(found, axis=0)
    return found / np.where(length > 0, length, 1.0) / spread[:, None]


def _spread(x: np.ndarray) -> np.ndarray:
    """Standard deviation of each column; huge where it is constant, so it drops out."""
    spread = x.std(axis=0)
    return np.where(spread > 1e-9, spread, 1e9)
