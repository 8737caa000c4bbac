"""The answer to a click on a node: its rule, and its rows in each part of the table."""

import html

import pandas as pd
import streamlit as st

from pages.common.cached.loaded_run import LoadedRun, label_colors
from pages.common.theme import dot, mode, show_figure
from pages.common.words import SPLIT_NAMES, plain
from treelab.data.split import SPLITS
from treelab.evaluation.node_report import (
    MOST_ROWS,
    NodeReport,
    NodeStatistics,
    node_report,
    node_rows,
)
from treelab.figures.split import split_figure
from treelab.trees.text.names import clean
from treelab.trees.text.nodes import prediction_text, split_text
from treelab.trees.text.numerals import counted, percent, significant
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE

_LISTED = 8  # classes, the most frequent at the node first
_ORDER = ("train", "valid", "test")


def facts_of(loaded: LoadedRun, tree: Tree, node: int) -> NodeReport:
    """Measure a node on the training, the validation and the test rows."""
    return node_report(tree, node, {part: loaded.split.rows(part) for part in _ORDER})


def show_node(loaded: LoadedRun, tree: Tree, facts: NodeReport) -> None:
    """Say what a node asks or answers, its rule, and how its rows are dealt."""
    if facts.condition:
        st.markdown(f"**{plain(facts.condition)}?**")
    else:
        st.markdown(
            f"**Leaf: {plain(prediction_text(tree, facts.node, most=3, length=40))}**"
        )
    if facts.rule != "every row":
        st.markdown(f"Rows with {plain(facts.rule)}.")
    else:
        st.markdown("Every row passes here.")
    st.html(parts_table(loaded, tree, facts))
    st.caption(_explained(tree, facts))


def parts_table(loaded: LoadedRun, tree: Tree, facts: NodeReport) -> str:
    """Return HTML: a column a part, a line a fact."""
    parts = [facts.statistics[name] for name in _ORDER]
    head = "".join(f"<th>{SPLIT_NAMES[name]}</th>" for name in _ORDER)
    lines = [
        _line("rows", [f"{part.n_rows:,}" for part in parts]),
        _line("share", [percent(part.fraction) for part in parts]),
    ]
    if tree.classes is None:
        lines += _means(parts)
    else:
        lines += _classes(loaded, tree, parts)
    name = "variance" if tree.classes is None else "impurity (Gini)"
    lines.append(_line(name, [_or_dash(part.impurity) for part in parts]))
    if facts.condition:
        lines.append(_line("gain", [_or_dash(part.gain) for part in parts]))
    elif tree.classes is None:
        lines.append(
            _line("mean error", [_or_dash(part.mean_absolute_error) for part in parts])
        )
    else:
        right = ["–" if p.accuracy is None else percent(p.accuracy) for p in parts]
        lines.append(_line("right", right))
    body = "".join(lines)
    return f'<table class="node-facts"><tr><th></th>{head}</tr>{body}</table>'


def _means(parts: list[NodeStatistics]) -> list[str]:
    """Lines of a significant target: mean and spread, here and over all rows."""
    return [
        _line("mean", [_or_dash(part.mean) for part in parts]),
        _line("of all rows", [_or_dash(part.total_mean) for part in parts], quiet=True),
        _line("spread (SD)", [_or_dash(part.std) for part in parts]),
        _line("of all rows", [_or_dash(part.total_std) for part in parts], quiet=True),
    ]


def _classes(loaded: LoadedRun, tree: Tree, parts: list[NodeStatistics]) -> list[str]:
    """Lines of classes: a bar of all, then a share each, here and over all rows."""
    colors = label_colors(loaded)
    places = [tree.classes.index(label) for label in colors]
    here, whole = (
        [_bar(getattr(part, name), places, colors) for part in parts]
        for name in ("class_fractions", "total_class_fractions")
    )
    lines = [_line("classes", here), _line("of all rows", whole, quiet=True)]
    seen = {
        i: sum(
            p.n_rows * p.class_fractions[i]
            for p in parts
            if p.class_fractions is not None
        )
        for i in places
    }
    most = sorted(places, key=lambda i: -seen[i])[:_LISTED]
    for label, i in ((label, i) for label, i in zip(colors, places) if i in most):
        cells = [
            "–" if p.class_fractions is None else percent(p.class_fractions[i])
            for p in parts
        ]
        name = dot(colors[label], clean(label))
        lines.append(_line(name, cells, is_html=True))
    if len(places) > len(most):
        lines.append(_line(f"{len(places) - len(most)} others", [""] * len(parts)))
    return lines


def _bar(shares, places: list[int], colors: dict) -> str:
    """Return HTML of one stacked bar of classes; empty without a row."""
    if shares is None:
        return "–"
    pieces = "".join(
        f'<i style="flex-grow:{shares[i]:.4f};background:{color}"></i>'
        for i, color in zip(places, colors.values())
        if shares[i] > 0
    )
    return f'<span class="shares">{pieces}</span>'


def _line(name: str, cells, *, quiet: bool = False, is_html: bool = False) -> str:
    """Return HTML of one line of the table; cells are our own."""
    name = name if is_html else html.escape(name)
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{"quiet" if quiet else ""}"><th>{name}</th>{inner}</tr>'


def _or_dash(value: float | None) -> str:
    """Write a significant; a dash for none."""
    if value is None:
        return "–"
    return "<0.0001" if 0 < value < 0.0001 else significant(value)


def _explained(tree: Tree, facts: NodeReport) -> str:
    """Say what the last lines of the table mean."""
    if facts.condition:
        what = "variance" if tree.classes is None else "impurity"
        return f"Gain: the {what} here less that of the two sides, by their rows."
    if tree.classes is None:
        unit = f", in {plain(tree.target_unit)}" if tree.target_unit else ""
        return f"Mean error: how far the answer is off on average{unit}."
    return "Right: rows here whose class is the leaf's answer."


def show_split(loaded: LoadedRun, tree: Tree, node: int) -> None:
    """Draw what an oblique split weighs, and the rows around its threshold."""
    if tree.feature[node] != OBLIQUE:
        return
    X, y = loaded.split.rows("train")
    labels = y.to_numpy() if tree.classes is not None else None
    st.markdown("**What this split weighs, and how the training rows lie**")
    show_figure(
        split_figure(tree, node, X, labels, mode=mode()),
        key="oblique-split",
        alt=f"Weights of the split {split_text(tree, node)}.",
    )


def show_rows(loaded: LoadedRun, tree: Tree, node: int, name: str) -> None:
    """List the rows at a node, the first 200 of a part; all of them as a file."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        part = st.segmented_control(
            "Rows at this node",
            SPLITS[::-1],
            default="test",
            required=True,
            format_func=SPLIT_NAMES.__getitem__,
            key=f"rows-of-{loaded.run.id}",
        )
        X, y = loaded.split.rows(part)
        st.download_button(
            "Download as CSV",
            lambda: _csv(tree, node, X, y),
            f"{name}-{SPLIT_NAMES[part]}.csv",
            "text/csv",
            key=f"rows-csv-{loaded.run.id}",
            on_click="ignore",
            icon=":material/download:",
        )
    rows = _numbered(node_rows(tree, node, X, y))
    st.dataframe(rows, hide_index=True, key=f"rows-at-{loaded.run.id}")
    n_rows = counted(len(rows), f"{SPLIT_NAMES[part]} row")
    first = f"The first {MOST_ROWS} are shown; the file has all. "
    st.caption(
        f"{first if len(rows) == MOST_ROWS else f'{n_rows} at this node. '}"
        "The truth comes first, then the columns that are asked on the way."
    )


def _numbered(rows: pd.DataFrame) -> pd.DataFrame:
    """Put the place of each row in the user's table before it, counted from 1."""
    name = "row"
    while name in rows.columns:
        name += " "
    rows = rows.copy()
    rows.insert(0, name, rows.index + 1)
    return rows


def _csv(tree: Tree, node: int, X: pd.DataFrame, y) -> str:
    """Write all rows of a part at a node."""
    return _numbered(node_rows(tree, node, X, y, most=None)).to_csv(index=False)
