"""Initial splits of oblique trees: random hyperplanes, and trees grown greedily.

Line 5 of the paper's algorithm 1 begins from random splits alone; the greedy trees are
ours.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, C outputs.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from treelab.learners.get.rows import Rows

Splits = tuple[np.ndarray, np.ndarray]
"""Weights (N, F) and thresholds (N,) of one tree's splits."""

RIDGE = (1e-3, 0.1, 1.0)  # penalties a row, of the regressions that give directions
N_RANDOM_DIRECTIONS = 20  # that a greedy split may test, besides every column
COLUMNS_PER_DIRECTION = 3  # that enter a random direction, on average


@dataclass(frozen=True)
class Growth:
    """How a tree is grown greedily.

    Attributes
    ----------
    min_samples_leaf : int
        Fewest rows on either side of a split.
    oblique : bool
        False: splits test single columns, as CART's do.
    max_rows : int
        By which a split is chosen.
    """

    min_samples_leaf: int = 5
    oblique: bool = True
    max_rows: int = 5000


DEFAULT_GROWTH = Growth()


def random_splits(x: np.ndarray, depth: int, rng: np.random.Generator) -> Splits:
    """Hyperplanes of random directions, each laid through a random row it splits.

    Weights (N, F) and thresholds (N,) of a complete tree for encoded rows (n, F).
    """
    n_splits = 2**depth - 1
    directions = rng.normal(size=(n_splits, x.shape[1])) / _column_std(x)
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
    rows: Rows,
    depth: int,
    rng: np.random.Generator,
    *,
    growth: Growth = DEFAULT_GROWTH,
    top: Splits | None = None,
) -> Splits:
    """Splits of a tree that is grown greedily, each the best of many directions.

    A split tests a column, as CART does, or a sum of columns that ``directions`` finds.

    Parameters
    ----------
    rows : Rows
    depth : int
        Most splits on a path.
    rng : numpy Generator
    growth : Growth
    top : (weights, threshold), optional
        Splits of the first levels, which stay.

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        Where there is no split: no weights and an infinite threshold.
    """
    x, target, weight = rows.x, rows.target, rows.weight
    weights, threshold, n_top = no_splits(depth, x.shape[1], top)
    waiting = [(0, np.arange(len(x)))]
    while waiting:
        split, reach = waiting.pop()
        if split >= len(threshold) or len(reach) < 2 * growth.min_samples_leaf:
            continue
        if split >= n_top:
            sample = reach
            if len(reach) > growth.max_rows:
                sample = rng.choice(reach, growth.max_rows, replace=False)
            here = x[sample], target[sample], weight[sample]
            best = _best_split(*here, growth, rng)
            if best is None:
                continue
            weights[split], threshold[split] = best
        goes_left = x[reach] @ weights[split] <= threshold[split]
        waiting.append((2 * split + 1, reach[goes_left]))
        waiting.append((2 * split + 2, reach[~goes_left]))
    return weights, threshold


def no_splits(
    depth: int, n_features: int, top: Splits | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Splits of a tree that has none but those on ``top``, and how many these are."""
    weights = np.zeros((2**depth - 1, n_features))
    threshold = np.full(2**depth - 1, np.inf)
    n_top = 0
    if top is not None:
        n_top = len(top[1])
        weights[:n_top], threshold[:n_top] = top
    return weights, threshold, n_top


def _best_split(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    growth: Growth,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float] | None:
    """Direction and threshold that lower the squared error most, if any does."""
    if np.ptp(target, axis=0).max() <= 1e-9:
        return None
    tried = np.eye(x.shape[1])
    if growth.oblique:
        tried = np.hstack([tried, directions(x, target, weight, rng)])
    stump = DecisionTreeRegressor(
        max_depth=1, min_samples_leaf=growth.min_samples_leaf, random_state=0
    )
    found = stump.fit(x @ tried, target, sample_weight=weight).tree_
    if found.feature[0] < 0:
        return None
    return tried[:, found.feature[0]], found.threshold[0]


def directions(
    x: np.ndarray, target: np.ndarray, weight: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Sums of columns (F, k) that are worth a test at a node of these rows (n, F).

    They are the slopes of ridge regressions on the node's rows; the directions of
    largest curvature of the residuals (principal Hessian directions; Li, JASA 1992);
    and random sparse ones.
    """
    n_rows, n_features = x.shape
    probability = weight / weight.sum()
    std = _column_std(x)
    z = (x - probability @ x) / std
    centred = target - probability @ target
    if centred.shape[1] == 2:  # two classes: the second mirrors the first
        centred = centred[:, :1]
    gram = (z * probability[:, None]).T @ z
    cross = (z * probability[:, None]).T @ centred
    slopes = [
        np.linalg.solve(gram + ridge * np.eye(n_features), cross) for ridge in RIDGE
    ]
    found = []
    if n_rows >= 2 * n_features:
        found += slopes
    if n_rows >= 3 * n_features:
        residual = (centred - z @ slopes[0])[:, 0]
        curvature = np.einsum(  # Li's average Hessian, weighted by the residuals
            "n,nf,ng->fg", residual * probability, z, z, optimize=True
        )
        found.append(np.linalg.eigh(curvature)[1][:, [0, -1]])
    shape = (n_features, N_RANDOM_DIRECTIONS)
    enters = rng.random(shape) < COLUMNS_PER_DIRECTION / n_features
    found.append(rng.normal(size=shape) * enters)
    all_found = np.hstack(found)
    length = np.linalg.norm(all_found, axis=0)
    return all_found / np.where(length > 0, length, 1.0) / std[:, None]


def _column_std(x: np.ndarray) -> np.ndarray:
    """Standard deviation of each column; huge where it is constant: it drops out."""
    std = x.std(axis=0)
    return np.where(std > 1e-9, std, 1e9)
