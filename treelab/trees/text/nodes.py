"""Splits, predictions and decision paths in words, those of the user's table."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from treelab.trees.feature import as_table
from treelab.trees.text.conditions import (
    CategoryCondition,
    ObliqueCondition,
    shown_threshold,
    split_condition,
)
from treelab.trees.text.names import clean, quoted, short, with_unit
from treelab.trees.text.numerals import (
    counted,
    parse,
    percent,
    probability,
    rounded,
    shortest,
    value_text,
)
from treelab.trees.text.sums import combination
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, read_features


def split_text(tree: Tree, node: int, *, most=None, length=None, missing=True) -> str:
    """Return the condition of a split; where it holds is left.

    Parameters
    ----------
    tree : Tree
    node : int
        A split.
    most : int or None, default=None
        Categories, or columns of an oblique split, that are listed; None: all.
    length : int or None, default=None
        Letters of a column's or category's name before it is shortened; None: all.
    missing : bool, default=True
        Whether "(or missing)" may follow.

    Returns
    -------
    str
        "petal width ≤ 0.8 cm", "occupation in {Sales, Tech}", or
        "0.61·age − 0.42·bmi ≤ 1.3". A threshold has three significant digits, or as
        many more as keep every training row on its side; the numbers of an oblique
        split are rounded to three. "(or missing)" follows where training rows with a
        missing value reached the split and went left.

    Raises
    ------
    ValueError
        If the node is a leaf, or the tree has no such node.
    """
    check_split(tree, node)
    condition = split_condition(tree, node)
    if isinstance(condition, ObliqueCondition):
        return condition.text(False, most, length)
    column = condition.feature.column
    mention = missing and column in tree.missing_columns
    # An infinite threshold may let everything pass.
    return condition.text(mention, most, length) or f"any {short(column, length)}"


def left_categories(tree: Tree, node: int) -> tuple[str, ...]:
    """Return the known categories that go left at a split of a category column.

    Raises
    ------
    ValueError
        If the node does not split a category column.
    """
    check_split(tree, node)
    condition = split_condition(tree, node)
    if not isinstance(condition, CategoryCondition):
        raise ValueError(f"Node {node} does not split a column of categories.")
    return tuple(c for c in condition.feature.categories if c in condition.allowed)


def prediction_text(tree: Tree, node: int, *, most=None, length=None) -> str:
    """Return the prediction for a row that ends at a node.

    Parameters
    ----------
    tree : Tree
    node : int
    most, length : int or None
        As in ``split_text``.

    Returns
    -------
    str
        "setosa (0.98)", with its probability; "bad (0.31; good 0.69)" where weights of
        the classes choose another than the most probable one; "152 mm", or the sum of
        a linear leaf.
    """
    tree.check_node(node)
    if tree.classes is not None:
        own = tree.value[node]
        chosen = int(tree.predicted_class[node])
        sure = probability(own[chosen])
        if own.max() > own[chosen]:
            likelier = short(tree.classes[int(own.argmax())], length)
            sure += f"; {likelier} {probability(own.max())}"
        return f"{short(tree.classes[chosen], length)} ({sure})"
    weights, bias = tree.leaf_weights, tree.leaf_bias
    if weights is not None and bias is not None and weights[node].any():
        start = rounded(bias[node, 0])
        return combination(tree.features, weights[node], most, length, start=start)
    return number_text(tree, node)


def number_text(tree: Tree, node: int) -> str:
    """Return the number that a node predicts, say "152 mm".

    It is rounded by no more than 0.5% of the range of the tree's values.
    """
    value = tree.value[node, 0]
    near = np.ptp(tree.value) / 200 or np.inf
    text = shortest(value, lambda shown: abs(shown - value) <= near)
    return with_unit(text, tree.target_unit)


def prediction_label(tree: Tree, node: int) -> str:
    """Return the class or value that a node predicts alone: "setosa", "152 mm"."""
    if tree.classes is not None:
        return str(tree.classes[tree.predicted_class[node]])
    return number_text(tree, node)


def rows_text(tree: Tree, node: int) -> str:
    """Return "1,024 rows, 31.4%", or "" where the tree knows no rows."""
    if tree.n_rows[0] == 0:
        return ""
    share = percent(tree.n_rows[node] / tree.n_rows[0])
    return f"{counted(int(tree.n_rows[node]), 'row')}, {share}"


def node_text(tree: Tree, node: int) -> str:
    """Return a node in words: its condition or its prediction, and its rows.

    Returns
    -------
    str
        "petal width ≤ 0.8 cm? · 150 rows, 100%" or "setosa (1.00) · 50 rows, 33.3%".
    """
    tree.check_node(node)
    text = (
        prediction_text(tree, node)
        if tree.is_leaf[node]
        else f"{split_text(tree, node)}?"
    )
    rows = rows_text(tree, node)
    return f"{text} · {rows}" if rows else text


def path_sentences(tree: Tree, row, *, most: int | None = None) -> list[str]:
    """Return the decision path of one row, a sentence a node.

    Parameters
    ----------
    tree : Tree
    row : DataFrame or array of one row
    most : int or None, default=None
        Categories, or columns of an oblique split, that are listed; None: all.

    Returns
    -------
    list of str
        Such as "petal width ≤ 0.8 cm? Yes: it is 0.2 cm." and, last, the prediction.
    """
    nodes = tree.path(row)
    matrix = read_features(tree, row)
    sentences = []
    for node, below in pairwise(nodes):
        side = "Yes" if below == tree.left[node] else "No"
        value = row_value_text(tree, node, matrix, row)
        condition = split_text(tree, node, most=most)
        sentences.append(f"{condition}? {side}: it is {value}.")
    last = nodes[-1]
    prediction = prediction_text(tree, last)
    if tree.leaf_weights is not None and tree.leaf_weights[last].any():
        value = with_unit(shortest(float(tree.predict(row)[0])), tree.target_unit)
        prediction = f"{prediction} = {value}"
    sentences.append(f"{clean(tree.target)}: {prediction}.")
    return sentences


def row_value_text(tree: Tree, node: int, matrix: np.ndarray, row) -> str:
    """Return the value of one row that a split tests: "0.2 cm", "Sales", "missing".

    Parameters
    ----------
    tree : Tree
    node : int
        A split.
    matrix : float64 array of shape (1, n_features)
        The row as ``walk.read_features`` returns it.
    row : DataFrame or array of one row
    """
    j = tree.feature[node]
    threshold = float(tree.threshold[node])
    if j == OBLIQUE:
        total = threshold - float(tree.margin(row)[0, node])
        return value_text(total, threshold, parse(rounded(threshold)))
    feature = tree.features[j]
    x = float(matrix[0, j])
    if feature.kind == "number":
        text = value_text(x, threshold, parse(shown_threshold(tree, node)))
        return text if np.isnan(x) else with_unit(text, feature.unit)
    table = as_table(tree.features, row)
    names = [str(name) for name in table.columns]
    cell: Any = table.iloc[0, names.index(feature.column)]
    if pd.isna(cell):
        return "missing"
    name = feature.category(cell)
    text, known = quoted(name), name in feature.categories
    return text if known else f"{text}, which no training row held"


def check_split(tree: Tree, node: int) -> None:
    """Raise ValueError unless the node is a split."""
    tree.check_node(node)
    if tree.is_leaf[node]:
        raise ValueError(f"Node {node} is a leaf, not a split.")
