"""The rows of a node along a number column, as a threshold is dragged over them."""

from collections.abc import Mapping
from math import ceil, floor, log10

import numpy as np

from treelab.figures.editing.node_rows import BINS, Groups
from treelab.trees.text.numerals import shortest

_MOST_TICKS = 5


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


def _ticks(low: float, high: float) -> list[float]:
    """Return at most six round numbers from one number to another."""
    least = (high - low) / _MOST_TICKS
    unit = 10.0 ** floor(log10(least))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= least * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(step * n) for n in range(first, last + 1)]
