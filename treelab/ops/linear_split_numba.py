"""CPU kernel of the split that two linear models explain best, by moments of rows.

Shapes: n rows, K columns to split on, P coefficients of a linear model.
"""

import numba
import numpy as np

from treelab.ops.threads import OPTIONS, run_alone


def best_linear_split(
    values: np.ndarray,
    augmented: np.ndarray,
    *,
    min_rows: int,
    n_thresholds: tuple[int, int],
    n_finalists: int,
) -> tuple[float, int, float]:
    """Split rows in two for which two ridge regressions explain most.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        What may be split on, a column each.
    augmented : ndarray of shape (n, P + 1)
        The design, in units in which the penalty on every coefficient is 1, and the
        values to explain.
    min_rows : int
        Fewest rows on either side.
    n_thresholds : (int, int)
        Candidates along every column, then near the best of the finalists.
    n_finalists : int
        Columns that are searched more closely.

    Returns
    -------
    gain : float
        Explained sum of squares beyond that of one regression for all rows.
    column : int
        -1 where no threshold leaves enough rows on both sides.
    threshold : float
    """
    sums = np.ascontiguousarray(values.T)  # (K, n)
    orders = np.argsort(sums, axis=1, kind="stable")
    n_coarse, n_fine = n_thresholds
    low = min(min_rows, len(augmented) // 2)
    high = len(augmented) - low
    total, before = _all_rows(augmented)
    gains, positions = np.full(len(sums), -np.inf), np.zeros(len(sums))
    bounds = (low, high)
    of_all = (sums, orders, augmented, total, bounds, n_coarse)
    run_alone(_try_directions, len(sums) * augmented.size, *of_all, gains, positions)
    width = (high - low) / max(1, n_coarse - 1)
    best_gain, best, threshold = -np.inf, -1, 0.0
    for d in np.argsort(-gains, kind="stable")[:n_finalists]:
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
