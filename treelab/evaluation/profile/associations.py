"""How strongly columns go together, one measure from 0 to 1 for every pair of kinds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from treelab.data.columns import column_kind
from treelab.data.values import categories

MOST_ROWS = 5000  # of larger tables a sample is looked at
MOST_LEVELS = 200  # of a category; the rarer ones are taken together


@dataclass(frozen=True, eq=False)
class Associations:
    """How strongly columns go together.

    Attributes
    ----------
    names : list of str
    strength : float array of shape (k, k)
        In [0, 1]; NaN where two columns share too few rows.
    n_rows : int
        Rows looked at: all, or a sample.
    """

    names: list[str]
    strength: np.ndarray
    n_rows: int

    def strongest(self, most: int) -> list[tuple[str, str, float]]:
        """Return the pairs that go together most, the strongest first."""
        rows, others = np.triu_indices(len(self.names), 1)
        found = self.strength[rows, others]
        order = [k for k in np.argsort(-found, kind="stable") if not np.isnan(found[k])]
        return [
            (self.names[rows[k]], self.names[others[k]], float(found[k]))
            for k in order[:most]
        ]

    def order(self) -> np.ndarray:
        """Return the columns' places so that those that go together are neighbours."""
        if len(self.names) < 3:
            return np.arange(len(self.names))
        apart = 1 - np.nan_to_num(self.strength)
        return leaves_list(linkage(squareform(apart, checks=False), "average"))


def associations(frame: pd.DataFrame) -> Associations:
    """Measure how strongly each two columns go together.

    Two numbers: the size of Spearman's rank correlation. A number and a category: the
    correlation ratio of the number's ranks, the square root of the fraction of their
    variance that the category explains. Two categories: Cramér's V with Bergsma's
    correction (2013, doi:10.1016/j.jkss.2012.10.002), so that chance alone gives 0.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, k)
        Rows in which one of the two is missing are left out of the pair.
    """
    n_all = len(frame)
    if n_all > MOST_ROWS:
        rows = np.random.default_rng(0).choice(n_all, MOST_ROWS, replace=False)
        frame = frame.iloc[np.sort(rows)]
    columns = [_codes(column) for _, column in frame.items()]
    k = len(columns)
    strength = np.eye(k)
    for i in range(k):
        for j in range(i):
            strength[i, j] = strength[j, i] = _strength(columns[i], columns[j])
    return Associations([str(name) for name in frame.columns], strength, len(frame))


def _codes(column: pd.Series) -> np.ndarray:
    """Return numbers as float64, categories as int64; missing ones NaN or -1."""
    if column_kind(column) == "number":
        return column.to_numpy(np.float64, na_value=np.nan)
    codes, _ = categories(column)
    counts = np.bincount(codes[codes >= 0])
    if len(counts) <= MOST_LEVELS:
        return codes
    place = np.full(len(counts), MOST_LEVELS - 1)
    frequent = np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1]
    place[frequent] = np.arange(MOST_LEVELS - 1)
    return np.where(codes < 0, -1, place[codes])


def _strength(a: np.ndarray, b: np.ndarray) -> float:
    """Return how strongly two columns go together."""
    known = _known(a) & _known(b)
    a, b = a[known], b[known]
    if len(a) < 3:
        return float("nan")
    if a.dtype.kind == b.dtype.kind == "f":
        ranks = np.stack([rankdata(a), rankdata(b)])
        if (ranks.std(axis=1) == 0).any():
            return 0.0
        return float(abs(np.corrcoef(ranks)[0, 1]))
    if a.dtype.kind == "f":
        return _correlation_ratio(a, b)
    if b.dtype.kind == "f":
        return _correlation_ratio(b, a)
    return _cramers_v(a, b)


def _known(column: np.ndarray) -> np.ndarray:
    """Which cells have a value, bool (n_rows,)."""
    return ~np.isnan(column) if column.dtype.kind == "f" else column >= 0


def _correlation_ratio(number: np.ndarray, category: np.ndarray) -> float:
    """Return the correlation ratio of a number's ranks, corrected for chance."""
    ranks = rankdata(number)
    counts = np.bincount(category)
    means = np.bincount(category, ranks) / np.maximum(counts, 1)
    total = ((ranks - ranks.mean()) ** 2).sum()
    n, k = len(ranks), int((counts > 0).sum())
    if total == 0 or n <= k:
        return 0.0
    within = ((ranks - means[category]) ** 2).sum()
    # Kelley's epsilon squared: chance alone gives 0, as Bergsma's correction does.
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - k))))


def _cramers_v(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cramér's V of two categories, corrected for chance."""
    a, b = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    n, r, c = len(a), int(a.max()) + 1, int(b.max()) + 1
    if min(r, c) < 2:
        return 0.0
    counts = np.bincount(a * c + b, minlength=r * c).reshape(r, c)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi2 = float(((counts - expected) ** 2 / expected).sum()) / n
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(phi2 / smaller))) if smaller > 0 else 0.0
