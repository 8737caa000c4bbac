"""The distribution of the target."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.style import (
    Mode,
    class_colors,
    escape_html,
    palette,
    shorten,
    template,
    time_ticks,
)
from treelab.trees.words import named_with_unit, percent, short_time

MOST_CLASSES = 12
MOST_BINS = 32
_LETTER = 7  # pixels that a letter beside a bar takes


def target_figure(
    target: pd.Series,
    task: str,
    unit: str = "",
    colors: dict | None = None,
    mode: Mode = "light",
    *,
    times: bool = False,
) -> go.Figure:
    """Draw how often each class, or each range of the number, occurs.

    Bars in the order of frequency, in their colours, beyond twelve classes the rest as
    one; or a histogram of at most 32 bins, the unit on its axis; ``times`` are hours
    that are written as times. Missing values are left out.
    """
    known = target.dropna()
    if task == "regression":
        return _histogram(known.astype(float), unit, mode, times)
    return _bars(known, {str(label): c for label, c in (colors or {}).items()}, mode)


def _histogram(values: pd.Series, unit: str, mode: Mode, times: bool) -> go.Figure:
    """Draw a number's histogram; the browser gets counts, not rows."""
    finite = values[np.isfinite(values)].to_numpy()
    n_bins = int(np.clip(np.sqrt(len(finite)), 1, MOST_BINS))
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    room = 0.5 * (low == high)
    # Given as edges, as numpy makes no bins narrower than the next float.
    edges = np.linspace(low - room, high + room, n_bins + 1)
    counts, _ = np.histogram(finite, edges)
    middle, width = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    ends = [short_time(edge) if times else f"{edge:.4g}" for edge in edges]
    bars = go.Bar(
        x=middle,
        y=counts,
        width=width * 0.94,
        marker={"color": palette(mode).accent, "line_width": 0},
        customdata=np.column_stack([ends[:-1], ends[1:]]),
        hovertemplate="%{customdata[0]} to %{customdata[1]}: %{y} rows<extra></extra>",
    )
    title = named_with_unit(values.name, "" if times else unit)
    ticks = time_ticks(low, high) if times else {}
    return go.Figure(bars).update_layout(
        template=template(mode),
        height=240,
        showlegend=False,
        xaxis={"title": escape_html(title), **ticks},
        yaxis={"title": "rows", "separatethousands": True},
    )


def _bars(labels: pd.Series, class_color: dict[str, str], mode: Mode) -> go.Figure:
    """Draw a bar a class, the most frequent first."""
    counts = labels.astype(str).value_counts()
    by_frequency = zip(counts.index, class_colors(len(counts)))
    colors = [class_color.get(label, color) for label, color in by_frequency]
    if len(counts) > MOST_CLASSES:
        rest = counts.iloc[MOST_CLASSES - 1 :]
        counts = counts.iloc[: MOST_CLASSES - 1]
        counts[f"{len(rest)} others"] = rest.sum()
        colors = [*colors[: MOST_CLASSES - 1], palette(mode).line]
    fraction = counts / max(counts.sum(), 1)
    texts = [f"{n:,} · {percent(part)}" for n, part in zip(counts, fraction)]
    figure = go.Figure()
    names = [escape_html(shorten(label, 24)) for label in counts.index]
    places = list(range(len(names)))  # two names may be alike once they are shortened
    figure.add_bar(
        y=places,
        x=counts,
        customdata=names,
        orientation="h",
        marker={"color": colors[: len(counts)], "line_width": 0},
        text=texts,
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{customdata}: %{x:,} rows<extra></extra>",
    )
    return figure.update_layout(
        template=template(mode),
        height=56 + 34 * len(counts),
        margin={"r": 8 + _LETTER * max(map(len, texts), default=0), "t": 8},
        showlegend=False,
        bargap=0.35,
        xaxis={"visible": False},
        yaxis={
            "autorange": "reversed",
            "tickvals": places,
            "ticktext": names,
            "showgrid": False,
            "ticklabelstandoff": 6,
        },
    )
