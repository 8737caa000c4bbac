"""Pictures of what columns do to predictions."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from treelab.evaluation.importance import Dependence
from treelab.figures.style import (
    Mode,
    escape_html,
    palette,
    shorten,
    template,
    time_ticks,
    with_alpha,
)
from treelab.trees.dates import from_decimal_years
from treelab.trees.feature import Feature
from treelab.trees.words import counted, short, short_time, signed, significant

# What each column changes in one prediction, from the mean to where it is.


NAME_LENGTH = 22  # letters of a bar's name
WORTH_A_BAR = 0.02  # of the largest change
_ROOM = 0.4  # of the axis, on either side, for the numbers


def contributions_figure(
    names: Sequence[str],
    changes: Sequence[float],
    base: float,
    *,
    values: Sequence[str] = (),
    colors: tuple[str, str] | None = None,
    title: str,
    most: int = 8,
    times: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar a column, each beginning where the one above it ends.

    Names are of k columns, or weighted sums, and ``changes`` are what each changes, the
    largest absolute change first, from ``base`` on, the mean prediction. ``values``,
    what the row holds there, are written below the names. The colours are of bars to
    the right, and to the left: such as of the predicted class and of the other one;
    None: the accent, and grey. The title is what is predicted, with its unit; ``times``
    are hours that are written as times.

    At most ``most`` columns get a bar; a last one stands for all others together, also
    for those whose bars would hardly be seen. The figure has room for as many, so that
    one row's is as tall as another's. Bars carry the full name as ``customdata``.
    """
    theme = palette(mode)
    n_bars = most + (len(names) > most)
    right, left = colors or (theme.accent, theme.muted)
    values = list(values) or [""] * len(names)
    names, changes, values = _folded(list(names), list(changes), values, most)
    ends = [base]
    for change in changes:
        ends.append(ends[-1] + change)
    bars = go.Bar(
        x=changes,
        # Two names may be alike once they are shortened.
        y=list(range(len(names))),
        base=ends[:-1],
        orientation="h",
        width=0.62,
        marker_color=[right if own > 0 else left for own in changes],
        text=[_change_text(own, times) for own in changes],
        textposition="outside",
        textfont={"size": 13, "color": theme.text},
        cliponaxis=False,
        customdata=[
            escape_html(f"{name}, {value}" if value else name)
            for name, value in zip(names, values)
        ],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        name="change",
    )
    low, high = min(ends), max(ends)
    span = high - low or abs(base) or 1.0
    marks = (("mean", base, 0), ("this row", ends[-1], 18))
    line = {"color": theme.line, "width": 1, "dash": "dot"}
    rule = {
        "type": "line",
        "xref": "x",
        "y0": 0,
        "y1": 1,
        "yref": "paper",
        "line": line,
    }
    note = {"xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom"}
    # Made at once, as plotly takes longer to change a figure; each row has one.
    layout = go.Layout(
        template=template(mode),
        height=100 + 40 * n_bars,
        margin={"l": 8, "r": 8, "t": 44, "b": 8},
        showlegend=False,
        dragmode=False,  # nothing to zoom into, and drawn sooner without
        shapes=[{**rule, "x0": value, "x1": value} for _, value, _ in marks],
        annotations=[
            {**note, "x": value, "showarrow": False, "yshift": above}
            | {"text": f"{words} {short_time(value) if times else significant(value)}"}
            for words, value, above in marks  # one above the other: they may be close
        ],
        xaxis={
            "title": {"text": escape_html(title)},
            "fixedrange": True,
            "range": [low - _ROOM * span, high + _ROOM * span],
            "nticks": 5,
            **(time_ticks(low - _ROOM * span, high + _ROOM * span, 5) if times else {}),
        },
        yaxis={
            "fixedrange": True,
            "range": [n_bars - 0.5, -0.5],
            "showgrid": False,
            "tickvals": list(range(len(names))),
            "ticktext": [
                _named(name, value, theme.muted) for name, value in zip(names, values)
            ],
        },
    )
    return go.Figure(bars, layout)


def _change_text(change: float, times: bool) -> str:
    """Write what a bar changes, with its sign."""
    if times:
        return f"+{short_time(change)}" if change > 0 else short_time(change)
    return signed(change, 2)


def _named(name: str, value: str, color: str) -> str:
    """What stands beside a bar: its name, and below it the row's value."""
    text = escape_html(shorten(name, NAME_LENGTH))
    if not value:
        return text
    below = escape_html(short(value, NAME_LENGTH + 4))
    return f'{text}<br><span style="font-size:11px;color:{color}">{below}</span>'


def _folded(
    names: list[str], changes: list[float], values: list[str], most: int
) -> tuple[list[str], list[float], list[str]]:
    """The bars that are drawn: the largest, and all others as one."""
    least = WORTH_A_BAR * max(map(abs, changes), default=0.0)
    shown = min(most, sum(abs(own) >= least for own in changes))
    if len(names) <= shown + 1:
        return names, changes, values
    rest, total = counted(len(names) - shown, "other"), sum(changes[shown:])
    return [*names[:shown], rest], [*changes[:shown], total], [*values[:shown], ""]


# How the prediction depends on one column: the mean, rows, and the row explained.


MOST_LINES = 60  # rows that are drawn
FEW_VALUES = 6  # that each have a tick
_EVEN = 101  # places of steps that can be pointed at
DEPENDENCE_NAME_LENGTH = 18  # letters of a category


def dependence_figure(
    found: Dependence,
    own: np.ndarray | None = None,
    *,
    title: str,
    feature: Feature,
    times: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw the mean prediction by the values of a column, and rows behind it.

    ``own`` (n_values,) are predictions of the one row that is explained; the title is
    what is predicted, with its unit. The feature is that of the column: its dates and
    times are written as such, and so are predictions that are ``times``.
    """
    theme = palette(mode)
    values, shape = found.values, "linear"
    place = np.arange(len(values))
    if found.seen is not None:
        # Up to each value the line is level; between them there is much to point at.
        shape, even = "vh", np.linspace(found.seen[0], found.seen[-1], _EVEN)
        values = np.union1d(values, even)
        place = np.searchsorted(found.values, values)
    x = values.tolist() if found.is_number else list(range(len(values)))
    if feature.is_date:
        x = from_decimal_years(values).tolist()
    ends = np.union1d(0, np.flatnonzero(np.diff(place, append=-1)))
    lines = found.lines[:: max(1, -(-len(found.lines) // MOST_LINES))]
    figure = go.Figure()
    figure.add_scatter(
        x=[*(x[end] for end in ends), None] * len(lines),
        y=[value for line in lines[:, place[ends]] for value in [*line.tolist(), None]],
        mode="lines",
        line={"color": with_alpha(theme.muted, 0.25), "width": 1, "shape": shape},
        hoverinfo="skip",
        name="single rows",
    )
    # Between categories there is nothing that a line could show.
    marks = "lines" if found.is_number else "markers"
    texts = [escape_html(text) for text in found.texts(feature)]
    drawn: list[tuple] = [("mean", found.mean, theme.text, None, None)]
    if own is not None:
        drawn.append(("this row", np.asarray(own), theme.accent, "dash", "diamond"))
    for label, y, color, dash, symbol in drawn:
        figure.add_scatter(
            x=x,
            y=y[place].tolist(),
            mode=marks,
            line={"color": color, "width": 3, "dash": dash, "shape": shape},
            marker={"color": color, "size": 11, "symbol": symbol},
            customdata=[texts[k] for k in place],
            text=[short_time(value) if times else f"{value:.3g}" for value in y[place]],
            hovertemplate="%{text} (%{customdata})<extra>%{fullData.name}</extra>",
            name=label,
        )
    name = escape_html(feature.title)
    axis = {"title": {"text": name}, "unifiedhovertitle": {"text": name}, "nticks": 8}
    few = found.values if found.seen is None else found.seen
    if not found.is_number:
        names = (shorten(str(value), DEPENDENCE_NAME_LENGTH) for value in found.values)
        axis |= {"tickvals": x, "ticktext": [escape_html(name) for name in names]}
        axis["tickangle"] = -35 if len(x) > 4 else 0
    elif feature.is_clock:
        axis |= time_ticks(values[0], values[-1])
    elif len(few) <= FEW_VALUES:
        axis["tickvals"] = from_decimal_years(few) if feature.is_date else few
    heights = time_ticks(lines.min(), lines.max(), 6) if times else {}
    return figure.update_layout(
        template=template(mode),
        height=380,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        xaxis=axis,
        yaxis={"title": {"text": escape_html(title)}, "nticks": 6, **heights},
        hovermode="x unified",
    )


# How much each column matters overall, as bars.


IMPORTANCE_NAME_LENGTH = 24  # letters of a bar's name


def importance_figure(
    columns: Sequence[str],
    importance: Sequence[float],
    std: Sequence[float] | None = None,
    *,
    title: str,
    most: int = 12,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar a column, the most important on top.

    Importances are the largest first, of which the first ``most`` are drawn, their
    standard deviations as error bars. The title is what a bar's length is.
    """
    theme = palette(mode)
    columns, values = list(columns)[:most], [float(v) for v in importance][:most]
    errors = [0.0] * len(values) if std is None else [float(v) for v in std][:most]
    reach = max([v + e for v, e in zip(values, errors)] or [0])
    low = min([v - e for v, e in zip(values, errors)] or [0])
    low, reach = min(low, 0.0), reach or 1.0
    bars = {"array": errors, "color": theme.text, "thickness": 1.2, "width": 3}
    figure = go.Figure()
    figure.add_bar(
        x=values,
        y=list(range(len(columns))),  # two names may be alike once shortened
        orientation="h",
        marker_color=theme.accent,
        error_x={"type": "data", **bars} if std is not None and errors else None,
        customdata=[[escape_html(c), significant(v)] for c, v in zip(columns, values)],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        name="importance",
    )
    return figure.update_layout(
        template=template(mode),
        height=92 + 26 * max(len(columns), 1),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": escape_html(title)},
            "range": [low - 0.02 * (reach - low), reach * 1.1],  # clear of the names
            "nticks": 5,
        },
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "tickvals": list(range(len(columns))),
            "ticktext": [
                escape_html(shorten(c, IMPORTANCE_NAME_LENGTH)) for c in columns
            ],
        },
    )
