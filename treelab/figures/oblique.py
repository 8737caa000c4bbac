"""What an oblique split weighs, and how the rows lie around its threshold."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.figures.style.colors import (
    LEARNER_COLORS,
    Mode,
    class_colors,
    palette,
    with_alpha,
)
from treelab.figures.style.template import template
from treelab.figures.style.words import escape_html, shorten
from treelab.trees.text.numerals import counted, significant
from treelab.trees.text.sums import term_name
from treelab.trees.walk import OBLIQUE, filled, read_features

BINS = 40  # of the histogram
NAME_LENGTH = 24  # letters of a column's name


def split_weights(tree, node: int, X) -> pd.DataFrame:
    """Return how much each column of a split moves it among the rows that reach it.

    Parameters
    ----------
    tree : Tree
    node : int
        A split; one that tests a single column has a single line.
    X : DataFrame
        Rows of the user's table.

    Returns
    -------
    DataFrame
        Columns column, weight (in raw units), standardised (weight times the column's
        standard deviation among the rows at the node, in units of the sum) and share
        (of the standardised weights' absolute sum), largest share first.

    Raises
    ------
    ValueError
        If the node is a leaf, or the tree has no such node.
    """
    columns, weights, values = _terms(tree, node, X)
    rows = tree.decision_path(X)[:, node]
    spread = values[rows].std(axis=0) if rows.any() else np.zeros(len(weights))
    moves, share = moves_and_shares(weights, spread)
    table = pd.DataFrame(
        {
            "column": columns,
            "weight": weights,
            "standardised": moves,
            "share": share,
        }
    )
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def moves_and_shares(weights, spread) -> tuple[np.ndarray, np.ndarray]:
    """Return weights times spreads (k,), and each one's share of their absolute sum."""
    moves = np.asarray(weights) * spread
    total = np.abs(moves).sum()
    return moves, np.abs(moves) / (total if total > 0 else 1.0)


def split_figure(
    tree, node: int, X, y=None, *, most: int = 12, mode: Mode = "light"
) -> go.Figure:
    """Draw a split's weights as bars and its weighted sums as a histogram.

    Parameters
    ----------
    tree : Tree
    node : int
        A split.
    X : DataFrame
        Rows of the user's table; those that reach the node are drawn.
    y : array-like of shape (n_rows,) or None, default=None
        Their labels; colour the histogram by class. Without them, and in regression,
        the two sides are coloured.
    most : int, default=12
        Columns that get a bar; a last one stands for all others together.
    mode : {"light", "dark"}, default="light"
        Colours to draw in.

    Returns
    -------
    go.Figure
        Bars carry the column's name as ``customdata``. The sums and the threshold are
        in the units in which the split is written.

    Raises
    ------
    ValueError
        If the node is a leaf, or `y` has another length than `X`.
    """
    if y is not None and len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
    figure = make_subplots(
        rows=2, cols=1, row_heights=[0.5, 0.5], vertical_spacing=0.22
    )
    table = split_weights(tree, node, X)
    _add_bars(figure, table, most, mode)
    _add_histogram(figure, tree, node, X, y, mode)
    n_columns = int((table["weight"] != 0).sum())
    figure.update_xaxes(title_text="weight times the column's spread", row=1, col=1)
    figure.update_yaxes(title_text=f"rows at node {node}", row=2, col=1)
    figure.update_xaxes(title_text=_axis_title(tree, node, n_columns), row=2, col=1)
    return figure.update_layout(template=template(mode), barmode="stack", bargap=0.05)


def _terms(tree, node, X) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names (k,), weights (k,) and filled values (n_rows, k) of a split's columns."""
    tree.check_node(node)
    if tree.is_leaf[node]:
        raise ValueError(f"Node {node} is a leaf; it has no split to draw.")
    if tree.feature[node] == OBLIQUE:
        used = np.flatnonzero(tree.weights[node])
        weights = tree.weights[node, used]
    else:
        used, weights = np.array([tree.feature[node]]), np.ones(1)
    matrix = read_features(tree, X)
    values = np.empty((len(matrix), len(used)))
    for k, j in enumerate(used.tolist()):
        # A split that tests one column asks about a missing value by itself.
        oblique = tree.feature[node] == OBLIQUE
        values[:, k] = filled(tree.features, matrix, j) if oblique else matrix[:, j]
    keeps = ~np.isnan(values).any(axis=1)
    values[~keeps] = np.nanmean(values, axis=0) if keeps.any() else 0.0
    return [term_name(tree.features[j]) for j in used], weights, values


def _add_bars(figure, table: pd.DataFrame, most: int, mode: Mode) -> None:
    """Draw a bar for each column, the largest on top, with its share beside it."""
    colors = palette(mode)
    shown, rest = table.iloc[:most], table.iloc[most:]
    names = [escape_html(shorten(name, NAME_LENGTH)) for name in shown["column"]]
    values, shares = list(shown["standardised"]), list(shown["share"])
    tags = list(shown["column"])
    fills = [LEARNER_COLORS["get"]] * len(shown)
    if len(rest):
        names.append(f"{counted(len(rest), 'other')} (absolute)")
        values.append(float(rest["standardised"].abs().sum()))
        shares.append(float(rest["share"].sum()))
        tags.append("")
        fills.append(colors.line)
    figure.add_bar(
        x=values,
        y=names,
        orientation="h",
        marker_color=fills,
        text=[f"{share:.0%}" for share in shares],
        textposition="auto",
        customdata=tags,
        hovertemplate="%{y}: %{x:.3g}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    figure.update_yaxes(autorange="reversed", row=1, col=1)


def _add_histogram(figure, tree, node, X, y, mode: Mode) -> None:
    """Draw how many rows have which weighted sum, and where the threshold stands."""
    colors = palette(mode)
    _, weights, values = _terms(tree, node, X)
    rows = tree.decision_path(X)[:, node]
    sums = (values * weights).sum(axis=1)[rows]
    threshold = float(tree.threshold[node])
    low, high = (sums.min(), sums.max()) if len(sums) else (threshold, threshold)
    low, high = min(low, threshold), max(high, threshold)
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    if tree.classes is not None and y is not None:
        labels = np.asarray(y)[rows]
        groups = [(str(c), labels == c) for c in tree.classes]
        fills = class_colors(len(groups))
    else:
        left = sums <= threshold
        groups = [("left: yes", left), ("right: no", ~left)]
        fills = [LEARNER_COLORS["get"], with_alpha(LEARNER_COLORS["get"], 0.45)]
    middle = (edges[:-1] + edges[1:]) / 2
    for (name, members), fill in zip(groups, fills):
        figure.add_bar(
            x=middle,
            y=np.histogram(sums[members], bins=edges)[0],
            width=edges[1] - edges[0],
            name=escape_html(name),
            marker_color=fill,
            hovertemplate="%{y} rows near %{x:.3g}<extra>%{fullData.name}</extra>",
            row=2,
            col=1,
        )
    figure.add_vline(
        x=threshold,
        line={"color": colors.accent, "width": 2, "dash": "dash"},
        annotation_text=f"≤ {significant(threshold)}",
        annotation_position="top",
        row=2,
        col=1,
    )


def _axis_title(tree, node: int, n_columns: int) -> str:
    """Name what is on the axis of the sums: the column, or how many are added up."""
    if tree.feature[node] != OBLIQUE:
        feature = tree.features[tree.feature[node]]
        unit = f" ({feature.unit})" if feature.unit else ""
        return escape_html(f"{term_name(feature)}{unit}")
    return f"weighted sum of {counted(n_columns, 'column')}"
