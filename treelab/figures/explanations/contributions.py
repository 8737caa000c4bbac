"""What each column changes in one prediction, from the mean to where it is."""

from collections.abc import Sequence

import plotly.graph_objects as go

from treelab.figures.style.colors import Mode, palette
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten
from treelab.trees.text.numerals import counted, significant

NAME_LENGTH = 22  # letters of a bar's name
WORTH_A_BAR = 0.02  # of the largest change
_ROOM = 0.4  # of the axis, on either side, for the numbers


def contributions_figure(
    names: Sequence[str],
    changes: Sequence[float],
    base: float,
    *,
    title: str,
    most: int = 8,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a bar a column, each beginning where the one above it ends.

    Parameters
    ----------
    names : sequence of str of length k
        Columns, or weighted sums.
    changes : sequence of float of length k
        What each changes, the largest absolute change first.
    base : float
        The mean prediction, where the bars begin.
    title : str
        What is predicted, with its unit.
    most : int, default=8
        Columns that get a bar; a last one stands for all others together, also for
        those whose bars would hardly be seen.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Bars carry the full name as ``customdata``.
    """
    theme = palette(mode)
    names, changes = _folded(list(names), list(changes), most)
    ends = [base]
    for change in changes:
        ends.append(ends[-1] + change)
    figure = go.Figure()
    figure.add_bar(
        x=changes,
        # Two names may be alike once they are shortened.
        y=list(range(len(names))),
        base=ends[:-1],
        orientation="h",
        marker_color=[theme.accent if own > 0 else theme.muted for own in changes],
        text=[signed(own, 2) for own in changes],
        textposition="outside",
        textfont={"size": 13, "color": theme.text},
        cliponaxis=False,
        customdata=[escape_html(name) for name in names],
        hovertemplate="%{customdata}: %{text}<extra></extra>",
        name="change",
    )
    low, high = min(ends), max(ends)
    span = high - low or abs(base) or 1.0
    marks = (("mean", base, 0), ("this row", ends[-1], 18))
    for words, value, above in marks:  # one above the other: they may be close
        figure.add_vline(
            x=value,
            line={"color": theme.line, "width": 1, "dash": "dot"},
            annotation={
                "text": f"{words} {significant(value)}",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "center",
                "yshift": above,
                "showarrow": False,
            },
        )
    return figure.update_layout(
        template=template(mode),
        height=120 + 30 * len(names),
        margin={"l": 8, "r": 8, "t": 48, "b": 8},
        showlegend=False,
        xaxis={
            "title": {"text": escape_html(title)},
            "range": [low - _ROOM * span, high + _ROOM * span],
            "nticks": 5,
        },
        yaxis={
            "autorange": "reversed",
            "showgrid": False,
            "tickvals": list(range(len(names))),
            "ticktext": [escape_html(shorten(name, NAME_LENGTH)) for name in names],
        },
    )


def _folded(
    names: list[str], changes: list[float], most: int
) -> tuple[list[str], list[float]]:
    """The bars that are drawn: the largest, and all others as one."""
    least = WORTH_A_BAR * max(map(abs, changes), default=0.0)
    shown = min(most, sum(abs(own) >= least for own in changes))
    if len(names) <= shown + 1:
        return names, changes
    rest = counted(len(names) - shown, "other")
    return [*names[:shown], rest], [*changes[:shown], sum(changes[shown:])]


def signed(value: float, digits: int = 3) -> str:
    """Return a change with its sign."""
    text = significant(value, digits)
    return f"+{text}" if value > 0 else text
