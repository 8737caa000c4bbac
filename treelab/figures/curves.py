"""Loss curves of runs, together on one chart or a panel each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.figures.style import Mode, escape_html, palette, template
from treelab.trees.words import significant

MAX_POINTS = 600  # a line; a screen shows no more
COLUMNS = 2  # panels side by side
LEAST_X = 10  # epochs or seconds that the axis holds from the start
LONGEST_START = 24  # letters beside a start; more do not fit on a narrow screen
HEADROOM = 1.25  # the axis ends above the baseline loss by this factor


@dataclass(frozen=True)
class Curve:
    """One run's losses as a chart shows them.

    Attributes
    ----------
    name : str
        As the legend writes it; unique on one chart.
    color : str
        Hex colour.
    x : ndarray of shape (n_points,)
        Epochs, or seconds since training began.
    train_loss, valid_loss : ndarray of shape (n_points,)
        In the unit that the axis names; NaN where none was measured.
    start : str
        What the model was at the first point, in a few words; "" where that is no
        start.
    before_x, before_loss : ndarray of shape (n_before,)
        What comes before ``x``, dotted: the loss on held-out rows of the trees that a
        cross-validation trains.
    """

    name: str
    color: str
    x: np.ndarray
    train_loss: np.ndarray
    valid_loss: np.ndarray
    start: str = ""
    before_x: np.ndarray = field(default_factory=lambda: np.empty(0))
    before_loss: np.ndarray = field(default_factory=lambda: np.empty(0))


def loss_figure(
    curves: Sequence[Curve],
    *,
    x_title: str = "epoch",
    y_title: str = "loss",
    baseline: float | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw all runs on one chart, training solid, validation dashed.

    A dot marks each run's lowest validation loss. A validation loss far above that
    of the baseline is named at the upper edge instead of squeezing all other curves.

    Parameters
    ----------
    curves : sequence of Curve
        In the order of the legend, their losses in one unit; may be empty.
    x_title, y_title : str
        What the axes hold, with units.
    baseline : float, optional
        Loss of a constant prediction; drawn as a thin line.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    figure, end = go.Figure(), _end(curves)
    # The starts of several runs lie on each other: their words wait for the pointer.
    alone = sum(bool(curve.start) for curve in curves) == 1
    for curve in curves:
        _add_lines(figure, curve, mode, end if alone else None)
    _add_legend_of_dashes(figure, mode)
    top = _top(curves, baseline)
    if top is not None:
        _add_names_beyond(figure, curves, top)
    if baseline is not None:
        figure.add_hline(
            y=baseline,
            line={"color": palette(mode).line, "width": 1},
            annotation={"text": "baseline", "font_color": palette(mode).muted},
            annotation_position="top right",
        )
    return figure.update_layout(
        template=template(mode),
        height=340,
        uirevision="loss",
        hovermode="closest",
        xaxis={"title": x_title, "range": [-0.015 * end, end]},
        yaxis={
            "title": y_title,
            "range": [0, top] if top else None,
            "rangemode": "tozero",
        },
    )


def loss_panels(
    curves: Sequence[Curve],
    *,
    x_title: str = "epoch",
    y_title: str = "loss",
    mode: Mode = "light",
) -> go.Figure:
    """Draw a panel for each run, each with axes of its own.

    Parameters
    ----------
    curves : sequence of Curve
        In reading order; at least one.
    x_title, y_title : str
        What the axes hold, with units.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.
    """
    n_columns = min(COLUMNS, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure = make_subplots(
        rows=n_rows,
        cols=n_columns,
        subplot_titles=[escape_html(curve.name) for curve in curves],
        horizontal_spacing=0.1,
        vertical_spacing=min(0.2, 0.4 / n_rows),
    )
    for place, curve in enumerate(curves):
        row, column = divmod(place, n_columns)
        # A panel has no room above its curve for the words of a start.
        _add_lines(figure, curve, mode, None, row=row + 1, col=column + 1)
    _add_legend_of_dashes(figure, mode)
    figure.update_xaxes(rangemode="tozero", title=x_title)
    figure.update_yaxes(rangemode="tozero", title=y_title)
    height = max(380, 60 + 260 * n_rows)
    return figure.update_layout(
        template=template(mode),
        height=height,
        uirevision="loss",
        hovermode="closest",
        legend_y=1 + 36 / height,
        margin_t=76,
    )


def thin(n_points: int, most: int = MAX_POINTS) -> np.ndarray:
    """Return at most ``most`` evenly spaced row numbers, first and last included."""
    if n_points <= most:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, most).round().astype(int))


def _end(curves: Sequence[Curve]) -> float:
    """Where the axis of epochs or seconds ends, a little beyond the last point."""
    ends = [x.max() for c in curves for x in (c.x, c.before_x) if len(x)]
    last = max(ends, default=0.0)
    return max(LEAST_X, last * 1.02)


def _top(curves: Sequence[Curve], baseline: float | None) -> float | None:
    """Where the axis ends; None where every loss fits without squeezing the rest."""
    if baseline is None or not baseline > 0:
        return None
    highest = max(
        (
            np.nanmax(loss)
            for c in curves
            for loss in (*_losses(c), c.before_loss)
            if _any(loss)
        ),
        default=0.0,
    )
    return max(baseline * HEADROOM, min(highest * 1.05, baseline * 2 * HEADROOM))


def _add_names_beyond(figure: go.Figure, curves: Sequence[Curve], top: float) -> None:
    """Name at the upper edge each run whose validation loss now lies beyond it."""
    beyond = [
        (curve, curve.valid_loss[np.isfinite(curve.valid_loss)][-1])
        for curve in curves
        if _any(curve.valid_loss)
        and curve.valid_loss[np.isfinite(curve.valid_loss)][-1] > top
    ]
    for place, (curve, loss) in enumerate(beyond):
        figure.add_annotation(
            text=f"▲ {escape_html(curve.name)}: {significant(loss)} on validation rows",
            x=1,
            xref="paper",
            xanchor="right",
            y=top,
            yanchor="top",
            yshift=-18 * place,
            showarrow=False,
            font={"color": curve.color},
        )


def _add_lines(
    figure: go.Figure,
    curve: Curve,
    mode: Mode,
    end: float | None,
    row: int | None = None,
    col: int | None = None,
) -> None:
    """Draw a run's two lines and the dot at its lowest validation loss."""
    name = escape_html(curve.name)
    for losses, split, dash in zip(
        _losses(curve), ("training", "validation"), ("solid", "dash")
    ):
        seen = np.flatnonzero(np.isfinite(losses))
        seen = seen[thin(len(seen))] if len(seen) else seen
        single = len(seen) == 1
        figure.add_scatter(
            x=curve.x[seen],
            y=losses[seen],
            name=name,
            mode="lines+markers" if single else "lines",
            line={"color": curve.color, "dash": dash, "width": 2.2},
            marker={
                "color": curve.color,
                "size": 9,
                "symbol": "circle" if split == "training" else "circle-open",
            },
            cliponaxis=not single,  # a single point may lie on the axis
            legendgroup=name,
            showlegend=split == "training" and row is None,
            hovertemplate=f"{name}, {split} rows: %{{y:.4g}}<extra></extra>",
            row=row,
            col=col,
        )
    if len(curve.before_x):
        figure.add_scatter(
            x=curve.before_x,
            y=curve.before_loss,
            mode="lines+markers" if len(curve.before_x) == 1 else "lines",
            line={"color": curve.color, "dash": "dot", "width": 1.6},
            legendgroup=name,
            showlegend=False,
            hovertemplate=f"{name}, cross-validation, rows held out: %{{y:.4g}}"
            "<extra></extra>",
            row=row,
            col=col,
        )
    _name_start(figure, curve, end, row, col)
    if np.isfinite(curve.valid_loss).sum() > 1:
        best = int(np.nanargmin(curve.valid_loss))
        figure.add_scatter(
            x=curve.x[[best]],
            y=curve.valid_loss[[best]],
            mode="markers",
            marker={
                "color": curve.color,
                "size": 10,
                "line": {"color": palette(mode).background, "width": 2},
            },
            legendgroup=name,
            showlegend=False,
            hovertemplate=f"{name}, lowest validation loss: %{{y:.4g}}<extra></extra>",
            row=row,
            col=col,
        )


def _name_start(
    figure: go.Figure, curve: Curve, end: float | None, row: int | None, col: int | None
) -> None:
    """Mark where a curve begins, and say with what, on the side with more room.

    ``end`` is where the axis ends; None: the words are seen on hover only.
    """
    losses = next((loss for loss in reversed(_losses(curve)) if _any(loss[:1])), None)
    if not curve.start or losses is None:
        return
    words = curve.start
    if len(words) > LONGEST_START:
        words = words.partition(":")[0]
    figure.add_scatter(
        x=curve.x[:1],
        y=losses[:1],
        mode="markers" if end is None else "markers+text",
        text=[escape_html(words)],
        textposition="top left" if end and curve.x[0] > end / 2 else "top right",
        textfont={"color": curve.color, "size": 12},
        marker={"color": curve.color, "size": 8, "symbol": "square"},
        legendgroup=escape_html(curve.name),
        showlegend=False,
        hovertemplate=f"{escape_html(curve.name)}, {escape_html(curve.start)}: "
        "%{y:.4g}<extra></extra>",
        row=row,
        col=col,
    )


def _add_legend_of_dashes(figure: go.Figure, mode: Mode) -> None:
    """Explain the two dashes in the legend, in the colour of its text."""
    for split, dash in (("training rows", "solid"), ("validation rows", "dash")):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=split,
            line={"color": palette(mode).muted, "dash": dash, "width": 2},
            hoverinfo="skip",
        )


def _losses(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Both losses of a curve, training first."""
    return curve.train_loss, curve.valid_loss


def _any(losses: np.ndarray) -> bool:
    """Whether any loss was measured."""
    return bool(np.isfinite(losses).any())
