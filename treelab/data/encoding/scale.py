"""Monotone maps from a column's own unit to the numbers that learners train on."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

SMALLEST_SPREAD = 1e-250  # a column that spreads less is constant, or divides to inf
LARGEST = 1e150  # what values far outside of the known ones are encoded as


@dataclass(frozen=True)
class Affine:
    """``(x - shift) / scale``; a constant column has an infinite scale and maps to 0.

    Parameters
    ----------
    shift, scale : float
        In the column's own unit.
    """

    shift: float = 0.0
    scale: float = 1.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Map values of any shape."""
        with np.errstate(over="ignore"):
            return np.clip((x - self.shift) / self.scale, -LARGEST, LARGEST)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Piecewise linear and increasing through the score of each known value.

    Outside the known values the ends hold.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The known values, ascending and distinct.
    scores : ndarray of shape (n_values,)
        What each maps to, ascending.
    """

    values: np.ndarray
    scores: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Map values of any shape; never decreasing, also in the last bit."""
        if len(self.values) <= 1:
            return np.where(np.isnan(x), x, 0.0)
        right = np.searchsorted(self.values, x, side="right")
        right = np.clip(right, 1, len(self.values) - 1)
        low, high = self.values[right - 1], self.values[right]
        from_score, to_score = self.scores[right - 1], self.scores[right]
        with np.errstate(over="ignore"):  # far outside of two close values
            share = np.clip((x - low) / (high - low), 0.0, 1.0)
        # The product rounds, so without the minimum a value might pass its neighbour.
        return np.minimum(from_score + share * (to_score - from_score), to_score)


Scale = Affine | Interpolation


def zscore(x: np.ndarray) -> Affine:
    """Mean 0 and standard deviation 1 over ``x`` (n_rows,)."""
    if np.ptp(x) < SMALLEST_SPREAD:
        return Affine(float(x[0]), np.inf)
    mean = float(x.mean())
    # Squares of very large or small numbers leave float64, so measure in units of size.
    size = float(np.abs(x - mean).max())
    return Affine(mean, size * float(((x - mean) / size).std()))


def power_of_two(x: np.ndarray) -> float:
    """The first power of two above the range of ``x``; 1 where that is 0.

    Divided by it no digit changes, and squares of very small numbers stay in float64.
    """
    return float(2.0 ** np.frexp(np.ptp(x))[1])


def spread(x: np.ndarray) -> float:
    """Standard deviation of the known values of ``x``; 0 where there is none."""
    known = x[~np.isnan(x)]
    found = zscore(known).scale if len(known) else 0.0
    return found if np.isfinite(found) else 0.0


def minmax(x: np.ndarray) -> Affine:
    """From 0 to 1 over ``x`` (n_rows,)."""
    width = float(np.ptp(x))
    return Affine(float(x.min()), width if width >= SMALLEST_SPREAD else np.inf)


def normal_scores(x: np.ndarray) -> Interpolation:
    """Standard normal over ``x`` (n_rows,), by ranks; ties share their middle rank.

    What scikit-learn's ``QuantileTransformer(output_distribution="normal")`` with a
    quantile for every row gives at the values of ``x``: the smallest and the largest
    go to -5.2 and 5.2. That class treats values less than 1e-7 apart as equal, which
    would flatten a column of small numbers; ranks know no such unit.
    """
    values, counts = np.unique(x, return_counts=True)
    if len(values) == 1:
        return Interpolation(values, np.zeros(1))
    last = np.cumsum(counts) - 1.0
    rank = last - (counts - 1) / 2
    share = rank / (len(x) - 1)
    share[0], share[-1] = 0.0, 1.0
    edge = 1e-7 - np.spacing(1)
    return Interpolation(values, ndtri(np.clip(share, edge, 1 - edge)))


def ranks(x: np.ndarray) -> Interpolation:
    """The place of each value among the distinct ones of ``x`` (n_rows,), from 0.

    A missing value stays one. All that a greedy search of axis-aligned splits needs
    to know, in whatever unit, and exact in float32.
    """
    values = np.unique(x[~np.isnan(x)])
    return Interpolation(values, np.arange(len(values), dtype=np.float64))


def unscaled(x: np.ndarray) -> Affine:
    """The values of ``x`` as they are."""
    return Affine()


SCALES: dict[str, Callable[[np.ndarray], Scale]] = {
    "quantile": normal_scores,
    "rank": ranks,
    "zscore": zscore,
    "minmax": minmax,
    "none": unscaled,
}
