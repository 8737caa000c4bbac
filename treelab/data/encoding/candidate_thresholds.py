"""Candidate thresholds of encoded columns, and the yes/no columns that they make."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Candidates:
    """K candidate splits ``x[:, feature] <= threshold``.

    Attributes
    ----------
    feature : ndarray of shape (K,), int64
        Encoded column that each candidate tests.
    threshold : ndarray of shape (K,), float64
        Midway between two values of the column, in encoded numbers.
    """

    feature: np.ndarray
    threshold: np.ndarray

    def right(self, x: np.ndarray) -> np.ndarray:
        """Whether each row of ``x`` (n, F) goes right, as 0 and 1 (n, K)."""
        return (x[:, self.feature] > self.threshold).astype(np.int32)


def candidate_thresholds(x: np.ndarray, n_thresholds: int) -> Candidates:
    """Choose thresholds of every column of ``x`` (n, F), evenly by number of rows.

    A column of at most ``n_thresholds + 1`` different values gets every threshold
    that parts two of them, so that nothing is lost by the choice. Missing values do
    not count.
    """
    features, thresholds = [], []
    for feature, column in enumerate(x.T):
        column = column[~np.isnan(column)]
        values = np.unique(column)
        middles = values[:-1] + (values[1:] - values[:-1]) / 2
        if len(middles) > n_thresholds:
            wanted = np.quantile(column, np.linspace(0, 1, n_thresholds + 2)[1:-1])
            place = np.searchsorted(values, wanted, side="right") - 1
            middles = middles[np.unique(place.clip(0, len(middles) - 1))]
        features += [feature] * len(middles)
        thresholds.append(middles)
    return Candidates(
        np.array(features, dtype=np.int64), np.concatenate([np.empty(0), *thresholds])
    )
