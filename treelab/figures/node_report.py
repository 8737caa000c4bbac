"""The rows at a node by data split as an HTML table, and what its last line means."""

import html
from collections.abc import Callable, Mapping

from treelab.evaluation.node_report import NodeStatistics
from treelab.figures.html import dot
from treelab.trees.tree import Tree
from treelab.trees.words import clean, percent, significant

_LISTED = 8  # classes, the most frequent at the node first


def statistics_table(
    tree: Tree, node: int, statistics: Mapping[str, NodeStatistics], colors: dict
) -> str:
    """Return HTML: a column a data split, a line a statistic.

    Statistics of the node go by the titles of the columns; the classes have their
    colours in the order of the bars.
    """
    found = list(statistics.values())

    def line(name: str, field: str, write: Callable = _number, *, quiet=False) -> str:
        values = [getattr(own, field) for own in found]
        cells = ["–" if value is None else write(value) for value in values]
        return _line(html.escape(name), cells, quiet)

    is_number = tree.classes is None
    lines = [line("rows", "n_rows", "{:,}".format)]
    lines.append(line("of all rows", "fraction", percent))
    if found[0].weight is not None:
        lines.append(line("weight", "weight"))
        lines.append(line("of all weight", "weight_fraction", percent))
    if is_number:
        for name, field in (("mean", "mean"), ("standard deviation", "std")):
            lines.append(line(name, field))
            lines.append(line("of all rows", f"total_{field}", quiet=True))
    else:
        codes = {label: i for i, label in enumerate(tree.classes or ())}
        places = [codes[label] for label in colors]

        def bar(fractions) -> str:
            return _bar(fractions[places], colors)

        lines.append(line("classes", "class_fractions", bar))
        lines.append(line("of all rows", "total_class_fractions", bar, quiet=True))
        lines += _classes(found, dict(zip(places, colors.items())))
    lines.append(line("variance" if is_number else "impurity (Gini)", "impurity"))
    if not tree.is_leaf[node]:
        lines.append(line("gain", "gain"))
    elif is_number:
        lines.append(line("mean absolute error", "mean_absolute_error"))
    else:
        lines.append(line("accuracy", "accuracy", percent))
    head = "".join(f"<th>{html.escape(title)}</th>" for title in statistics)
    body = "".join(lines)
    return f'<table class="node-facts"><tr><th></th>{head}</tr>{body}</table>'


def statistics_words(tree: Tree, node: int, unit: str = "") -> str:
    """Explain the last line of ``statistics_table``, with the target's unit."""
    rows = "rows" if tree.weight is None else "weight of the rows"
    if not tree.is_leaf[node]:
        what = "variance" if tree.classes is None else "impurity"
        return f"Gain: {what} of the node minus that of its children, by the {rows}."
    if tree.classes is None:
        words = "Mean absolute error: mean distance of prediction and target"
        return f"{words}, in {unit}." if unit else f"{words}."
    return f"Accuracy: {rows} here whose class the leaf predicts."


def _classes(found: list[NodeStatistics], shown: dict[int, tuple]) -> list[str]:
    """Lines of the classes that are most frequent at the node, a fraction each."""
    n_rows = [own.weight or own.n_rows for own in found]
    fractions = [own.class_fractions for own in found]
    seen = {
        i: sum(n * own[i] for n, own in zip(n_rows, fractions) if own is not None)
        for i in shown
    }
    most = sorted(shown, key=lambda i: -seen[i])[:_LISTED]
    lines = []
    for i, (label, color) in shown.items():
        if i in most:
            cells = ["–" if own is None else percent(own[i]) for own in fractions]
            lines.append(_line(dot(color, clean(label)), cells))
    if len(shown) > len(most):
        lines.append(_line(f"{len(shown) - len(most)} others", [""] * len(found)))
    return lines


def _bar(fractions, colors: dict) -> str:
    """Return HTML of one stacked bar of classes."""
    pieces = "".join(
        f'<i style="flex-grow:{fraction:.4f};background:{color}"></i>'
        for fraction, color in zip(fractions, colors.values())
        if fraction > 0
    )
    return f'<span class="fractions">{pieces}</span>'


def _line(name: str, cells: list[str], quiet: bool = False) -> str:
    """Return HTML of one line of the table; name and cells are HTML."""
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{"quiet" if quiet else ""}"><th>{name}</th>{inner}</tr>'


def _number(value: float) -> str:
    """Write a number."""
    return "&lt;0.0001" if 0 < value < 0.0001 else significant(value)
