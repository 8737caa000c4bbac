"""Loss curves of runs, on one chart or one panel a run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.figures.colors import Mode, palette, with_alpha
from treelab.figures.template import template
from treelab.figures.words import escape_html

MAX_POINTS = 600  # a line; more cannot be told apart on a screen
COLUMNS = 2  # panels side by side


@dataclass(frozen=True)
class Curve:
    """One run's losses as a chart shows them.

    Attributes
    ----------
    name : str
        As the legend writes it; unique on one chart.
    color : str
        Hex colour.
    epoch, train_loss, valid_loss : ndarray of shape (n_points,)
        Losses in the learner's own unit; NaN where none was measured.
    """

    name: str
    color: str
    epoch: np.ndarray
    train_loss: np.ndarray
    valid_loss: np.ndarray

    def relative(self) -> "Curve":
        """Return the curve as shares of its first training loss (or validation's)."""
        start = next(
            (
                losses[np.isfinite(losses)][0]
                for losses in (self.train_loss, self.valid_loss)
                if np.isfinite(losses).any()
            ),
            1.0,
        )
        start = start if start > 0 else 1.0
        return Curve(
            self.name,
            self.color,
            self.epoch,
            self.train_loss / start,
            self.valid_loss / start,
        )


def loss_figure(curves: Sequence[Curve], mode: Mode = "light") -> go.Figure:
    """Draw all runs on one chart, each loss as a share of that run's first one.

    Learners measure different losses, so shares are what one axis can hold. A dot
    marks each run's lowest validation loss.

    Parameters
    ----------
    curves : sequence of Curve
        In the order of the legend; may be empty.
    mode : {"light", "dark"}, default="light"
        The ground that the figure lies on.
    """
    figure = go.Figure()
    for curve in curves:
        _add_lines(figure, curve.relative(), mode, unit="of the first loss")
    _add_legend_of_dashes(figure, mode)
    return figure.update_layout(
        template=template(mode),
        height=380,
        uirevision="loss",
        hovermode="closest",
        xaxis={"title": "epoch", "rangemode": "tozero"},
        yaxis={
            "title": "loss, as a share of the run's first",
            "rangemode": "tozero",
            "tickformat": ".0%",
        },
    )


def loss_panels(curves: Sequence[Curve], mode: Mode = "light") -> go.Figure:
    """Draw a panel for each run, its losses in the learner's own unit.

    Parameters
    ----------
    curves : sequence of Curve
        In reading order; at least one.
    mode : {"light", "dark"}, default="light"
        The ground that the figure lies on.
    """
    n_columns = min(COLUMNS, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure = make_subplots(
        rows=n_rows,
        cols=n_columns,
        subplot_titles=[escape_html(curve.name) for curve in curves],
        horizontal_spacing=0.08,
        vertical_spacing=min(0.16, 0.4 / n_rows),
    )
    for place, curve in enumerate(curves):
        row, column = divmod(place, n_columns)
        _add_lines(figure, curve, mode, row=row + 1, col=column + 1)
    _add_legend_of_dashes(figure, mode)
    figure.update_xaxes(rangemode="tozero", title="epoch")
    figure.update_yaxes(rangemode="tozero", title="loss")
    return figure.update_layout(
        template=template(mode),
        height=max(380, 40 + 250 * n_rows),
        uirevision="loss",
        hovermode="closest",
        legend_y=1.08 if n_rows > 1 else 1.12,
    )


def _add_lines(
    figure: go.Figure,
    curve: Curve,
    mode: Mode,
    unit: str = "",
    row: int | None = None,
    col: int | None = None,
) -> None:
    """Draw a run's two lines and the dot at its lowest validation loss."""
    name = escape_html(curve.name)
    number = ".1%" if unit else ".4g"
    rows = thin(len(curve.epoch))
    for losses, split, dash in (
        (curve.train_loss, "training", "solid"),
        (curve.valid_loss, "validation", "dash"),
    ):
        seen = rows[np.isfinite(losses[rows])]
        figure.add_scatter(
            x=curve.epoch[seen],
            y=losses[seen],
            name=name,
            mode="lines+markers" if len(seen) == 1 else "lines",
            line={"color": curve.color, "dash": dash, "width": 2.2},
            legendgroup=name,
            showlegend=split == "training" and row is None,
            hovertemplate=f"{name}, {split} rows<br>epoch %{{x:.4g}}: "
            f"%{{y:{number}}} {unit}<extra></extra>",
            row=row,
            col=col,
        )
    if np.isfinite(curve.valid_loss).sum() > 1:
        best = int(np.nanargmin(curve.valid_loss))
        figure.add_scatter(
            x=curve.epoch[[best]],
            y=curve.valid_loss[[best]],
            mode="markers",
            marker={
                "color": curve.color,
                "size": 10,
                "line": {"color": palette(mode).ground, "width": 2},
            },
            legendgroup=name,
            showlegend=False,
            hovertemplate=f"{name}: lowest validation loss, %{{y:{number}}} {unit}"
            "<br>epoch %{x:.4g}<extra></extra>",
            row=row,
            col=col,
        )


def _add_legend_of_dashes(figure: go.Figure, mode: Mode) -> None:
    """Explain the two dashes in the legend, in the colour of words."""
    color = with_alpha(palette(mode).text, 0.7)
    for split, dash in (("training rows", "solid"), ("validation rows", "dash")):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="lines",
            name=split,
            line={"color": color, "dash": dash, "width": 2},
            hoverinfo="skip",
        )


def thin(n_points: int, most: int = MAX_POINTS) -> np.ndarray:
    """Return at most ``most`` evenly spread row numbers that keep first and last."""
    if n_points <= most:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, most).round().astype(int))
