"""Where trees begin: CART, random splits, and oblique trees grown greedily.

Line 5 of the paper's algorithm 1. Its program begins with CART and random splits
alone; greedy oblique trees are ours, and grow a trained tree to its full depth, too.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, C outputs.
"""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from treelab.data.encoding import first_component
from treelab.learners.get.trees import Rows, ridge

Splits = tuple[np.ndarray, np.ndarray]
"""Weights (N, F) and thresholds (N,) of one tree's splits."""

MIN_SAMPLES_LEAF = {False: 5, True: 20}  # on either side of a split; by linear leaves
RIDGE = (1e-3, 0.1, 1.0)  # penalties a row, of the regressions that give directions
N_RANDOM_DIRECTIONS = 20  # that a greedy split may test, besides every column
COLUMNS_PER_DIRECTION = 3  # that enter a random direction, on average
MAX_ROWS = 5000  # by which an oblique split is chosen
QUANTILES = np.linspace(0.05, 0.95, 19)  # tried as thresholds above linear leaves
LINEAR_PENALTY = 3.0  # of a node's linear model, in rows that vary like its own


def initial_splits(
    rows: Rows, depth: int, rng: np.random.Generator, number: int, init: str
) -> tuple[Splits, str]:
    """Splits of start ``number``, and how they were made, a key of ``origin.STARTS``.

    The first start is CART. After it all have weights and thresholds from -1 to 1, as
    in the authors' program, or, where ``init`` is "greedy", random splits through rows
    and greedy oblique trees take turns.
    """
    if number > 0 and init == "random":
        shape = 2**depth - 1, rows.x.shape[1]
        return (rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape[0])), "random"
    if number % 2 == 1:
        return random_splits(rows.x, depth, rng), "random"
    return greedy_splits(rows, depth, rng, oblique=number > 0), "greedy"


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
    oblique: bool = True,
    top: Splits | None = None,
) -> Splits:
    """Splits of a tree that is grown greedily, each the best of many directions.

    A split tests a column, as CART does, or, if ``oblique``, a sum of columns that
    ``directions`` finds. Of all these a stump takes the one that explains most. Splits
    of ``top``, the first levels, stay. Where there is no split, there are no weights
    and an infinite threshold.
    """
    least = MIN_SAMPLES_LEAF[rows.linear]
    weights = np.zeros((2**depth - 1, rows.x.shape[1]))
    threshold = np.full(2**depth - 1, np.inf)
    n_top = 0
    if top is not None:
        n_top = len(top[1])
        weights[:n_top], threshold[:n_top] = top
    waiting = [(0, np.arange(len(rows.x)))]
    while waiting:
        split, reach = waiting.pop()
        if split >= len(threshold) or len(reach) < 2 * least:
            continue
        if split >= n_top:
            sample = reach
            if oblique and len(reach) > MAX_ROWS:
                sample = rng.choice(reach, MAX_ROWS, replace=False)
            best = _best_split(rows.take(sample), least, rng if oblique else None)
            if best is None:
                continue
            weights[split], threshold[split] = best
        goes_left = rows.x[reach] @ weights[split] <= threshold[split]
        waiting.append((2 * split + 1, reach[goes_left]))
        waiting.append((2 * split + 2, reach[~goes_left]))
    return weights, threshold


def _best_split(
    rows: Rows, least: int, rng: np.random.Generator | None
) -> tuple[np.ndarray, float] | None:
    """Direction and threshold that lower the squared error most, if any does.

    Without ``rng`` single columns alone are tried.
    """
    explained = rows.target
    if rows.linear:
        design, residual = linear_residual(rows.x, rows.y, rows.weight)
        explained = linear_scores(design, residual, rows.weight)
    if np.ptp(explained, axis=0).max() <= 1e-9:
        return None
    columns = np.eye(rows.x.shape[1])
    sums = columns[:, :0] if rng is None else directions(rows, rng)
    tried = np.hstack([rows.x, rows.x @ sums])
    stump = DecisionTreeRegressor(max_depth=1, min_samples_leaf=least, random_state=0)
    stump.fit(tried, explained, sample_weight=rows.weight)
    best, threshold = stump.tree_.feature[0], stump.tree_.threshold[0]
    if best < 0:
        return None
    direction = np.hstack([columns, sums])[:, best]
    if rows.linear:
        sums = rows.x @ direction
        candidates = np.append(threshold, np.quantile(sums, QUANTILES))
        own = design, residual, rows.weight
        threshold = _best_threshold(sums, candidates, *own, least)
    return direction, threshold


def linear_residual(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Design (n, 1 + F) of a node's linear model, and what it leaves of y (n,)."""
    design = np.hstack([np.ones((len(x), 1)), (x - x.mean(axis=0)) / _column_std(x)])
    return design, y - design @ ridge(design, y, LINEAR_PENALTY, weight)


def linear_scores(
    design: np.ndarray, residual: np.ndarray, weight: np.ndarray | float = 1.0
) -> np.ndarray:
    """Gradients (n, 1 + F) of a node's linear model, in units that make them alike.

    The squared error of the node's rows, derived by the model's coefficients, row by
    row, and whitened. A split whose sides differ most in their mean gradients is, to
    first order, the one after which two linear models explain most (model-based
    recursive partitioning; Zeileis, Hothorn and Hornik, 2008).
    """
    gram = (design.T * weight) @ design + LINEAR_PENALTY * np.eye(design.shape[1])
    white = np.linalg.solve(np.linalg.cholesky(gram), design.T)
    return residual[:, None] * white.T * np.sqrt(len(residual))


def _best_threshold(sums, thresholds, design, residual, weight, least: int) -> float:
    """The threshold, after which two linear models explain most; else the first."""
    errors = []
    for threshold in thresholds:
        sides = sums <= threshold, sums > threshold
        if min(side.sum() for side in sides) < least:
            errors.append(np.inf)
            continue
        residuals = [
            residual[side]
            - design[side]
            @ ridge(design[side], residual[side], LINEAR_PENALTY, weight[side])
            for side in sides
        ]
        parts = zip(sides, residuals)
        errors.append(sum((weight[side] * part**2).sum() for side, part in parts))
    return thresholds[int(np.argmin(errors))]


def directions(rows: Rows, rng: np.random.Generator) -> np.ndarray:
    """Sums of columns (F, k) that are worth a test at a node of these rows.

    They are the slopes of ridge regressions on the node's rows; the directions of
    largest curvature of the residuals (principal Hessian directions; Li, JASA 1992);
    and random sparse ones.
    """
    n_rows, n_features = rows.x.shape
    probability = rows.weight / rows.weight.sum()
    std = _column_std(rows.x)
    z = (rows.x - probability @ rows.x) / std
    centred = rows.target - probability @ rows.target
    if rows.n_classes == 2:  # the second mirrors the first
        centred = centred[:, :1]
    found = []
    if n_rows >= 2 * n_features:
        gram = (z * probability[:, None]).T @ z
        cross = (z * probability[:, None]).T @ centred
        found += [
            np.linalg.solve(gram + ridge * np.eye(n_features), cross) for ridge in RIDGE
        ]
    if n_rows >= 3 * n_features:
        unexplained = centred - z @ found[0]
        residual = unexplained[:, 0] if rows.n_classes else first_component(unexplained)
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
