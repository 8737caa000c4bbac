"""What one row holds, in words: a value, and where it lies within a condition."""

import numpy as np

from treelab.trees.feature import as_table
from treelab.trees.text.conditions import (
    Condition,
    NumberCondition,
    ObliqueCondition,
    path_conditions,
)
from treelab.trees.text.names import clean, quoted, with_unit
from treelab.trees.text.numerals import counted, parse, rounded, shortest, value_text
from treelab.trees.text.rules import condition_text
from treelab.trees.text.sums import term_fractions, term_name
from treelab.trees.tree import Tree


def path_lines(tree: Tree, row, *, most: int | None = None) -> list[str]:
    """Return the decision path of one row, a line a column.

    Several splits of one column are one interval, or one set of categories.

    Parameters
    ----------
    tree : Tree
    row : DataFrame or array of one row
    most : int or None, default=None
        Categories, or columns of an oblique split, that are listed; None: all.

    Returns
    -------
    list of str
        Such as "0.8 < petal width ≤ 1.75 cm: it is 1.3 cm"; an oblique split each has
        a line with its sum.
    """
    lines = []
    for condition in path_conditions(tree, tree.path(row)[-1]):
        if text := condition_text(tree, condition, most):
            value = value_within(tree, condition, row)
            is_said = text.endswith(f" is {value}")  # one category passes
            lines.append(text if is_said else f"{text}: it is {value}")
    return lines


def fact_text(tree: Tree, condition: Condition, row) -> str:
    """Return what a row holds where a condition asks, as a person would say it.

    Returns
    -------
    str
        Such as "age is 38 (> 30.5, ≤ 45)", "job is Sales", "bmi is missing", or of an
        oblique split "the weighted sum of age and bmi is 1.2 (≤ 1.3)".
    """
    value = value_within(tree, condition, row)
    if isinstance(condition, ObliqueCondition):
        threshold = rounded(tree.threshold[condition.node])
        bound = f"{'≤' if condition.left else '>'} {threshold}"
        return (
            f"the weighted sum of {sum_name(tree, condition.node)} is {value} ({bound})"
        )
    name = clean(condition.column)
    if not isinstance(condition, NumberCondition) or value == "missing":
        return f"{name} is {value}"
    bounds = [f"> {condition.low_text}"] if condition.low_text else []
    bounds += [f"≤ {condition.high_text}"] if condition.high_text else []
    return f"{name} is {value} ({', '.join(bounds)})"


def sum_name(tree: Tree, node: int, most: int = 3) -> str:
    """Return the columns of an oblique split, those that move its sum most first."""
    assert tree.weights is not None  # as of every tree with an oblique split
    fractions = term_fractions(tree.features, tree.weights[node])
    used = np.flatnonzero(tree.weights[node])
    order = used[np.argsort(-fractions[used], kind="stable")]
    names = [term_name(tree.features[j]) for j in order[:most]]
    if rest := len(order) - len(names):
        names.append(counted(rest, "more column"))
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def value_within(tree: Tree, condition: Condition, row) -> str:
    """Return the value of one row, so that as shown it lies within the condition."""
    table = as_table(tree.features, row)
    if isinstance(condition, ObliqueCondition):
        node = condition.node
        threshold = float(tree.threshold[node])
        total = threshold - float(tree.margin(table)[0, node])
        return value_text(total, threshold, parse(rounded(threshold)))
    cell = table[condition.column].iloc[0]
    if not isinstance(condition, NumberCondition) or condition.feature.lacks(cell):
        return cell_text(condition.feature, cell)
    low, high = condition.low_text or "−∞", condition.high_text or "∞"
    text = shortest(float(cell))
    if not parse(low) < parse(text) <= parse(high):
        text = shortest(float(cell), lambda shown: parse(low) < shown <= parse(high))
    return with_unit(text, condition.feature.unit)


def cell_text(feature, cell) -> str:
    """Return a cell of a feature's column: "0.2 cm", "Sales" or "missing"."""
    if feature.lacks(cell):
        return "missing"
    if feature.kind == "number":
        return with_unit(shortest(float(cell)), feature.unit)
    name = feature.category(cell)
    text, known = quoted(name), name in feature.categories
    return text if known else f"{text}, which no training row held"
