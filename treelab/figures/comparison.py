"""Pictures of two models or several, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from treelab.evaluation.comparison import SplitLine, split_lines
from treelab.evaluation.frontier import HELD_OUT, TEST, FrontierLine
from treelab.evaluation.metrics import (
    COST_SAVED,
    TITLES,
    by_row,
    headline,
    headline_score,
)
from treelab.evaluation.node_report import rows_at_node
from treelab.evaluation.paired_bootstrap import ScoreDifference, paired_bootstrap
from treelab.figures.curves import thin
from treelab.figures.frontier import DrawnLine, frontier_figure
from treelab.figures.matrix import cell_numbers, matrix_cells, matrix_figure
from treelab.figures.style import (
    SEQUENTIAL,
    Mode,
    add_ring,
    escape_html,
    learner_color,
    mix,
    palette,
    shade,
    shorten,
    template,
    time_ticks,
)
from treelab.trees.dates import from_decimal_years
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.losses import SQUARED_ERROR, Loss
from treelab.trees.pruning import SizePath
from treelab.trees.tree import Tree, task_of
from treelab.trees.words import clock_text, counted, short_time, significant

# The difference of two models' scores, with its interval, around zero.


_ON_ONE_SCALE = ("macro_f1", "accuracy", "d2", "r2")  # scores that one figure can hold


def difference_figure(
    differences: Mapping[str, ScoreDifference],
    first: str,
    second: str,
    *,
    colors: tuple[str, str],
    mode: Mode = "light",
) -> go.Figure:
    """Draw each difference as a point on its interval.

    Of the scores, by their keys, those that are on one scale are drawn; to the right of
    zero the second model scores more. A difference that is not clear is grey, others
    have the colours of the models.
    """
    theme = palette(mode)
    figure = go.Figure()
    drawn = [own for name, own in differences.items() if name in _ON_ONE_SCALE]
    for row in drawn:
        color = colors[int(row.estimate > 0)] if row.clear else theme.muted
        figure.add_scatter(
            x=[row.low, row.estimate, row.high],
            y=[row.title] * 3,
            mode="lines+markers",
            line={"color": color, "width": 4},
            marker={
                "color": color,
                "size": [1, 14, 1],
                "symbol": "circle" if row.clear else "circle-open",
                "line": {"width": 2, "color": color},
            },
            hovertemplate=(
                f"{significant(row.estimate)}, interval {significant(row.low)} to "
                f"{significant(row.high)}<extra></extra>"
            ),
            name=row.title,
        )
    ends = [abs(end) for row in drawn for end in (row.low, row.high)]
    reach = 1.15 * max([1e-3, *ends])
    zero = {"type": "line", "xref": "x", "x0": 0, "x1": 0, "yref": "paper"}
    zero |= {"y0": 0, "y1": 1, "line": {"color": theme.text, "width": 1}}
    arrows = ("left", f"← {first} better"), ("right", f"{second} better →")
    return figure.update_layout(
        template=template(mode),
        height=96 + 44 * len(drawn),
        showlegend=False,
        shapes=[zero],
        annotations=[
            {"x": x, "xref": "x", "xanchor": anchor, "y": 1, "yref": "paper"}
            | {"text": escape_html(arrow), "yshift": 14, "showarrow": False}
            for x, (anchor, arrow) in zip((-reach, reach), arrows)
        ],
        xaxis={
            "title": {"text": f"{escape_html(second)} minus {escape_html(first)}"},
            "range": [-reach, reach],
            "tickformat": ".3~r",
            "nticks": 7,
        },
        yaxis={"showgrid": False, "autorange": "reversed"},
    )


# Fitted models compared in a notebook: which is better, and at what size.


def compare(a, b, X, y, sample_weight=None) -> go.Figure:
    """Draw how the scores of two fitted models differ on the same rows.

    Parameters
    ----------
    a, b : fitted estimators or models
        Anything with ``predict``, for the same target.
    X : table of shape (n_rows, n_columns)
        Rows that neither was trained on.
    y : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,) or None, default=None
        What each row counts; None: all alike.

    Returns
    -------
    go.Figure
        Each score of ``b`` minus that of ``a``, with its 95% interval from a paired
        bootstrap of the rows; the title says what is found.
    """
    fitted = one, other = _Fitted(a), _Fitted(b)
    names = _distinct(fitted)
    # One that names no classes may predict them nevertheless.
    task = one.task if one.task != "regression" else other.task
    both = a.predict(X), b.predict(X)
    for name, predicted in zip(names, both):
        if np.ndim(predicted) == 2 and np.shape(predicted)[1] != 1:
            raise ValueError(
                f"{name} predicts {np.shape(predicted)[1]} numbers for each row; "
                "compare models of one, such as tree.of_output(NAME)."
            )
    loss = one.loss if one.loss == other.loss else None
    found = paired_bootstrap(task, y, *both, sample_weight, loss=loss)
    first_color, second_color = _colors(fitted)
    figure = difference_figure(found, *names, colors=(first_color, second_color))
    best = found[headline(task, loss)]
    winner = best.winner
    if best.same:
        words = f"Both predict the same: {best.title} {significant(best.first)}"
    elif winner is None:
        words = f"No clear difference: {best.title} {significant(best.estimate)}"
    else:
        gain = significant(abs(best.estimate))
        words = f"{names[winner]} gains {gain} {best.title} over {names[1 - winner]}"
    rows = counted(best.n_rows, "row")
    return figure.update_layout(title=f"{words}, on {rows}", margin_t=72)


def frontier(
    models: Mapping[str, object] | Sequence, X=None, y=None, sample_weight=None
) -> go.Figure:
    """Draw score against number of leaves for fitted models, a line each.

    Parameters
    ----------
    models : sequence of fitted estimators, or mapping of name to one
        Single trees with ``path_`` are lines, their retained tree in a ring; other
        models, ensembles, are a line across, for which ``X`` and ``y`` are needed.
    X, y : table and target, or None
        Rows on which every tree is scored. None: the scores on the rows that were
        held out while the trees were trained, as ``path_`` has them.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        What each row of ``X`` counts; None: all alike.

    Returns
    -------
    go.Figure

    Raises
    ------
    ValueError
        If there is nothing to draw, or some models predict classes and some numbers.
    """
    given = models.values() if isinstance(models, Mapping) else models
    fitted = [_Fitted(model) for model in given]
    names = list(models) if isinstance(models, Mapping) else _distinct(fitted)
    if not fitted:
        raise ValueError("frontier needs at least one fitted model, got none.")
    if len({own.task == "regression" for own in fitted}) > 1:
        raise ValueError(
            "Models of classes and of numbers have no score in common; draw them apart."
        )
    loss, title = fitted[0].loss, TITLES[headline(fitted[0].task, fitted[0].loss)]
    if any(own.loss != loss for own in fitted):
        raise ValueError(
            "Models of different losses have no score in common; they were trained "
            f"for {', '.join(str(own.loss or SQUARED_ERROR) for own in fitted)}."
        )
    drawn = [
        _line(name, own, color, X, y, sample_weight)
        for name, own, color in zip(names, fitted, _colors(fitted))
    ]
    if X is not None:
        where = counted(len(np.asarray(y)), "row")
        return frontier_figure(drawn, TEST, score_title=f"{title}, {where}")
    titles = [COST_SAVED if own.has_costs else title for own in fitted]
    metric = " or ".join(dict.fromkeys(titles))
    return frontier_figure(drawn, HELD_OUT, score_title=f"{metric}, held-out rows")


class _Fitted:
    """A model that is given, and what the last step of a pipeline knows of it."""

    def __init__(self, model):
        self.model = model
        self.last = model[-1] if hasattr(model, "steps") else model
        self.task = task_of(getattr(model, "classes_", getattr(model, "classes", None)))
        loss = getattr(getattr(self.last, "model_", self.last), "loss", None)
        self.loss = loss if isinstance(loss, Loss) else None  # the squared error
        asked = getattr(self.last, "constraints_", None)
        self.has_costs = asked is not None and bool(asked.class_costs)
        name = type(self.last).__name__
        self.name = name.removesuffix("Classifier").removesuffix("Regressor")

    def rows(self, X):
        """Return rows as the last step reads them."""
        has_more = self.last is not self.model and len(self.model.steps) > 1
        return self.model[:-1].transform(X) if has_more else X


def _line(name: str, own: _Fitted, color: str, X, y, sample_weight) -> DrawnLine:
    """Return what is drawn of one model."""
    path = getattr(own.last, "path_", None)

    def score(predicted) -> float:
        truth = by_row(y, len(predicted), "y")
        return headline_score(own.task, truth, predicted, sample_weight, own.loss)

    if not isinstance(path, SizePath):
        if X is None:
            raise ValueError(
                f"{name} has no path of trees by size; give X and y, rows to score it "
                "on."
            )
        return DrawnLine(name, color, score=score(own.model.predict(X)))
    rows = None if X is None else own.rows(X)
    test = [np.nan if X is None else score(tree.predict(rows)) for tree in path.trees]
    table = pd.DataFrame(
        {
            "leaves": [tree.n_leaves for tree in path.trees],
            HELD_OUT: path.scores["score"].to_numpy(float),
            "standard_error": path.scores["standard_error"].to_numpy(float),
            TEST: test,
            "step": np.arange(len(path)),
        }
    )
    return DrawnLine(name, color, FrontierLine(table, path.chosen))


def _distinct(fitted: Sequence[_Fitted]) -> list[str]:
    """Name models by their classes; names that come twice are numbered."""
    found: list[str] = []
    for own in fitted:
        again = [each.name for each in fitted[: len(found)]].count(own.name)
        found.append(f"{own.name} ({again + 1})" if again else own.name)
    return found


def _colors(fitted: Sequence[_Fitted]) -> list[str]:
    """Return each learner's colour, in shades where it comes again."""
    keys = [own.name.removesuffix("Tree").lower() for own in fitted]
    keys = ["gradtree" if key == "grad" else key for key in keys]
    return [
        shade(learner_color(key), keys[:place].count(key))
        for place, key in enumerate(keys)
    ]


# How alike several models predict, as a matrix.


_NAME = 22  # letters of a model's name
_CELL = 46  # pixels


def agreement_figure(
    matrix: np.ndarray,
    names: Sequence[str],
    *,
    as_percent: bool = True,
    mode: Mode = "light",
) -> go.Figure:
    """Draw a matrix of agreement (k, k); the least of it is palest.

    It holds fractions, or correlations; NaN where two models do not compare. Cells may
    be written as percentages.
    """
    colors, n = palette(mode), len(names)
    shown = np.where(np.eye(n, dtype=bool), np.nan, matrix)
    low, high = np.nanmin(shown, initial=1.0), np.nanmax(shown, initial=-1.0)
    depth = 0.08 + 0.92 * (shown - low) / ((high - low) or 1.0)
    labels = [escape_html(shorten(name, _NAME)) for name in names]
    scale = [[0, colors.background], [1, colors.accent]]
    cells = matrix_cells(depth, colors, colorscale=scale, hoverinfo="skip")
    texts = [
        [f"{100 * value:.0f}" if as_percent else f"{value:.2f}" for value in row]
        for row in shown
    ]
    figure = matrix_figure(cells, labels, 100 + _CELL * n, mode)
    figure.layout.annotations = cell_numbers(texts, depth, colors)
    return figure


# Curves of several models in one chart: ROC, precision-recall, calibration, costs.


_DASHES = ("solid", "dash", "dot", "dashdot")
_HEIGHT = 340  # pixels


@dataclass(frozen=True)
class DrawnCurve:
    """A model's curve."""

    name: str
    color: str
    points: pd.DataFrame  # ``x`` and ``y``; for a calibration also ``rows``


def curves_figure(
    curves: Sequence[DrawnCurve],
    x_title: str,
    y_title: str,
    *,
    diagonal: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw curves of rates or probabilities from 0 to 1, and perhaps the diagonal."""
    figure = go.Figure()
    if diagonal:
        figure.add_scatter(
            x=[0, 1],
            y=[0, 1],
            mode="lines",
            line={"color": palette(mode).muted, "dash": "dot", "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
    hover = f"{x_title} %{{x:.3f}}, {y_title} %{{y:.3f}}"
    for place, own in enumerate(curves):
        words, marks = hover, {}
        if "rows" in own.points:
            rows = own.points["rows"]
            size = 4 + 10 * np.sqrt(rows / rows.max())
            marks = {"mode": "lines+markers", "marker": {"size": size}}
            words, marks["customdata"] = f"{hover}, %{{customdata:,}} rows", rows
        _add_curve(figure, own, place, words, **marks)
    x = {"title": x_title, "range": [-0.02, 1.02], "nticks": 6}
    y = {"title": y_title, "range": [-0.02, 1.04], "nticks": 6}
    look = {"template": template(mode), "height": _HEIGHT, "margin": {"t": 40}}
    return figure.update_layout(xaxis=x, yaxis=y, **look)


def _add_curve(
    figure: go.Figure, own: DrawnCurve, place: int, hover: str, **more
) -> None:
    """Draw a curve with a dash of its own, as none is known by its colour alone."""
    points = own.points.iloc[thin(len(own.points))]
    look = {"mode": "lines", "line_dash": _DASHES[place % len(_DASHES)]}
    figure.add_scatter(
        x=points["x"],
        y=points["y"],
        name=escape_html(shorten(own.name, 24)),
        line_color=own.color,
        line_width=2.5,
        hovertemplate=f"{hover}<extra>%{{fullData.name}}</extra>",
        **look | more,
    )


def costs_figure(
    curves: Sequence[DrawnCurve],
    threshold: float,
    x_title: str,
    *,
    mode: Mode = "light",
) -> go.Figure:
    """Draw each model's mean cost by the threshold, and mark one threshold.

    ``x`` of the curves ascends from 0 to 1; a cost holds from just above the one
    before.
    """
    figure = go.Figure()
    for place, own in enumerate(curves):
        _add_curve(figure, own, place, "threshold %{x:.3f}: %{y:.4~g}", line_shape="vh")
    figure.add_vline(
        x=threshold, line={"color": palette(mode).accent, "width": 2, "dash": "dot"}
    )
    x = {"title": escape_html(x_title), "range": [0, 1], "nticks": 6}
    y = {"title": "mean cost of a row", "rangemode": "tozero"}
    look = {"template": template(mode), "height": _HEIGHT, "margin": {"t": 40}}
    return figure.update_layout(xaxis=x, yaxis=y, **look)


def residuals_figure(
    predicted: np.ndarray,
    residual: np.ndarray,
    ends: tuple[tuple[float, float], tuple[float, float]],
    unit: str = "",
    *,
    color: str,
    times: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw residuals against predictions, (n_rows,) each, in the colour of the model.

    ``ends`` are those of both axes, so that figures side by side compare; both have the
    unit, or are ``times``, hours that are written as such.
    """
    behind = f" ({unit})" if unit and not times else ""
    ticks = [time_ticks(*own, 6) if times else {} for own in ends]
    shown, texts = ("%{x:.4~g}", "%{y:.4~g}"), None
    if times:
        shown = "%{customdata[0]}", "%{customdata[1]}"
        texts = [[short_time(a), short_time(b)] for a, b in zip(predicted, residual)]
    figure = go.Figure()
    figure.add_hline(y=0, line={"color": palette(mode).text, "width": 1})
    figure.add_scatter(
        x=predicted,
        y=residual,
        mode="markers",
        showlegend=False,
        marker={"color": color, "size": 6, "opacity": 0.55},
        customdata=texts,
        hovertemplate=f"predicted {shown[0]}, residual {shown[1]}<extra></extra>",
    )
    x = {"title": escape_html(f"predicted{behind}"), "range": ends[0], **ticks[0]}
    y = {"title": escape_html(f"true minus predicted{behind}"), "range": ends[1]}
    y |= ticks[1]
    look = {"template": template(mode), "height": _HEIGHT, "margin": {"t": 8}}
    return figure.update_layout(xaxis=x, yaxis=y, **look)


# Rows in the plane of two features, the splits as lines, predictions behind them.


_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star")
_MOST_TICKS = 8  # categories that an axis names
_MANY_LINES = 30
_SPREAD = 0.25  # of the way to the next category, by which rows are drawn apart
_BEHIND = 0.28  # of a class's colour, behind the rows


@dataclass(frozen=True)
class Axis:
    """An axis of the plane."""

    title: str
    low: float
    high: float
    # Names of the scores of categories, ascending, which stand at even distances;
    # empty: numbers.
    ticks: dict[float, str] = field(default_factory=dict)
    is_date: bool = False  # whether numbers are years with decimals
    is_time: bool = False  # whether they are hours that are written as times

    def places(self, values: Sequence[float] | np.ndarray) -> list:
        """Return numbers as the figure knows them: of dates as moments."""
        own = np.asarray(values, dtype=float)
        return (from_decimal_years(own) if self.is_date else own).tolist()


@dataclass(frozen=True)
class Surface:
    """Predictions on a grid of the plane."""

    x: np.ndarray  # float (n_x,)
    y: np.ndarray  # float (n_y,)
    predicted: np.ndarray  # (n_y, n_x): labels, or values


def axis_of(feature: Feature, values: np.ndarray) -> Axis:
    """Return the axis of a feature that holds these values, with room at its ends."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = 0.04 * (high - low) or 0.5
    title, ticks = feature.title, {}
    if feature.kind == "category" and len(feature.categories) <= _MOST_TICKS:
        ticks = _ticks(feature)
    elif feature.kind == "category":
        title = f"score of {feature.column}"
    ends = low - room, high + room
    return Axis(title, *ends, ticks, feature.is_date, feature.is_clock)


def node_plane(
    tree: Tree, node: int, axes: tuple[int, int], X: pd.DataFrame, y
) -> tuple[pd.DataFrame, tuple[Axis, Axis], list[SplitLine]]:
    """Return what ``plane_figure`` draws of a node: its rows, axes, splits as lines.

    ``axes`` are the features across and upward; the others are held at their medians.
    """
    rows = rows_at_node(tree, node, X)
    matrix = feature_matrix(tree.features, X.iloc[rows])
    across, up = (axis_of(tree.features[j], matrix[:, j]) for j in axes)
    empty = np.isnan(matrix).all(axis=0)
    held = np.where(empty, np.nan, np.nanmedian(np.where(empty, 0, matrix), axis=0))
    box = (across.low, across.high, up.low, up.high)
    points = pd.DataFrame(matrix[:, list(axes)], columns=["x", "y"])
    points["target"] = y.to_numpy()[rows]
    return points, (across, up), split_lines(tree, axes, held, box, node=node)


def _ticks(feature: Feature) -> dict[float, str]:
    """Name the scores of categories, those of one score together."""
    ticks: dict[float, str] = {}
    for score, name in sorted(zip(feature.scores, feature.categories)):
        ticks[score] = f"{ticks[score]}, {name}" if score in ticks else name
    return ticks


def plane_figure(
    points: pd.DataFrame,
    axes: tuple[Axis, Axis],
    lines: Sequence[SplitLine],
    *,
    colors: dict | None = None,
    behind: Surface | None = None,
    scale: tuple[float, float] | None = None,
    unit: str = "",
    times: bool = False,
    mode: Mode = "light",
) -> go.Figure:
    """Draw rows by their class or value, with the lines of a tree's splits.

    Points are ``x``, ``y`` and ``target`` of each row; ``label``, where there is such a
    column, names the rows that are marked, the others have "". Lines of level 0 are
    thick, the others dashed. Without colours of classes the target is a number, on a
    colour scale from the lowest to the highest value of the rows unless another
    ``scale`` is given; it has the unit, or values are ``times``, hours that are written
    as such. ``behind`` are predictions that colour the plane.
    """
    x, y = (_rows_at(axis, points[name]) for axis, name in zip(axes, "xy"))
    points = points.assign(x=x, y=y)
    for axis, name in zip(axes, "xy"):  # what a row's place is called
        points[f"{name}_text"] = points[name].map(clock_text) if axis.is_time else ""
    hover = ", ".join(
        f"%{{customdata[{place}]}}"
        if axis.is_time
        else f"%{{{name}{'|%-d %b %Y' if axis.is_date else ':.4~g'}}}"
        for place, (axis, name) in enumerate(zip(axes, "xy"))
    )
    figure = go.Figure()
    if scale is None and colors is None:
        scale = float(points["target"].min()), float(points["target"].max())
    ends = scale or (0.0, 1.0)  # classes have none
    if behind is not None:
        _add_surface(figure, behind, axes, colors, ends, mode)
    # On the shade of their own class rows are seen by their outline.
    outline = palette(mode).background if behind is None else palette(mode).text
    if colors is None:
        write = short_time if times else "{:.4g}".format
        points["text"] = points["target"].map(write)
        bar = time_ticks(*ends, 5) if times else {"title": unit}
        _add_values(figure, points, ends, bar, outline, hover)
    else:
        _add_classes(figure, points, colors, outline, hover)
    _add_lines(figure, lines, axes, mode)
    _add_marks(figure, points, mode)
    figure.update_layout(template=template(mode), height=430, margin={"t": 44})
    updates = (figure.update_xaxes, 40), (figure.update_yaxes, 24)  # letters of a title
    for axis, (update, most) in zip(axes, updates):
        reach, title = _thresholds_at(axis, [axis.low, axis.high]), axis.title
        update(title=escape_html(shorten(title, most)), range=reach, showgrid=False)
        if axis.ticks:
            names = [escape_html(shorten(name, 14)) for name in axis.ticks.values()]
            update(tickvals=list(range(len(names))), ticktext=names)
        elif axis.is_time:
            update(**time_ticks(axis.low, axis.high))
    return figure


def _rows_at(axis: Axis, values) -> Sequence | np.ndarray:
    """Return where rows stand on an axis; those of one category a little apart."""
    values = np.asarray(values, dtype=float)
    if not axis.ticks:
        return axis.places(values)
    rank = np.interp(values, list(axis.ticks), np.arange(len(axis.ticks)))
    return rank + np.random.default_rng(0).uniform(-_SPREAD, _SPREAD, len(rank))


def _thresholds_at(axis: Axis, values) -> list:
    """Return where thresholds stand on an axis: midway between two categories."""
    if not axis.ticks:
        return axis.places(values)
    return (np.searchsorted(list(axis.ticks), values, side="right") - 0.5).tolist()


def _add_classes(
    figure: go.Figure, points, colors: dict, outline: str, hover: str
) -> None:
    """Draw the rows of each class in its colour and with a mark of its own."""
    for place, (label, color) in enumerate(colors.items()):
        own, line = points[points["target"] == label], {"width": 0.8, "color": outline}
        mark = {"color": color, "size": 7, "opacity": 0.85, "line": line}
        figure.add_scatter(
            x=own["x"],
            y=own["y"],
            mode="markers",
            name=escape_html(shorten(label, 24)),
            marker={**mark, "symbol": _SYMBOLS[place % len(_SYMBOLS)]},
            customdata=own[["x_text", "y_text"]],
            hovertemplate=f"{hover}<extra>%{{fullData.name}}</extra>",
        )


def _add_values(
    figure: go.Figure, points, scale, bar: dict, outline: str, hover: str
) -> None:
    """Draw the rows by the colour of their value."""
    figure.add_scatter(
        x=points["x"],
        y=points["y"],
        mode="markers",
        showlegend=False,
        marker={
            "color": points["target"],
            "colorscale": SEQUENTIAL,
            "cmin": scale[0],
            "cmax": scale[1],
            "size": 7,
            "line": {"width": 1, "color": outline},
            "colorbar": {"thickness": 10, "outlinewidth": 0, **bar},
        },
        customdata=points[["x_text", "y_text", "text"]],
        hovertemplate=f"{hover}: %{{customdata[2]}}<extra></extra>",
    )


def _add_marks(figure: go.Figure, points: pd.DataFrame, mode: Mode) -> None:
    """Draw a ring around each row that has a label."""
    if "label" not in points:
        return
    for row in points[points["label"] != ""].to_dict("records"):
        look = {"name": escape_html(row["label"]), "showlegend": None}
        add_ring(figure, row["x"], row["y"], palette(mode).text, width=2.5, more=look)


def _add_surface(
    figure: go.Figure,
    behind: Surface,
    axes: tuple[Axis, Axis],
    colors: dict | None,
    scale: tuple[float, float],
    mode: Mode,
) -> None:
    """Colour the plane by what is predicted on it."""
    colorscale: str | list = SEQUENTIAL
    low, high = scale
    shown = behind.predicted
    if colors is not None:
        codes = {label: place for place, label in enumerate(colors)}
        flat = [codes[label] for label in behind.predicted.ravel().tolist()]
        shown = np.reshape(np.array(flat, dtype=np.int16), behind.predicted.shape)
        low, high = -0.5, len(colors) - 0.5
        colorscale = [
            [end / len(colors), mix(color, palette(mode).background, _BEHIND)]
            for place, color in enumerate(colors.values())
            for end in (place, place + 1)
        ]
    figure.add_heatmap(
        x=axes[0].places(behind.x),
        y=axes[1].places(behind.y),
        z=shown,
        zmin=low,
        zmax=high,
        colorscale=colorscale,
        showscale=False,
        opacity=0.75 if colors is None else 1,
        hoverinfo="skip",
    )


def _add_lines(
    figure: go.Figure, lines: Sequence[SplitLine], axes: tuple[Axis, Axis], mode: Mode
) -> None:
    """Draw splits, the first one thick."""
    below = "splits below it" if any(not line.level for line in lines) else "splits"
    thin = 0.7 if len(lines) > _MANY_LINES else 1.5
    looks = ("first split", 3, "solid"), (below, thin, "dash")
    for is_below, (name, width, dash) in enumerate(looks):
        own = [line for line in lines if (line.level > 0) == is_below]
        if not own:
            continue
        # One trace for all: the gap between two lines is a None.
        x = [v for line in own for v in (*_thresholds_at(axes[0], line.x), None)]
        y = [v for line in own for v in (*_thresholds_at(axes[1], line.y), None)]
        look = {"color": palette(mode).text, "width": width, "dash": dash}
        drawn = {"name": name, "line": look, "mode": "lines", "hoverinfo": "skip"}
        figure.add_scatter(x=x, y=y, **drawn)


# Two learners' scores on several data splits.


_ROW = 30  # pixels


def seeds_figure(
    splits: Sequence[str],
    scores: tuple[Sequence[float], Sequence[float]],
    names: tuple[str, str],
    score_title: str,
    *,
    split_title: str = "seed",
    colors: tuple[str, str],
    mode: Mode = "light",
) -> go.Figure:
    """Draw both scores of each data split, joined by a line.

    ``splits`` are what each data split is called, beside its line, and ``split_title``
    what these names are, in words.
    """
    rows = list(splits)
    figure = go.Figure()
    figure.add_scatter(
        x=[x for both in zip(*scores) for x in (*both, None)],
        y=[row for row in rows for _ in range(3)],
        mode="lines",
        line={"color": palette(mode).line, "width": 3},
        hoverinfo="skip",
        showlegend=False,
    )
    for own, name, color, symbol in zip(scores, names, colors, ("circle", "diamond")):
        figure.add_scatter(
            x=own,
            y=rows,
            mode="markers",
            name=escape_html(shorten(name, 24)),
            marker={"color": color, "symbol": symbol, "size": 11},
            hovertemplate=f"{split_title} %{{y}}: %{{x:.3f}}"
            "<extra>%{fullData.name}</extra>",
        )
    return figure.update_layout(
        template=template(mode),
        height=110 + _ROW * len(rows),
        margin={"t": 36},
        xaxis={"title": escape_html(score_title), "nticks": 6},
        yaxis={"title": split_title, "type": "category", "autorange": "reversed"},
    )
