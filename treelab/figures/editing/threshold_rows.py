"""The rows of a node along a number column, as a threshold is dragged over them."""

from collections.abc import Mapping
from math import ceil, floor, log10

import numpy as np

from treelab.figures.editing.node_rows import BINS, Groups
from treelab.trees.midpoints import midpoint
from treelab.trees.text.numerals import rounded, shortest, threshold_text

_MOST_TICKS = 5
MOST_STOPS = 200  # of the line that is dragged


def threshold_rows(
    x: np.ndarray,
    groups: Groups,
    stops: Mapping[float, str],
    threshold: float | None,
) -> dict:
    """Return what a histogram with a threshold that can be dragged is drawn from.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values; missing ones are neither drawn nor counted.
    groups : sequence of (str, bool ndarray of shape (n,), str)
        Stacked bars: name, rows, colour.
    stops : mapping of float to str
        Where the threshold may stand, ascending, and how that is written.
    threshold : float or None
        One of ``stops``; else no line is drawn.

    Returns
    -------
    dict
        Plain values: ``edges`` of the bars; ``groups`` (name, colour, and rows in each
        bar); ``top``, the rows of the highest bar; ``x_ticks`` and ``y_ticks`` (value
        and text); ``stops`` (value, text, rows at most the value); ``at``, the place
        of the threshold in them, or None; ``n_rows`` that have a value.
    """
    known = np.isfinite(x)
    low, high = (x[known].min(), x[known].max()) if known.any() else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    bars = [
        (name, color, np.histogram(x[known & members], bins=edges)[0])
        for name, members, color in groups
    ]
    stacked = np.sum([counts for _, _, counts in bars], axis=0)
    top = max(int(stacked.max(initial=0)), 1)
    ranked = np.sort(x[~np.isnan(x)])
    n_left = np.searchsorted(ranked, [*stops], side="right").tolist()
    place = {at: number for number, at in enumerate(stops)}
    return {
        "edges": edges.tolist(),
        "groups": [(name, color, counts.tolist()) for name, color, counts in bars],
        "top": top,
        "x_ticks": [(at, shortest(at)) for at in _ticks(edges[0], edges[-1])],
        "y_ticks": [(at, f"{at:,.0f}") for at in _ticks(0, top) if at == int(at)],
        "stops": [(at, text, n) for (at, text), n in zip(stops.items(), n_left)],
        "at": place.get(threshold) if threshold is not None else None,
        "n_rows": len(ranked),
    }


def threshold_stops(
    x: np.ndarray, fitted: np.ndarray | None, wanted: float | None
) -> dict[float, str]:
    """Return where a threshold may stand, between two values, and how it is written.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values of the rows on which splits are chosen; NaN where missing.
    fitted : ndarray of shape (m,) or None
        Values of the rows that the tree is fitted to: a tree writes its thresholds
        with these in mind. None of a weighted sum.
    wanted : float or None
        The split's own threshold, in place of the stop that parts ``x`` alike.

    Returns
    -------
    dict of float to str
        Ascending, at most about ``MOST_STOPS``.
    """
    values = np.unique(x[np.isfinite(x)])
    low, high = values[:-1], values[1:]
    if len(low) > MOST_STOPS:
        # As many rows between any two stops.
        ranked = np.sort(x[np.isfinite(x)])
        steps = np.linspace(0, len(ranked) - 1, MOST_STOPS).astype(int)
        place = np.unique(np.searchsorted(values, ranked[steps]))
        place = place[place < len(low)]
        low, high = low[place], high[place]
    found = {float(midpoint(a, b)) for a, b in zip(low.tolist(), high.tolist())}
    if wanted is not None and np.isfinite(wanted) and wanted not in found:
        alike = np.searchsorted(values, wanted, side="right")
        found = {
            stop
            for stop in found
            if np.searchsorted(values, stop, side="right") != alike
        } | {wanted}
    if fitted is None:
        return {stop: rounded(stop) for stop in sorted(found)}
    known = np.array([-np.inf, *np.unique(fitted[np.isfinite(fitted)]), np.inf])
    above = {stop: np.searchsorted(known, stop, side="right") for stop in found}
    return {
        stop: threshold_text(stop, known[above[stop] - 1], known[above[stop]])
        for stop in sorted(found)
    }


def _ticks(low: float, high: float) -> list[float]:
    """Return at most six round numbers from one number to another."""
    least = (high - low) / _MOST_TICKS
    unit = 10.0 ** floor(log10(least))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= least * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(step * n) for n in range(first, last + 1)]
