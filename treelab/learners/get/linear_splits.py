"""Greedy splits for leaves that hold linear models, by what these explain.

The paper trains all splits by gradients alone (algorithm 1); growth is ours.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, K directions, P
coefficients of a linear model.
"""

from dataclasses import dataclass

import numba
import numpy as np

from treelab.learners.get.leaves import ridge
from treelab.learners.get.starts import Growth, Splits, directions, no_splits
from treelab.ops.threads import OPTIONS, run_alone

MAX_MODEL_COLUMNS = 40  # that enter a linear model while splits are compared


@dataclass(frozen=True)
class LinearGrowth(Growth):
    """How a tree with linear leaves is grown greedily.

    Attributes
    ----------
    penalty : float
        Of the linear models, in rows that vary like all rows.
    n_thresholds : (int, int)
        Candidate thresholds along every direction, then near the best of finalists.
    n_finalists : int
        Directions that are searched more closely.
    """

    min_samples_leaf: int = 20
    penalty: float = 3.0
    n_thresholds: tuple[int, int] = (9, 24)
    n_finalists: int = 4


DEFAULT_GROWTH = LinearGrowth()


def linear_splits(
    x: np.ndarray,
    y: np.ndarray,
    depth: int,
    rng: np.random.Generator,
    *,
    growth: LinearGrowth = DEFAULT_GROWTH,
    top: Splits | None = None,
) -> Splits:
    """Splits of a tree that is grown greedily for leaves that hold linear models.

    A node's model is that of its parent plus a ridge regression on the parent's
    residuals. The split of a node is the direction and the threshold for which two
    models, one a side, lower the penalised squared error most. Directions are the
    columns and the sums that ``starts.directions`` finds.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    y : ndarray of shape (n,)
        Values.
    depth : int
        Most splits on a path.
    rng : numpy Generator
    growth : LinearGrowth
    top : (weights, threshold), optional
        Splits of the first levels, which stay.

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        Where there is no split: no weights and an infinite threshold.
    """
    weights, threshold, n_top = no_splits(depth, x.shape[1], top)
    # In these units the penalty on every coefficient is 1.
    unit = np.sqrt(growth.penalty * np.append(1.0, x.var(axis=0) + 1e-9))
    design = np.hstack([np.ones((len(x), 1)), x - x.mean(axis=0)]) / unit
    negligible = 1e-9 * ((y - y.mean()) ** 2).sum()
    waiting = [(0, np.arange(len(x)), y)]
    while waiting:
        split, rows, residual = waiting.pop()
        if split >= len(threshold) or len(rows) < 2 * growth.min_samples_leaf:
            continue
        if split >= n_top or np.isfinite(threshold[split]):
            model = ridge(design[rows], residual, 1.0)
            residual = residual - design[rows] @ model
        if split >= n_top:
            if (residual**2).sum() <= negligible:
                continue
            at = np.arange(len(rows))
            if len(rows) > growth.max_rows:
                at = rng.choice(len(rows), growth.max_rows, replace=False)
            augmented = _augmented_design(design[rows[at]], residual[at], model)
            tried = _directions_tried(x[rows[at]], y[rows[at]], growth, rng)
            gain, best, value = _best_threshold(x[rows[at]] @ tried, augmented, growth)
            if best < 0 or gain <= negligible:
                continue
            weights[split], threshold[split] = tried[:, best], value
        goes_left = x[rows] @ weights[split] <= threshold[split]
        for child, part in ((2 * split + 1, goes_left), (2 * split + 2, ~goes_left)):
            waiting.append((child, rows[part], residual[part]))
    return weights, threshold


def _directions_tried(x, y, growth, rng) -> np.ndarray:
    """Directions (F, K) that a node's split may take."""
    columns = np.eye(x.shape[1])
    if not growth.oblique:
        return columns
    return np.hstack([columns, directions(x, y[:, None], np.ones(len(x)), rng)])


def _augmented_design(design, residual, model) -> np.ndarray:
    """Design of the columns that move a model's predictions most, then the residual."""
    used = np.arange(len(model))
    if len(model) > MAX_MODEL_COLUMNS + 1:
        moved = np.abs(model[1:]) * design[:, 1:].std(axis=0)
        most = np.argsort(-moved, kind="stable")[:MAX_MODEL_COLUMNS]
        used = np.append(0, 1 + np.sort(most))
    return np.hstack([design[:, used], residual[:, None]])


def _best_threshold(
    values: np.ndarray, augmented: np.ndarray, growth: LinearGrowth
) -> tuple[float, int, float]:
    """Gain, direction (-1: none) and threshold of the best split of ``values`` (n, K).

    ``augmented`` (n, P + 1) holds the design, with unit penalties, and the residual.
    """
    sums = np.ascontiguousarray(values.T)  # (K, n)
    orders = np.argsort(sums, axis=1, kind="stable")
    n_coarse, n_fine = growth.n_thresholds
    low = min(growth.min_samples_leaf, len(augmented) // 2)
    high = len(augmented) - low
    total, before = _all_rows(augmented)
    gains, positions = np.full(len(sums), -np.inf), np.zeros(len(sums))
    bounds = (low, high)
    of_all = (sums, orders, augmented, total, bounds, n_coarse)
    run_alone(_try_directions, len(sums) * augmented.size, *of_all, gains, positions)
    width = (high - low) / max(1, n_coarse - 1)
    best_gain, best, threshold = -np.inf, -1, 0.0
    for d in np.argsort(-gains, kind="stable")[: growth.n_finalists]:
        if gains[d] == -np.inf:
            break
        near = (positions[d] - width, positions[d] + width)
        gain, position = _try_direction(
            sums[d], orders[d], augmented, total, bounds, near, n_fine
        )
        if gain > best_gain:
            best_gain, best = gain, int(d)
            order = orders[d]
            threshold = 0.5 * (sums[d, order[position - 1]] + sums[d, order[position]])
    return best_gain - before, best, threshold


@numba.njit(**OPTIONS)
def _all_rows(augmented):
    """Moments of all rows, and what one linear model explains of them."""
    n_rows, n_coefficients = augmented.shape[0], augmented.shape[1] - 1
    total = np.zeros((n_coefficients + 1, n_coefficients))
    _add(total, augmented, np.arange(n_rows), 0, n_rows)
    return total, _explained(total, np.zeros_like(total), np.empty_like(total))


@numba.njit(parallel=True, **OPTIONS)
def _try_directions(sums, orders, augmented, total, bounds, number, gains, positions):
    """Gain and position of the best threshold of every direction, into the last two."""
    everywhere = (float(bounds[0]), float(bounds[1]))
    for d in numba.prange(len(sums)):
        gains[d], positions[d] = _try_direction(
            sums[d], orders[d], augmented, total, bounds, everywhere, number
        )


@numba.njit(**OPTIONS)
def _try_direction(values, order, augmented, total, bounds, window, number):
    """Most that two models explain when split inside a window, and that position."""
    candidates = _candidates(values, order, bounds, window, number)
    best, position, done = -np.inf, 0, 0
    left, none = np.zeros_like(total), np.zeros_like(total)
    work = np.empty_like(total)
    for candidate in candidates:
        _add(left, augmented, order, done, candidate)
        done = candidate
        gain = _explained(left, none, work) + _explained(total, left, work)
        if gain > best:
            best, position = gain, candidate
    return best, position


@numba.njit(**OPTIONS)
def _candidates(values, order, bounds, window, number):
    """Positions to split inside a window and bounds, none between equal values."""
    low, high = bounds
    first, last = window
    found = np.empty(2 * number, np.int64)
    n_found = 0
    for i in range(number):
        position = round(first + (last - first) * i / max(1, number - 1))
        position = min(max(position, low), high)
        value = values[order[position]]
        down = position
        while down >= low and values[order[down - 1]] == value:
            down -= 1
        up = position
        if down < position:  # within equal values: on both sides of them
            while up <= high and values[order[up]] == value:
                up += 1
        for candidate in (down, up):  # in rising order, none twice
            fits = low <= candidate <= high
            if fits and (n_found == 0 or candidate > found[n_found - 1]):
                found[n_found] = candidate
                n_found += 1
    return found[:n_found]


@numba.njit(**OPTIONS)
def _add(moments, augmented, order, first, last):
    """Add rows to the lower triangle of design' @ [design, residual] (P + 1, P)."""
    n_coefficients = moments.shape[1]
    last_of_four = first + (last - first) // 4 * 4
    for position in range(
        first, last_of_four, 4
    ):  # moments are read once for four rows
        a, b = augmented[order[position]], augmented[order[position + 1]]
        c, d = augmented[order[position + 2]], augmented[order[position + 3]]
        for i in range(n_coefficients + 1):
            for j in range(min(i + 1, n_coefficients)):
                moments[i, j] += a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + d[i] * d[j]
    for position in range(last_of_four, last):
        row = augmented[order[position]]
        for i in range(n_coefficients + 1):
            for j in range(min(i + 1, n_coefficients)):
                moments[i, j] += row[i] * row[j]


@numba.njit(**OPTIONS)
def _explained(moments, less, work):
    """What ridge explains of the rows in ``moments`` that are not in ``less``.

    With A the design, r the residual and A'A + 1 = R R' (Cholesky), what is explained,
    r'A (A'A + 1)^-1 A'r, is the square of R^-1 A'r.
    """
    n_coefficients = moments.shape[1]
    explained = 0.0
    for i in range(n_coefficients + 1):
        for j in range(min(i + 1, n_coefficients)):
            value = moments[i, j] - less[i, j]
            if i == j:
                value += 1.0
            for k in range(j):
                value -= work[i, k] * work[j, k]
            if i == j:
                work[i, i] = np.sqrt(max(value, 1e-12))
            else:
                work[i, j] = value / work[j, j]
    for j in range(n_coefficients):
        explained += work[n_coefficients, j] ** 2
    return explained
