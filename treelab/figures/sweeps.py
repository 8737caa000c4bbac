"""The trials of a sweep, one after another, against their size and their settings."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.figures.style import Mode, escape_html, palette, shorten, template
from treelab.trees.words import significant

HEIGHT = 300
NAME_LENGTH = 20
LOG_FACTOR = 20  # an axis whose numbers span more is logarithmic
MOST_TICKS = 5


def history_figure(
    trials: pd.DataFrame, score_title: str, *, mode: Mode = "light"
) -> go.Figure:
    """Draw each trial's score in the order of the trials, and the best so far.

    Trials are what ``treelab.runs.sweeps.trial_table`` returns; the title is that of
    the axis: "macro F1".
    """
    theme = palette(mode)
    done, pruned = (trials[trials["state"] == state] for state in ("done", "pruned"))
    figure = go.Figure()
    best = done["score"].cummax()
    figure.add_scatter(
        x=done["trial"].tolist(),
        y=best.tolist(),
        mode="lines",
        line={"shape": "hv", "color": theme.accent, "width": 2},
        name="best so far",
        hoverinfo="skip",
    )
    _add_points(figure, done, "trial", name="trial", color=theme.accent)
    _add_points(
        figure, pruned, "trial", name="pruned", color=theme.muted, symbol="x-thin-open"
    )
    return _laid_out(figure, mode, "trial", score_title)


def size_figure(
    trials: pd.DataFrame, score_title: str, *, mode: Mode = "light"
) -> go.Figure:
    """Draw each trial's score against its leaves, and the frontier of both.

    The frontier joins the trials than which none has a higher score with as few
    leaves. Parameters as of ``history_figure``.
    """
    theme = palette(mode)
    done = trials[trials["state"] == "done"].sort_values(
        ["n_leaves", "score"], ascending=[True, False]
    )
    frontier = done[done["score"] > done["score"].cummax().shift(fill_value=-np.inf)]
    figure = go.Figure()
    figure.add_scatter(
        x=frontier["n_leaves"].tolist(),
        y=frontier["score"].tolist(),
        mode="lines",
        line={"shape": "hv", "color": theme.accent, "width": 2},
        name="frontier",
        hoverinfo="skip",
    )
    _add_points(figure, done, "n_leaves", name="trial", color=theme.accent)
    return _laid_out(figure, mode, "leaves", score_title)


def parallel_figure(
    trials: pd.DataFrame,
    settings: dict[str, str],
    score_title: str,
    *,
    mode: Mode = "light",
) -> go.Figure:
    """Draw each trial as a line through its settings to its score.

    The settings are columns of ``trials``, with the names of their axes; other
    parameters as of ``history_figure``.
    """
    theme = palette(mode)
    done = trials[trials["state"] == "done"]
    axes = [
        _axis(done[name], shorten(label, NAME_LENGTH))
        for name, label in settings.items()
        if name in done
    ]
    axes.append({"label": score_title, "values": done["score"].tolist()})
    figure = go.Figure(
        go.Parcoords(
            dimensions=axes,
            line={
                "color": done["score"].tolist(),
                "colorscale": [[0, theme.grid], [1, theme.accent]],
            },
            labelfont={"color": theme.text, "size": 13},
            tickfont={"color": theme.muted, "size": 12},
            rangefont={"color": "rgba(0,0,0,0)", "size": 1},
        )
    )
    return figure.update_layout(
        template=template(mode),
        height=HEIGHT + 60,
        margin={"l": 60, "r": 60, "t": 60, "b": 24},
    )


def _axis(values: pd.Series, label: str) -> dict:
    """Return an axis of parallel coordinates: numbers, their logarithms, or words."""
    numbers = pd.to_numeric(values, errors="coerce")
    is_bool = values.map(lambda value: isinstance(value, bool)).any()
    if numbers.isna().any() or is_bool:
        words = ["none" if pd.isna(value) else str(value) for value in values]
        known = sorted(set(words))
        places = [known.index(word) for word in words]
        ticks = list(range(len(known)))
        names = [shorten(word, NAME_LENGTH) for word in known]
    else:
        low, high = float(numbers.min()), float(numbers.max())
        if not (low > 0 and high / low > LOG_FACTOR):
            return {"label": label, "values": numbers.tolist()}
        powers = np.geomspace(low, high, MOST_TICKS)
        places = np.log10(numbers.astype(float)).tolist()
        ticks, names = np.log10(powers).tolist(), [significant(t, 2) for t in powers]
    return {"label": label, "values": places, "tickvals": ticks, "ticktext": names}


def _add_points(
    figure: go.Figure,
    trials: pd.DataFrame,
    column: str,
    *,
    name: str,
    color: str,
    symbol: str = "circle",
) -> None:
    """Add a point a trial, with its settings in the hover label."""
    hidden = {"trial", "state", "score", "seconds", "error", "standard_error"}
    shown = [each for each in trials if each not in hidden | {"n_leaves", "tree_depth"}]
    words = [
        "<br>".join(
            f"{escape_html(each)} {escape_html(str(value))}"
            for each, value in zip(shown, row)
        )
        for row in trials[shown].itertuples(index=False)
    ]
    figure.add_scatter(
        x=trials[column].tolist(),
        y=trials["score"].tolist(),
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 8, "opacity": 0.8},
        customdata=[list(pair) for pair in zip(trials["trial"].tolist(), words)],
        hovertemplate="trial %{customdata[0]}: %{y:.3f}<br>%{customdata[1]}"
        "<extra></extra>",
        name=name,
    )


def _laid_out(figure: go.Figure, mode: Mode, x: str, y: str) -> go.Figure:
    """Give a figure the look of all."""
    return figure.update_layout(
        template=template(mode),
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 44, "b": 8},
        xaxis={"title": {"text": x}, "rangemode": "tozero"},
        yaxis={"title": {"text": escape_html(y)}},
    )
