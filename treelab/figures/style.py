"""Colours, the plotly template and the words that all figures share."""

import html
from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.trees.colors import OKABE_ITO, Mode, mix, palette
from treelab.trees.words import clock_text, round_times

# Colours of learners and classes; those of the light and the dark mode are a tree's.


# One colour and marker a learner, on every page; no class has that colour.
LEARNER_COLORS = {
    "cart": "#6B7280",
    "gradtree": "#6A5ACD",
    "grande": "#D81B60",
    "get": "#00838F",
    "get_linear": "#2BA6B5",
    "argmin": "#857500",
    "optimal": "#8C564B",
    "clusters": "#857500",  # an argmin tree as well
    "imported": "#A0785A",
}
LEARNER_SYMBOLS = {
    "cart": "circle",
    "gradtree": "diamond",
    "grande": "square",
    "get": "triangle-up",
    "get_linear": "triangle-down",
    "argmin": "cross",
    "optimal": "pentagon",
    "clusters": "cross",
    "imported": "x",
}

# Okabe and Ito's eight, blue first; then Tol's muted ones for tables of many classes.
_CLASS_COLORS = (*OKABE_ITO, "#882255", "#999933", "#332288", "#AA4499")

SEQUENTIAL = "Viridis"


def learner_color(learner: str, settings: dict | None = None) -> str:
    """Return the hex colour of a learner, by its key; grey for one that has none yet.

    GET with linear leaves, as its settings say, has one of its own.
    """
    return LEARNER_COLORS.get(_kind(learner, settings), "#7A7A7A")


def learner_symbol(learner: str, settings: dict | None = None) -> str:
    """Return plotly's name of a learner's marker; arguments as ``learner_color``."""
    return LEARNER_SYMBOLS.get(_kind(learner, settings), "hexagon")


def _kind(learner: str, settings: dict | None) -> str:
    """Name a learner; GET with linear leaves is another one."""
    is_linear = learner == "get" and (settings or {}).get("leaves") == "linear"
    return "get_linear" if is_linear else learner


def class_colors(n_classes: int) -> list[str]:
    """Return ``n_classes`` hex colours, for classes in the order of frequency.

    Beyond twelve classes colours repeat, so a letter or a label must go with them.
    """
    return [_CLASS_COLORS[i % len(_CLASS_COLORS)] for i in range(n_classes)]


def label_colors(labels: pd.Series, classes: Sequence | None = None) -> dict:
    """Return a hex colour for each class, the most frequent among the labels first.

    Of equally frequent ones the first comes first. Given classes may have no row; else
    they are those that occur, sorted.
    """
    counts = labels.value_counts()
    known = sorted(counts.index.tolist()) if classes is None else classes
    ranked = sorted(known, key=lambda label: -counts.get(label, 0))
    return dict(zip(ranked, class_colors(len(ranked))))


def add_ring(
    figure: go.Figure, x, y, color: str, *, size=18, width: float = 2, more=None
) -> None:
    """Draw a ring around a point; ``more`` is what else plotly's scatter takes."""
    line = {"width": width}
    ring = {"symbol": "circle-open", "size": size, "color": color, "line": line}
    look = {"mode": "markers", "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=[x], y=[y], marker=ring, **look | (more or {}))


def shade(color: str, step: int, mode: Mode = "light") -> str:
    """Return a colour mixed into the background, for older runs of a learner.

    ``step`` 0 is the colour itself; from 3 on shades are alike.
    """
    return mix(color, palette(mode).background, (1.0, 0.62, 0.42, 0.3)[min(step, 3)])


def with_alpha(color: str, alpha: float) -> str:
    """Return a hex colour as CSS ``rgba`` with an opacity in [0, 1]."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def contrast(first: str, second: str) -> float:
    """Return the contrast of two hex colours, 1 to 21 (WCAG 2.2, section 1.4.3)."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_on(color: str) -> str:
    """Return near-black or white, whichever reads better on a hex colour."""
    return max(("#101614", "#FFFFFF"), key=lambda text: contrast(color, text))


def _luminance(color: str) -> float:
    """Relative luminance of a hex colour, by WCAG's definition."""
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# The look of every plotly figure, light and dark.


# Streamlit ships this face; the rest stands in for it in exported figures.
FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'


@cache
def template(mode: Mode = "light") -> go.layout.Template:
    """Return the plotly template of one mode: quiet axes, no box, room to breathe.

    Nothing is registered with plotly; a figure copies it.
    """
    colors = palette(mode)
    axis = {
        "gridcolor": colors.grid,
        "linecolor": colors.line,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": colors.muted, "size": 13},
        "title": {"font": {"color": colors.muted, "size": 13}, "standoff": 8},
        "automargin": True,
    }
    layout = go.Layout(
        font={"family": FONT, "size": 14, "color": colors.text},
        title={"font": {"size": 16, "color": colors.text}, "x": 0, "xanchor": "left"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        colorway=class_colors(8),
        margin={"l": 8, "r": 8, "t": 32, "b": 8},
        xaxis={**axis, "showgrid": False, "showline": True},
        yaxis=axis,
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 13, "color": colors.text},
        },
        hoverlabel={
            "bgcolor": colors.panel,
            "bordercolor": colors.line,
            "font": {"family": FONT, "color": colors.text, "size": 13},
        },
        annotationdefaults={"font": {"color": colors.muted, "size": 13}},
        dragmode=False,
        bargap=0.15,
    )
    return go.layout.Template(layout=layout)


# Bins of a histogram, and ticks of an axis of times.


def time_ticks(low: float, high: float, most: int = 7) -> dict[str, list]:
    """Return the ticks of an axis of hours that are times, from the first to the last.

    Plotly has no scale for these: its dates know no 25:30.
    """
    values = round_times(low, high, most)
    return {"tickvals": values, "ticktext": [clock_text(value) for value in values]}


def even_edges(low: float, high: float, n_bins: int) -> np.ndarray:
    """Return the edges of even bins from one number to another, or above the only one.

    These are apart even where the next number after it is more than 1 away.
    """
    least = max(1.0, float(np.spacing(abs(low))))
    return np.linspace(low, high if high > low else low + least, n_bins + 1)


# Text for pictures: cut to length, safe in HTML.


def escape_html(text: object) -> str:
    """Return text that plotly shows as it stands, whatever a table's columns hold."""
    # Plotly would read a dollar sign pair as LaTeX.
    return html.escape(str(text), quote=False).replace("$", "&#36;")


def shorten(text: object, length: int) -> str:
    """Return text of at most ``length`` characters, cut at its end with an ellipsis."""
    text = str(text)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
