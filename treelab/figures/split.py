"""A weighted sum: the weights of its columns, and the rows around its threshold."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from treelab.evaluation.split import SplitTerms, split_terms
from treelab.figures.style import (
    LEARNER_COLORS,
    Mode,
    class_colors,
    escape_html,
    even_edges,
    palette,
    shorten,
    template,
    with_alpha,
)
from treelab.trees.text import bound_text
from treelab.trees.tree import Tree
from treelab.trees.words import counted, percent, significant

BINS = 40  # of the histogram
NAME_LENGTH = 24  # letters of a column's name
_BAR, _HISTOGRAM, _BETWEEN = 24, 190, 84  # pixels: a bar, the histogram, axis titles


def split_figure(
    tree: Tree,
    node: int,
    X: pd.DataFrame,
    y=None,
    *,
    most: int = 12,
    colors: dict | None = None,
    mode: Mode = "light",
) -> go.Figure:
    """Draw how much each column moves a split's sum, and the sums as a histogram.

    A column moves the sum by its weight times its standard deviation among training
    rows; its bar is grey where it is subtracted. At most so many columns get one, a
    last one stands for all others together; bars carry the column's name as
    ``customdata``. The sums and the threshold are in the units in which the split is
    written.

    Those of the rows are drawn that reach the node. Their labels colour the histogram
    by class, by default in the order in which the tree names them; without labels, and
    in regression, the two sides are coloured. ValueError if the node adds up no
    columns, or `y` has another length than `X`.
    """
    if y is not None and len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
    terms = split_terms(tree, node, X)
    table = terms.table()
    groups = [("left: yes", terms.sums <= tree.threshold[node])]
    groups.append(("right: no", ~groups[0][1]))
    fills = [LEARNER_COLORS["get"], with_alpha(LEARNER_COLORS["get"], 0.45)]
    if tree.classes is not None and y is not None:
        labels = np.asarray(y)[tree.decision_path(X)[:, node]]
        colors = colors or dict(zip(tree.classes, class_colors(len(tree.classes))))
        groups = [(str(label), labels == label) for label in colors]
        fills = list(colors.values())
    # Tall enough to name every bar.
    bars, threshold = _BAR * max(2, min(len(table), most + 1)), tree.threshold[node]
    inner = bars + _HISTOGRAM + _BETWEEN
    heights, between = [bars, _HISTOGRAM], _BETWEEN / inner
    figure = make_subplots(2, 1, row_heights=heights, vertical_spacing=between)
    _add_bars(figure, table, most, mode)
    _add_histogram(figure, terms, float(threshold), groups, fills)
    figure.add_vline(
        x=float(threshold),
        line={"color": palette(mode).accent, "width": 2, "dash": "dash"},
        annotation_text=f"≤ {bound_text(tree, node)}",
        annotation_position="top",
        row=2,
        col=1,
    )
    n_terms = int((table["weight"] != 0).sum())
    figure.update_xaxes(title_text="fraction of the sum's spread", row=1, col=1)
    figure.update_yaxes(
        title=f"rows at node {node}", separatethousands=True, row=2, col=1
    )
    title = f"weighted sum of {counted(n_terms, 'term')}"
    figure.update_xaxes(title_text=title, row=2, col=1)
    return figure.update_layout(
        template=template(mode),
        barmode="stack",
        bargap=0.05,
        height=inner + _BETWEEN,
        margin={"t": 40, "b": _BETWEEN - 40},
    )


def _add_bars(figure: go.Figure, table: pd.DataFrame, most: int, mode: Mode) -> None:
    """Draw each column's fraction of the sum's spread, the largest on top."""
    theme = palette(mode)
    shown, rest = table.iloc[:most], table.iloc[most:]
    negative = (shown["weight"] < 0).tolist()
    names = [
        ("− " if minus else "") + escape_html(shorten(name, NAME_LENGTH))
        for name, minus in zip(shown["column"], negative)
    ]
    fractions, tags = list(shown["fraction"]), list(shown["column"])
    fills = [theme.muted if minus else theme.accent for minus in negative]
    hover = [
        f"{escape_html(name)}, weight {significant(weight)}"
        for name, weight in zip(shown["column"], shown["weight"])
    ]
    if len(rest):
        other = counted(len(rest), "other")
        fractions.append(float(rest["fraction"].sum()))
        names, hover, tags = [*names, other], [*hover, other], [*tags, ""]
        fills.append(theme.line)
    places = list(range(len(names)))  # two names may be alike once they are shortened
    figure.add_bar(
        x=fractions,
        y=places,
        orientation="h",
        marker_color=fills,
        text=[percent(fraction) for fraction in fractions],
        textposition="outside",
        textfont={"size": 12},
        customdata=tags,
        hovertext=hover,
        hovertemplate="%{hovertext}: %{x:.1%}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    ticks = {"tickvals": places, "ticktext": names}
    figure.update_yaxes(autorange="reversed", **ticks, row=1, col=1)
    # Room beside the longest bar for its percentage.
    room = 1.3 * max(fractions, default=1.0)
    figure.update_xaxes(range=[0, room or 1], tickformat=".0%", nticks=5, row=1, col=1)


def _add_histogram(
    figure: go.Figure,
    terms: SplitTerms,
    threshold: float,
    groups: list[tuple[str, np.ndarray]],
    fills: list[str],
) -> None:
    """Draw how many rows of each group have which weighted sum."""
    sums = terms.sums
    low, high = sums.min(initial=threshold), sums.max(initial=threshold)
    edges = even_edges(low, high, BINS)
    for (name, members), fill in zip(groups, fills):
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=np.histogram(sums[members], bins=edges)[0],
            width=edges[1] - edges[0],
            name=escape_html(name),
            marker_color=fill,
            hovertemplate="%{y} rows near %{x:.3g}<extra>%{fullData.name}</extra>",
            row=2,
            col=1,
        )
