"""Pictures for editing a tree: the rows of a node along its threshold."""

from collections.abc import Collection, Mapping, Sequence
from math import ceil, floor, log10

import numpy as np
import plotly.graph_objects as go

from treelab.figures.style import (
    LEARNER_COLORS,
    Mode,
    escape_html,
    even_edges,
    shorten,
    template,
    with_alpha,
)
from treelab.trees.dates import days_text, first_moment_after
from treelab.trees.tree import midpoint
from treelab.trees.words import clock_text, last_time, rounded, shortest, threshold_text

# The rows of a node by the categories of a column, and which of them go left.


BINS = 40
HEIGHT = 210
NAME_LENGTH = 18  # letters of a category's name
_FADED = 0.35

# Of each group of rows: its name, which rows are in it, and its colour.
Groups = Sequence[tuple[str, np.ndarray, str]]


def category_figure(
    codes: np.ndarray,
    categories: Sequence[str],
    left: Collection[str],
    groups: Groups,
    *,
    title: str,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the rows of a node by category; those that go right are pale.

    ``codes`` (n,) are places in ``categories``, -1 where it is missing; ``left`` are
    those that go left; the title is that of the axis: the column.
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    shown = [c for c in np.argsort(-counts, kind="stable").tolist() if counts[c]]
    shown = shown[:BINS]
    shown.sort(key=lambda code: categories[code] not in left)
    names = [escape_html(shorten(categories[code], NAME_LENGTH)) for code in shown]
    ticks = {"tickvals": [*range(len(shown))], "ticktext": names}
    figure = go.Figure().update_layout(
        template=template(mode),
        barmode="stack",
        bargap=0.05,
        height=HEIGHT,
        margin={"t": 24, "b": 36},
        showlegend=False,  # the tree beside it names the colours
        xaxis={"title": escape_html(title), **ticks},
        yaxis={"title": "training rows", "separatethousands": True},
    )
    for name, members, color in groups:
        if not members.any():
            continue
        of_group = np.bincount(codes[(codes >= 0) & members], minlength=len(categories))
        figure.add_bar(
            x=[*range(len(shown))],
            y=of_group[shown],
            name=escape_html(name),
            marker_color=[
                color if categories[code] in left else with_alpha(color, _FADED)
                for code in shown
            ],
            customdata=names,
            hovertemplate="%{y} rows of %{customdata}<extra>%{fullData.name}</extra>",
        )
    return figure


def one_group(n_rows: int) -> Groups:
    """Return all rows of a node as one group, where nothing tells them apart."""
    return [("rows", np.ones(n_rows, dtype=bool), LEARNER_COLORS["get"])]


# The rows of a node along a number column, as a threshold is dragged over them.


_MOST_TICKS = 5
MOST_STOPS = 200  # of the line that is dragged


def threshold_rows(
    x: np.ndarray,
    groups: Groups,
    stops: Mapping[float, str],
    threshold: float | None,
    *,
    kind: str = "number",
) -> dict:
    """Return what a histogram with a threshold that can be dragged is drawn from.

    Plain values: ``edges`` of the bars; ``groups`` (name, colour, and rows in each
    bar); ``top``, the rows of the highest bar; ``x_ticks`` and ``y_ticks`` (value and
    text); ``stops`` (value, text, rows at most the value), with the ``sign`` before the
    text; ``at``, the place of the threshold in them, or None; ``n_rows`` that have a
    value.

    Missing ones of the values ``x`` (n,) are neither drawn nor counted. ``stops`` are
    where the threshold may stand, ascending, and how that is written; where it is none
    of them no line is drawn. The ``kind`` is "number", "date" (years with decimals) or
    "clock" (hours).
    """
    known = np.isfinite(x)
    low, high = (x[known].min(), x[known].max()) if known.any() else (0.0, 1.0)
    edges = even_edges(low, high, BINS)
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
        "x_ticks": [(at, _tick_text(at, kind)) for at in _ticks(edges[0], edges[-1])],
        "y_ticks": [(at, f"{at:,.0f}") for at in _ticks(0, top) if at == int(at)],
        "sign": "before" if kind == "date" else "≤",
        "stops": [(at, text, n) for (at, text), n in zip(stops.items(), n_left)],
        "at": place.get(threshold) if threshold is not None else None,
        "n_rows": len(ranked),
    }


def threshold_stops(
    x: np.ndarray,
    fitted: np.ndarray | None,
    wanted: float | None,
    *,
    kind: str = "number",
) -> dict[float, str]:
    """Return where a threshold may stand, between two values, and how it is written.

    Ascending, at most about ``MOST_STOPS``. ``x`` (n,) are the values of the rows on
    which splits are chosen, NaN where missing, and ``fitted`` (m,) of those that the
    tree is fitted to: a tree writes its thresholds with these in mind; None of a
    weighted sum. The ``wanted`` threshold, the split's own, takes the place of the stop
    that parts ``x`` alike. The ``kind`` is as of ``threshold_rows``.
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
        lower = {s: np.searchsorted(values, s, side="right") for s in found}
        found = {stop for stop in found if lower[stop] != alike} | {wanted}
    if fitted is None:
        return {stop: rounded(stop) for stop in sorted(found)}
    known = np.array([-np.inf, *np.unique(fitted[np.isfinite(fitted)]), np.inf])
    above = {stop: np.searchsorted(known, stop, side="right") for stop in found}
    writers = {"date": first_moment_after, "clock": last_time}
    write = writers.get(kind, threshold_text)
    return {
        stop: write(stop, known[above[stop] - 1], known[above[stop]])
        for stop in sorted(found)
    }


def _tick_text(at: float, kind: str) -> str:
    """Write a place on the axis."""
    if kind == "clock":
        return clock_text(at)
    return days_text(at) if kind == "date" and at % 1 else shortest(at)


def _ticks(low: float, high: float) -> list[float]:
    """Return at most six round numbers from one number to another."""
    least = (high - low) / _MOST_TICKS
    unit = 10.0 ** floor(log10(least))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= least * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(step * n) for n in range(first, last + 1)]
