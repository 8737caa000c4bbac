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
HEADROOM = 1.25  # the axis ends above the baseline loss by this factor
NEAR = 1.4  # a baseline above all losses by more than this factor is only named


@dataclass(frozen=True)
class Curve:
    """One run's losses as a chart shows them."""

    name: str  # as the legend writes it; unique on one chart
    color: str  # hex colour
    x: np.ndarray  # (n_points,): epochs, or seconds since training began
    # (n_points,): in the unit that the axis names; NaN where none was measured.
    train_loss: np.ndarray
    valid_loss: np.ndarray
    # What the model was at the first point, in a few words; "" where that is no start.
    start: str = ""
    symbol: str = "circle"  # plotly's name of its marker
    # (n_before,): what comes before ``x``, dotted: the loss on held-out rows of the
    # trees that a cross-validation trains.
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

    A mark stands at each run's lowest validation loss. A validation loss far above that
    of the baseline, a constant prediction, and a baseline far above all losses, is
    named at the upper edge instead of squeezing the curves.

    Curves, perhaps none, are in the order of the legend, their losses in one unit;
    titles are what the axes hold, with units.
    """
    figure = go.Figure()
    for curve in curves:
        _add_lines(figure, curve, mode)
    _add_legend_of_dashes(figure, curves, mode)
    low, top = _range(curves, baseline)
    if top is not None:
        _add_names_beyond(figure, curves, top)
    if baseline is not None:
        _add_baseline(figure, baseline, top, mode)
    end = _end(curves, percent="%" in x_title)
    return figure.update_layout(
        template=template(mode),
        height=340,
        uirevision="loss",
        hovermode="closest",
        xaxis={"title": x_title, "range": [-0.015 * end, end]},
        yaxis={
            "title": y_title,
            "range": [low, top] if top else None,
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
    """Draw a panel for each run, one at least, in order, each with axes of its own."""
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
        _add_lines(figure, curve, mode, row=row + 1, col=column + 1)
    _add_legend_of_dashes(figure, curves, mode)
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


def thin(n_points: int) -> np.ndarray:
    """Return at most ``MAX_POINTS`` evenly spaced row numbers, both ends included."""
    if n_points <= MAX_POINTS:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, MAX_POINTS).round().astype(int))


def _end(curves: Sequence[Curve], *, percent: bool) -> float:
    """Where the axis of epochs, seconds or per cent ends, beyond the last point."""
    if percent:
        return 102.0
    ends = [x.max() for c in curves for x in (c.x, c.before_x) if len(x)]
    last = max(ends, default=0.0)
    return max(LEAST_X, last * 1.02)


def _range(
    curves: Sequence[Curve], baseline: float | None
) -> tuple[float, float | None]:
    """Where the axis of losses begins and ends; None where every loss fits."""
    if baseline is None or not baseline > 0:
        return 0.0, None
    seen = [
        loss[np.isfinite(loss)]
        for curve in curves
        for loss in (*_losses(curve), curve.before_loss)
        if _any(loss)
    ]
    if not seen:
        return 0.0, baseline * HEADROOM
    highest = max(loss.max() for loss in seen)
    top = min(highest * 1.1, baseline * 2 * HEADROOM)
    if baseline <= top * NEAR:
        top = max(top, baseline * 1.1)
    lowest = min(loss.min() for loss in seen)
    return (0.0 if lowest < top / 2 else lowest - (top - lowest) / 4), top


def _add_baseline(
    figure: go.Figure, baseline: float, top: float | None, mode: Mode
) -> None:
    """Draw the baseline, or name it at the upper edge where it lies beyond."""
    if top is None or baseline <= top:
        figure.add_hline(
            y=baseline,
            line={"color": palette(mode).line, "width": 1},
            annotation={"text": "baseline", "font_color": palette(mode).muted},
            annotation_position="top right",
        )
        return
    figure.add_annotation(
        text=f"▲ baseline {significant(baseline)}",
        x=1,
        xref="paper",
        xanchor="right",
        y=1,
        yref="paper",
        yanchor="top",  # the legend stands above
        showarrow=False,
        font={"color": palette(mode).muted},
    )


def _add_names_beyond(figure: go.Figure, curves: Sequence[Curve], top: float) -> None:
    """Name at the upper edge each run whose validation loss now lies beyond it."""
    last = [
        (curve, curve.valid_loss[np.isfinite(curve.valid_loss)][-1])
        for curve in curves
        if _any(curve.valid_loss)
    ]
    beyond = [(curve, loss) for curve, loss in last if loss > top]
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
    row: int | None = None,
    col: int | None = None,
) -> None:
    """Draw a run's two lines, and marks at its start and its lowest validation loss."""
    name, color = escape_html(curve.name), curve.color

    def draw(x: np.ndarray, y: np.ndarray, what: str, **look) -> None:
        """Draw a line, or a point, that is called so on hover."""
        look = {"showlegend": False, "row": row, "col": col} | look
        hover = f"{name}, {what}: %{{y:.4g}}<extra></extra>"
        figure.add_scatter(x=x, y=y, legendgroup=name, hovertemplate=hover, **look)

    for losses, split, dash in zip(
        _losses(curve), ("training", "validation"), ("solid", "dash")
    ):
        seen = np.flatnonzero(np.isfinite(losses))
        seen = seen[thin(len(seen))] if len(seen) else seen
        single, is_filled = len(seen) == 1, split == "training"
        symbol = curve.symbol if is_filled else f"{curve.symbol}-open"
        draw(
            curve.x[seen],
            losses[seen],
            f"{split} rows",
            name=name,
            mode="lines+markers" if single else "lines",
            line={"color": color, "dash": dash, "width": 2.2},
            marker={"color": color, "size": 9, "symbol": symbol},
            cliponaxis=not single,  # a single point may lie on the axis
            showlegend=is_filled and row is None,
        )
    if n := len(curve.before_x):
        draw(
            curve.before_x,
            curve.before_loss,
            "cross-validation, rows held out",
            mode="lines+markers" if n == 1 else "lines",
            line={"color": color, "dash": "dot", "width": 1.6},
        )
    first = next((loss for loss in reversed(_losses(curve)) if _any(loss[:1])), None)
    if curve.start and first is not None:
        mark = {"color": color, "size": 7, "symbol": "line-ns-open"}
        mark["line"] = {"color": color, "width": 2}
        start = escape_html(curve.start)
        draw(curve.x[:1], first[:1], start, mode="markers", marker=mark)
    if np.isfinite(curve.valid_loss).sum() > 1:
        best = [int(np.nanargmin(curve.valid_loss))]
        mark = {"color": color, "size": 10, "symbol": curve.symbol}
        mark["line"] = {"color": palette(mode).background, "width": 2}
        at = curve.x[best], curve.valid_loss[best]
        draw(*at, "lowest validation loss", mode="markers", marker=mark)


def _add_legend_of_dashes(
    figure: go.Figure, curves: Sequence[Curve], mode: Mode
) -> None:
    """Explain dashes in the legend, in its text's colour, where both are drawn."""
    if not any(_any(curve.valid_loss) for curve in curves):
        return
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
