"""Histograms of the rows at a node, small enough to travel to a browser.

A split's threshold is always an edge between two bars, so that each bar lies wholly on
one side of it, however few bars there are.
"""

from collections.abc import Sequence
from math import floor, isfinite, log10

import numpy as np

from treelab.trees.text.names import short
from treelab.trees.text.numerals import counted

MOST_BINS = 24
MOST_CATEGORIES = 12
_NAME_LENGTH = 40  # letters of a category's name
_TAIL = 0.005  # share of the rows at each end that may be gathered in the last bar
_LONG_TAIL = 1.5  # how much shorter an axis must become for that


def number_bins(
    x: np.ndarray,
    code: np.ndarray,
    n_codes: int,
    threshold: float | None,
    most: int = MOST_BINS,
) -> dict | None:
    """Count numbers by bin and class.

    Parameters
    ----------
    x : float array of shape (n_rows,)
        Without missing values.
    code : int array of shape (n_rows,)
        Class of each row, below ``n_codes``.
    n_codes : int
    threshold : float or None
        Becomes an edge of a bar, unless it is infinite; a row on it counts as below.
    most : int, default=24
        Bars, at least 2.

    Returns
    -------
    dict or None
        ``edges`` (k + 1), ``counts`` (k lists of n_codes) and ``open``, whether the
        first and the last bar hold what lies beyond their edges as well. Few
        different values have a bar each. None where there is no finite number.
    """
    finite = np.isfinite(x)
    x, code = x[finite], code[finite]
    if not len(x):
        return None
    if threshold is not None and not isfinite(threshold):
        threshold = None
    ordered = np.sort(x)
    values = ordered[np.concatenate([[True], ordered[1:] > ordered[:-1]])]
    if len(values) <= most:
        edges = _edges_of_values(values, threshold)
    else:
        edges = _even_edges(ordered, threshold, most)
    # Bars are closed on the right, as a split is: x <= threshold goes left.
    n_bars = len(edges) - 1
    bar = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, n_bars - 1)
    counts = np.bincount(bar * n_codes + code, minlength=n_bars * n_codes)
    return {
        "edges": rounded_edges(edges),
        "counts": counts.reshape(n_bars, n_codes).tolist(),
        "open": [bool(values[0] < edges[0]), bool(values[-1] > edges[-1])],
    }


def category_bars(
    names: Sequence[str],
    left: np.ndarray,
    category: np.ndarray,
    code: np.ndarray,
    n_codes: int,
    most: int = MOST_CATEGORIES,
) -> dict | None:
    """Count categories by class, those that go left first.

    Parameters
    ----------
    names : sequence of str
        Of each category.
    left : bool array of shape (n_categories,)
        Whether it goes left.
    category, code : int arrays of shape (n_rows,)
        Category and class of each row.
    n_codes : int
    most : int, default=12
        Bars; the rarer categories of each side are counted together.

    Returns
    -------
    dict or None
        ``categories`` (names of the bars), ``left`` (their sides) and ``counts``
        (k lists of n_codes), the most frequent first on each side; None without rows.
    """
    if not len(category):
        return None
    table = np.bincount(category * n_codes + code, minlength=len(names) * n_codes)
    table = table.reshape(len(names), n_codes)
    total = table.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0]
    shown = order if len(order) <= most else order[: most - 2]
    rest = order[len(shown) :]
    bars, sides, counts = [], [], []
    for side in (True, False):
        here = shown[left[shown] == side]
        bars += [short(names[c], _NAME_LENGTH) for c in here]
        counts += table[here].tolist()
        sides += [side] * len(here)
        more = rest[left[rest] == side]
        if len(more):
            bars.append(counted(len(more), "more", "more"))
            counts.append(table[more].sum(axis=0).tolist())
            sides.append(side)
    return {"categories": bars, "left": sides, "counts": counts}


def shared_edges(x: np.ndarray, n_bars: int) -> np.ndarray:
    """Return edges of ``n_bars`` even bars that hold almost all of ``x``."""
    low, high = _range(np.sort(x))
    return np.linspace(low, high if high > low else low + 1, n_bars + 1)


def counts_between(x: np.ndarray, edges: np.ndarray) -> list[list[int]]:
    """Count numbers by bar, one count a bar; the ends hold what lies beyond, too."""
    n_bars = len(edges) - 1
    bar = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, n_bars - 1)
    return np.bincount(bar, minlength=n_bars)[:, None].tolist()


def rounded_edges(edges: np.ndarray) -> list[float]:
    """Round edges so that they differ, however far from zero they lie."""
    span = float(edges[-1] - edges[0])
    if not (isfinite(span) and span > 0):
        return edges.tolist()
    decimals = 5 - floor(log10(span))
    if abs(decimals) > 300:
        return edges.tolist()
    few_digits = np.round(edges, decimals)
    return (few_digits if np.all(np.diff(few_digits) > 0) else edges).tolist()


def _edges_of_values(values: np.ndarray, threshold: float | None) -> np.ndarray:
    """Edges midway between neighbouring values; the threshold takes its gap."""
    gaps = np.diff(values)
    if len(gaps) == 0:
        gaps = np.array([abs(float(values[0])) * 0.1 or 1.0])
    edges = np.empty(len(values) + 1)
    middle = values[:-1] + np.diff(values) / 2
    edges[1:-1] = np.where(middle < values[1:], middle, values[:-1])
    edges[0] = min(values[0] - gaps[0] / 2, np.nextafter(values[0], -np.inf))
    edges[-1] = values[-1] + gaps[-1] / 2
    if threshold is None:
        return edges
    below = int(np.searchsorted(values, threshold, side="right"))  # values that go left
    if threshold < edges[0]:
        return np.concatenate([[threshold], edges])
    if threshold > edges[-1]:
        return np.concatenate([edges, [threshold]])
    edges[below] = threshold
    return edges


def _even_edges(x: np.ndarray, threshold: float | None, most: int) -> np.ndarray:
    """Edges of even bars; those left and right of the threshold differ a little."""
    low, high = _range(x)
    # Rice's rule: twice the cube root of the number of rows.
    n_bars = int(np.clip(np.ceil(2 * len(x) ** (1 / 3)), min(6, most), most))
    if threshold is None:
        return np.linspace(low, high, n_bars + 1)
    # A side with rows has a bar, even where they all lie on the threshold's value or
    # beyond the shortened axis.
    step = (high - low) / n_bars
    low = min(low, threshold - step if x[0] <= threshold <= low else threshold)
    high = max(high, threshold + step if high <= threshold < x[-1] else threshold)
    n_left = round(n_bars * (threshold - low) / (high - low))
    n_left = min(max(n_left, int(threshold > low)), n_bars - int(threshold < high))
    left = np.linspace(low, threshold, n_left + 1)
    right = np.linspace(threshold, high, n_bars - n_left + 1)
    return np.unique(np.concatenate([left, right]))


def _range(x: np.ndarray) -> tuple[float, float]:
    """Ends of an axis of ordered numbers: of all, or without long, thin tails."""
    low, high = float(x[0]), float(x[-1])
    inner_low, inner_high = (_quantile(x, share) for share in (_TAIL, 1 - _TAIL))
    if 0 < inner_high - inner_low < (high - low) / _LONG_TAIL:
        return inner_low, inner_high
    return low, high


def _quantile(x: np.ndarray, share: float) -> float:
    """Return numpy's quantile of ordered numbers, without its checks."""
    place = share * (len(x) - 1)
    first = floor(place)
    low, high = float(x[first]), float(x[min(first + 1, len(x) - 1)])
    return low + (high - low) * (place - first)
