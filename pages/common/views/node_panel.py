"""A selected node: its rule, its statistics by data split, and its rows."""

import html

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, run_colors
from pages.common.html import dot
from pages.common.page import show_figure
from pages.common.theme import mode
from pages.common.words import SPLIT_NAMES, plain, short_rule
from treelab.data.split import SPLITS
from treelab.evaluation.node_report import (
    MOST_ROWS,
    NodeReport,
    NodeStatistics,
    node_report,
    node_rows,
)
from treelab.figures.split import split_figure
from treelab.trees.text import prediction_text, split_text
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE
from treelab.trees.words import clean, counted, percent, significant

_LISTED = 8  # classes, the most frequent at the node first


def report_of(loaded: LoadedRun, tree: Tree, node: int) -> NodeReport:
    """Measure a node on the training, the validation and the test rows."""
    return node_report(tree, node, {name: loaded.split.rows(name) for name in SPLITS})


def show_node(loaded: LoadedRun, tree: Tree, report: NodeReport) -> None:
    """Show a node's condition or prediction, its rule and its rows by data split."""
    if report.condition:
        condition = split_text(tree, report.node, most=3)
        st.markdown(f"**{plain(condition)}?**")
    else:
        predicted = prediction_text(tree, report.node, most=3, length=40)
        st.markdown(f"**Leaf: {plain(predicted)}**")
    if report.rule != "every row":
        st.markdown(f"Rows with {plain(short_rule(tree, report.node))}.")
    else:
        st.markdown("All rows pass this node.")
    st.html(statistics_table(loaded, tree, report))
    st.caption(_explained(tree, report))


def statistics_table(loaded: LoadedRun, tree: Tree, report: NodeReport) -> str:
    """Return HTML: a column a data split, a line a statistic."""
    found = [report.statistics[name] for name in SPLITS]
    head = "".join(f"<th>{SPLIT_NAMES[name]}</th>" for name in SPLITS)
    lines = [
        _line("rows", [f"{each.n_rows:,}" for each in found]),
        _line("of all rows", [percent(each.fraction) for each in found]),
    ]
    if tree.classes is None:
        lines += _means(found)
    else:
        lines += _classes(loaded, tree, found)
    name = "variance" if tree.classes is None else "impurity (Gini)"
    lines.append(_line(name, [_or_dash(each.impurity) for each in found]))
    if report.condition:
        lines.append(_line("gain", [_or_dash(each.gain) for each in found]))
    elif tree.classes is None:
        errors = [_or_dash(each.mean_absolute_error) for each in found]
        lines.append(_line("mean absolute error", errors))
    else:
        accuracy = ["–" if f.accuracy is None else percent(f.accuracy) for f in found]
        lines.append(_line("accuracy", accuracy))
    body = "".join(lines)
    return f'<table class="node-facts"><tr><th></th>{head}</tr>{body}</table>'


def _means(found: list[NodeStatistics]) -> list[str]:
    """Lines of a number target: mean and standard deviation, here and of all rows."""
    return [
        _line("mean", [_or_dash(part.mean) for part in found]),
        _line("of all rows", [_or_dash(part.total_mean) for part in found], quiet=True),
        _line("standard deviation", [_or_dash(part.std) for part in found]),
        _line("of all rows", [_or_dash(part.total_std) for part in found], quiet=True),
    ]


def _classes(loaded: LoadedRun, tree: Tree, found: list[NodeStatistics]) -> list[str]:
    """Lines of classes: a bar of all, then a fraction each, here and of all rows."""
    colors = run_colors(loaded)
    places = [tree.classes.index(label) for label in colors]
    here, whole = (
        [_bar(getattr(part, name), places, colors) for part in found]
        for name in ("class_fractions", "total_class_fractions")
    )
    lines = [_line("classes", here), _line("of all rows", whole, quiet=True)]
    seen = {
        i: sum(
            each.n_rows * each.class_fractions[i]
            for each in found
            if each.class_fractions is not None
        )
        for i in places
    }
    most = sorted(places, key=lambda i: -seen[i])[:_LISTED]
    for label, i in ((label, i) for label, i in zip(colors, places) if i in most):
        cells = [
            "–" if each.class_fractions is None else percent(each.class_fractions[i])
            for each in found
        ]
        name = dot(colors[label], clean(label))
        lines.append(_line(name, cells, is_html=True))
    if len(places) > len(most):
        lines.append(_line(f"{len(places) - len(most)} others", [""] * len(found)))
    return lines


def _bar(fractions, places: list[int], colors: dict) -> str:
    """Return HTML of one stacked bar of classes; empty without a row."""
    if fractions is None:
        return "–"
    pieces = "".join(
        f'<i style="flex-grow:{fractions[i]:.4f};background:{color}"></i>'
        for i, color in zip(places, colors.values())
        if fractions[i] > 0
    )
    return f'<span class="fractions">{pieces}</span>'


def _line(name: str, cells, *, quiet: bool = False, is_html: bool = False) -> str:
    """Return HTML of one line of the table; cells are our own."""
    name = name if is_html else html.escape(name)
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{"quiet" if quiet else ""}"><th>{name}</th>{inner}</tr>'


def _or_dash(value: float | None) -> str:
    """Write a number; a dash for none."""
    if value is None:
        return "–"
    return "<0.0001" if 0 < value < 0.0001 else significant(value)


def _explained(tree: Tree, report: NodeReport) -> str:
    """Explain the last lines of the table."""
    if report.condition:
        what = "variance" if tree.classes is None else "impurity"
        return f"Gain: {what} of the node minus that of its children, by their rows."
    if tree.classes is None:
        unit = f", in {plain(tree.target_unit)}" if tree.target_unit else ""
        return f"Mean absolute error: mean distance of prediction and target{unit}."
    return "Accuracy: rows here whose class the leaf predicts."


def show_split(loaded: LoadedRun, tree: Tree, node: int) -> None:
    """Draw the weights of an oblique split, and the rows around its threshold."""
    if tree.feature[node] != OBLIQUE:
        return
    X, y = loaded.split.rows("train")
    labels = y.to_numpy() if tree.classes is not None else None
    st.markdown(
        "**How much each feature moves the sum, and the sums of the training rows**"
    )
    show_figure(
        split_figure(tree, node, X, labels, colors=run_colors(loaded), mode=mode()),
        key="oblique-split",
        alt=f"How much each feature moves the sum of {split_text(tree, node, most=3)}.",
    )


def show_rows(loaded: LoadedRun, tree: Tree, node: int, name: str) -> None:
    """List the rows at a node, the first 200 of a split; all of them as a file."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        split = st.segmented_control(
            "Rows at this node",
            SPLITS[::-1],
            default="test",
            required=True,
            format_func=SPLIT_NAMES.__getitem__,
            key=f"rows-of-{loaded.run.id}",
        )
        X, y = loaded.split.rows(split)
        st.download_button(
            "Download as CSV",
            lambda: _csv(tree, node, X, y, split),
            f"{name}-{SPLIT_NAMES[split]}.csv",
            "text/csv",
            key=f"rows-csv-{loaded.run.id}",
            on_click="ignore",
            icon=":material/download:",
        )
    rows = _numbered(node_rows(tree, node, X, y), X, split)
    st.dataframe(rows, hide_index=True, placeholder="–", key=f"rows-at-{loaded.run.id}")
    n_rows = counted(len(rows), f"{SPLIT_NAMES[split]} row")
    first = f"The first {MOST_ROWS} are shown; the file has all. "
    st.caption(
        f"{first if len(rows) == MOST_ROWS else f'{n_rows} at this node. '}"
        "The target comes first, then the features on the decision path. Follow rows "
        "and Explain name a test row by the same number."
    )


def _numbered(rows: pd.DataFrame, X: pd.DataFrame, split: str) -> pd.DataFrame:
    """Put the place of each row before it, counted from 1: in the split, in the table.

    By its place in the split a row is named on every page.
    """
    places = {
        f"{SPLIT_NAMES[split]} row": X.index.get_indexer(rows.index) + 1,
        "row of the table": rows.index + 1,
    }
    rows = rows.copy()
    for at, (name, place) in enumerate(places.items()):
        while name in rows.columns:
            name += " "
        rows.insert(at, name, place)
    return rows


def _csv(tree: Tree, node: int, X: pd.DataFrame, y, split: str) -> str:
    """Write all rows of a split at a node."""
    rows = node_rows(tree, node, X, y, most=None)
    return _numbered(rows, X, split).to_csv(index=False)
