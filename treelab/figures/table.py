"""The first rows of a table, a small histogram above each column, as HTML."""

import html
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from treelab.figures.style import shorten
from treelab.trees.cells import CATEGORY, holds_times, noted_form, read_column
from treelab.trees.date_parts import looks_like_dates, with_dates
from treelab.trees.words import percent

MOST_COLUMNS = 80
BINS = 20
ROWS = 8  # that are shown, from the first


def table_html(
    frame: pd.DataFrame,
    *,
    targets: Sequence[str] = (),
    numbers: Sequence[str] = (),
    left_out: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Draw the first rows of a table, with a histogram in the head of each column.

    A ``<table>`` in a scrolling box, styled by its classes; everything in it is
    escaped. Targets are marked and moved to the front; columns that are not among
    ``numbers`` are drawn as categories, and text that is among them by the numbers that
    it shows; those ``left_out`` are paler, since nothing is predicted from them, each
    with what it is. Beyond 80 columns the rest is counted in a last column.
    """
    columns = sorted(frame.columns, key=lambda name: name not in targets)
    shown, hidden = columns[:MOST_COLUMNS], columns[MOST_COLUMNS:]
    first = with_dates(frame[shown].head(ROWS), frame[shown])
    heads, classes = [], []
    for name in shown:
        css = "target" if name in targets else "out" if name in left_out else "used"
        css += " num" if name in numbers else ""
        note = "to predict" if name in targets else left_out.get(name, "")
        is_clock, column = holds_times(frame, str(name)), frame[name]
        if name in numbers and not is_numeric_dtype(column):  # as a model reads it
            form = noted_form(frame, str(name)) or CATEGORY
            column = read_column(column, form, "number")
        heads.append(_head(column, css, name in numbers, is_clock, note))
        classes.append(css)
    rest = "<td></td>" if hidden else ""
    rows = ""
    for row in first.itertuples(index=False, name=None):
        cells = (f'<td class="{c}">{_cell(v)}</td>' for c, v in zip(classes, row))
        rows += f"<tr>{''.join(cells)}{rest}</tr>"
    if hidden:
        heads.append(f'<th class="out">and {len(hidden):,} more columns</th>')
    # It scrolls sideways, so a keyboard must reach it.
    return (
        '<div class="tl-table" tabindex="0" role="group" aria-label="first rows">'
        f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{rows}</tbody></table>"
        "</div>"
    )


def spark_counts(column: pd.Series, is_number: bool) -> np.ndarray:
    """Count the rows of a column in each bin, or of each frequent category.

    Numbers fall into 20 equal bins between their 1st and 99th percentile, the tails
    into the outermost; categories give one count each, at most 12. None where every
    value is missing.
    """
    known = column.dropna()
    if not is_number:
        return known.astype(str).value_counts().to_numpy()[:12]
    values = pd.to_numeric(known, errors="coerce").to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return np.zeros(0, dtype=int)
    low, high = np.percentile(values, [1, 99])
    if low == high:
        low, high = values.min(), values.max()
    if low == high:
        return np.array([len(values)])
    # Given as edges, as numpy makes no bins narrower than the next float.
    return np.histogram(np.clip(values, low, high), np.linspace(low, high, BINS + 1))[0]


def _head(
    column: pd.Series, css: str, is_number: bool, is_clock: bool, note: str
) -> str:
    """Draw a column's head: histogram, name, kind and fraction missing."""
    missing = column.isna().mean()
    kind = f"{column.nunique():,} values"
    if is_number:
        kind = "date" if looks_like_dates(column) else "time" if is_clock else "number"
    gaps = f"{percent(missing)} missing" if missing else ""
    notes = filter(None, (note, kind, gaps))
    full = html.escape(str(column.name), quote=True)
    spark = _spark(spark_counts(column, is_number))
    return (
        f'<th class="{css}" title="{full}">{spark}'
        f"<b>{html.escape(shorten(column.name, 22))}</b>"
        f"<small>{' · '.join(notes)}</small></th>"
    )


def _spark(counts: np.ndarray) -> str:
    """Draw counts as bars; each is an empty element as tall as its count."""
    if len(counts) == 0:
        return '<div class="spark"></div>'
    tall = np.maximum(counts / counts.max() * 100, (counts > 0) * 4)
    bars = "".join(f'<i style="height:{h:.0f}%"></i>' for h in tall)
    return f'<div class="spark">{bars}</div>'


def _cell(value) -> str:
    """Write one cell; a missing value is written as such."""
    if pd.isna(value):
        return "<i>missing</i>"
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return str(value)
    if isinstance(value, float | np.floating):
        digits = 5 if abs(float(value)) < 1000 else 7  # of a date in years, the day
        return f"{value:.{digits}g}".replace("-", "−")
    return html.escape(shorten(value, 26))
