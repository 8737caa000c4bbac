"""Greedy splits chosen by what a formula on either side gains.

Shapes: N = 2**D - 1 splits breadth first, n rows, F features, K directions, P numbers
of a formula.
"""

import numba
import numpy as np

from treelab.learners.get.starts import LOOKED_AT, directions
from treelab.ops.threads import run_alone

FORMULA_COLUMNS = 40  # that enter a formula while splits are compared, at most
CUTS = (9, 24, 4)  # tried along every direction; then near the best of some directions

_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"reassoc", "contract"}}


def formula_splits(
    x: np.ndarray,
    y: np.ndarray,
    depth: int,
    rng: np.random.Generator,
    *,
    top: tuple[np.ndarray, np.ndarray] | None = None,
    min_leaf_rows: int = 20,
    penalty: float = 3.0,
    oblique: bool = True,
    looked_at: int = LOOKED_AT,
    cuts: tuple[int, int, int] = CUTS,
) -> tuple[np.ndarray, np.ndarray]:
    """Splits of a tree that is grown greedily for leaves that hold formulas.

    A node's formula is that of its parent plus a ridge regression on what this leaves
    over. The split of a node is the direction and the cut for which two formulas, one a
    side, lower the penalised squared error most. Directions are the columns and the
    sums that ``get_starts.directions`` finds.

    Parameters
    ----------
    x : ndarray of shape (n, F)
        Encoded rows.
    y : ndarray of shape (n,)
        Values.
    depth : int
        Most splits on a path.
    rng : numpy Generator
    top : (weights, threshold), optional
        Splits of the first levels, which stay.
    min_leaf_rows : int
        Fewest rows on either side of a split.
    penalty : float
        Of a formula, in rows spread like all rows.
    oblique : bool
        False: splits test single columns.
    looked_at : int
        Rows by which a split is chosen, at most.
    cuts : (int, int, int)
        Cuts tried along every direction, near the best one of some directions, and how
        many directions these are.

    Returns
    -------
    weights : ndarray of shape (N, F)
    threshold : ndarray of shape (N,)
        Where there is no split: no weights and an infinite threshold.
    """
    n_rows, n_features = x.shape
    n_splits = 2**depth - 1
    weights = np.zeros((n_splits, n_features))
    threshold = np.full(n_splits, np.inf)
    n_top = 0
    if top is not None:
        n_top = len(top[1])
        weights[:n_top], threshold[:n_top] = top
    # In these units the penalty of every number of a formula is 1.
    unit = np.sqrt(penalty * np.append(1.0, x.var(axis=0) + 1e-9))
    design = np.hstack([np.ones((n_rows, 1)), x - x.mean(axis=0)]) / unit
    columns = np.eye(n_features)
    nothing = 1e-9 * ((y - y.mean()) ** 2).sum()
    waiting = [(0, np.arange(n_rows), y)]
    while waiting:
        split, rows, left_over = waiting.pop()
        if split >= n_splits or len(rows) < 2 * min_leaf_rows:
            continue
        if split >= n_top or np.isfinite(threshold[split]):
            formula = _ridge(design[rows], left_over)
            left_over = left_over - design[rows] @ formula
        if split >= n_top:
            if (left_over**2).sum() <= nothing:
                continue
            at = np.arange(len(rows))
            if len(rows) > looked_at:
                at = rng.choice(len(rows), looked_at, replace=False)
            here = x[rows[at]]
            tried = columns
            if oblique:
                told = y[rows[at]][:, None]
                found = directions(here, told, np.ones(len(at)), rng)
                tried = np.hstack([columns, found])
            matter = _columns_that_matter(design[rows[at]], formula)
            shown = np.hstack([design[rows[at]][:, matter], left_over[at, None]])
            sums = np.ascontiguousarray((here @ tried).T)
            orders = np.argsort(sums, axis=1, kind="stable")
            smallest = min(min_leaf_rows, len(at) // 2)
            gain, best, cut = _best_cut(sums, orders, shown, smallest, *cuts)
            if best < 0 or gain <= nothing:
                continue
            weights[split], threshold[split] = tried[:, best], cut
        goes_left = x[rows] @ weights[split] <= threshold[split]
        for child, part in ((2 * split + 1, goes_left), (2 * split + 2, ~goes_left)):
            waiting.append((child, rows[part], left_over[part]))
    return weights, threshold


def _ridge(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Formula (P,) with a penalty of 1 on each of its numbers."""
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += 1.0
    return np.linalg.solve(gram, design.T @ y)


def _columns_that_matter(design, formula) -> np.ndarray:
    """Numbers of the formula, the constant first, that move its answer most."""
    if len(formula) <= FORMULA_COLUMNS + 1:
        return np.arange(len(formula))
    moved = np.abs(formula[1:]) * design[:, 1:].std(axis=0)
    most = np.argsort(-moved, kind="stable")[:FORMULA_COLUMNS]
    return np.append(0, 1 + np.sort(most))


def _best_cut(sums, orders, shown, min_leaf_rows, coarse, fine, n_finalists):
    """Gain, direction (-1: none) and threshold of the best cut of ``sums`` (K, n).

    ``orders`` (K, n) sorts them; ``shown`` (n, P + 1) holds the design, with unit
    penalties, and what is to be told.
    """
    low, high = min_leaf_rows, sums.shape[1] - min_leaf_rows
    total, before = _all_rows(shown)
    gains, places = np.full(len(sums), -np.inf), np.zeros(len(sums))
    of_all = (sums, orders, shown, total, low, high, coarse)
    run_alone(_try_directions, len(sums) * shown.size, *of_all, gains, places)
    width = (high - low) / max(1, coarse - 1)
    best_gain, best, threshold = -np.inf, -1, 0.0
    for d in np.argsort(-gains, kind="stable")[:n_finalists]:
        if gains[d] == -np.inf:
            break
        near = (places[d] - width, places[d] + width, fine)
        gain, place = _try_direction(sums[d], orders[d], shown, total, low, high, *near)
        if gain > best_gain:
            best_gain, best = gain, int(d)
            order = orders[d]
            threshold = 0.5 * (sums[d, order[place - 1]] + sums[d, order[place]])
    return best_gain - before, best, threshold


@numba.njit(**_OPTIONS)
def _all_rows(shown):
    """Moments of all rows, and what one formula explains of them."""
    n_rows, n_numbers = shown.shape[0], shown.shape[1] - 1
    total = np.zeros((n_numbers + 1, n_numbers))
    _add(total, shown, np.arange(n_rows), 0, n_rows)
    return total, _explained(total, np.zeros_like(total), np.empty_like(total))


@numba.njit(parallel=True, **_OPTIONS)
def _try_directions(sums, orders, shown, total, low, high, number, gains, places):
    """Gain and place of the best cut of every direction, into the last two."""
    for d in numba.prange(len(sums)):
        gains[d], places[d] = _try_direction(
            sums[d], orders[d], shown, total, low, high, float(low), float(high), number
        )


@numba.njit(**_OPTIONS)
def _try_direction(told, order, shown, total, low, high, first, last, number):
    """Most that two formulas explain at a cut between two places, and that cut."""
    cuts = _cuts(told, order, low, high, first, last, number)
    best, place, done = -np.inf, 0, 0
    left, nobody = np.zeros_like(total), np.zeros_like(total)
    work = np.empty_like(total)
    for cut in cuts:
        _add(left, shown, order, done, cut)
        done = cut
        gain = _explained(left, nobody, work) + _explained(total, left, work)
        if gain > best:
            best, place = gain, cut
    return best, place


@numba.njit(**_OPTIONS)
def _cuts(told, order, low, high, first, last, number):
    """Places to cut between ``first`` and ``last``, none of them between equal sums."""
    found = np.empty(2 * number, np.int64)
    n_found = 0
    for i in range(number):
        place = round(first + (last - first) * i / max(1, number - 1))
        place = min(max(place, low), high)
        value = told[order[place]]
        down = place
        while down >= low and told[order[down - 1]] == value:
            down -= 1
        up = place
        if down < place:  # within equal sums: on both sides of them
            while up <= high and told[order[up]] == value:
                up += 1
        for candidate in (down, up):  # in rising order, none twice
            fits = low <= candidate <= high
            if fits and (n_found == 0 or candidate > found[n_found - 1]):
                found[n_found] = candidate
                n_found += 1
    return found[:n_found]


@numba.njit(**_OPTIONS)
def _add(moments, shown, order, first, last):
    """Add rows to the lower triangle of design' @ [design, told] (P + 1, P)."""
    n_numbers = moments.shape[1]
    last_of_four = first + (last - first) // 4 * 4
    for place in range(first, last_of_four, 4):  # moments are read once for four rows
        a, b = shown[order[place]], shown[order[place + 1]]
        c, d = shown[order[place + 2]], shown[order[place + 3]]
        for i in range(n_numbers + 1):
            for j in range(min(i + 1, n_numbers)):
                moments[i, j] += a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + d[i] * d[j]
    for place in range(last_of_four, last):
        row = shown[order[place]]
        for i in range(n_numbers + 1):
            for j in range(min(i + 1, n_numbers)):
                moments[i, j] += row[i] * row[j]


@numba.njit(**_OPTIONS)
def _explained(moments, less, work):
    """What ridge explains of the rows in ``moments`` that are not in ``less``.

    With G + 1 = R R' (Cholesky), told' A (G + 1)^-1 A' told is the square of
    R^-1 A' told.
    """
    n_numbers = moments.shape[1]
    explained = 0.0
    for i in range(n_numbers + 1):
        for j in range(min(i + 1, n_numbers)):
            value = moments[i, j] - less[i, j]
            if i == j:
                value += 1.0
            for k in range(j):
                value -= work[i, k] * work[j, k]
            if i == j:
                work[i, i] = np.sqrt(max(value, 1e-12))
            else:
                work[i, j] = value / work[j, j]
    for j in range(n_numbers):
        explained += work[n_numbers, j] ** 2
    return explained
