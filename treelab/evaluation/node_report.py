"""What is said of a node: its rows, its scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from treelab.trees.feature import feature_matrix
from treelab.trees.text import error_text, rule_text, split_text
from treelab.trees.tree import (
    OBLIQUE,
    Tree,
    check_one_output,
    check_target,
    goes_left,
    rows_at,
)
from treelab.trees.words import counted, percent

# How good a leaf's prediction is on the rows that reach it.

BY_WEIGHT = " by weight"  # of a score, where rows do not count alike


@dataclass(frozen=True)
class LeafScore:
    """The rows that reach one leaf, and how well they are predicted."""

    n_rows: int  # rows that reach the leaf
    n_total: int  # rows of the whole table
    # Fraction of the leaf's rows whose class is predicted; None for regression or
    # without a row.
    accuracy: float | None = None
    # Of the predictions for the leaf's rows, in the target's unit; None for classes or
    # without a row.
    mean_absolute_error: float | None = None
    is_weighted: bool = False  # whether rows count by weight in these

    def sentence(self, model: Any) -> str:
        """Write how many test rows reach a model's leaf, and how well it predicts."""
        n_total = counted(self.n_total, "test row")
        if how := self.how_good(model):
            return f"This leaf: {self.n_rows:,} of {n_total}{how}."
        return f"None of the {n_total} reaches this leaf."

    def how_good(self, model: Any) -> str:
        """Write the score of a model's rows: ", accuracy 93%"; "" without a row."""
        how = BY_WEIGHT * self.is_weighted
        if self.accuracy is not None:
            return f", accuracy {percent(self.accuracy)}{how}"
        if self.mean_absolute_error is None:
            return ""
        error = error_text(model, self.mean_absolute_error)
        return f", mean absolute error {error}{how}"


def score_leaf(
    tree: Tree, leaf: int, X: pd.DataFrame, y, weight=None, *, predictions=None
) -> LeafScore:
    """Count the rows that reach a leaf and score the predictions for them.

    These are rows that did not train the tree, (n_rows, n_columns), and their labels,
    or values in the target's unit. Where another model predicts on top of the tree, its
    ``predictions`` (n_rows,) are scored. ValueError if the node is not a leaf.
    """
    if not tree.is_leaf[leaf]:
        raise ValueError(f"Node {leaf} is a split; only a leaf predicts.")
    here = tree.apply(X) == leaf
    truth, is_weighted = np.asarray(y)[here], weight is not None
    if len(truth) == 0:
        return LeafScore(0, len(here))
    predicted = tree.predict(X[here])
    if predictions is not None:
        predicted = np.asarray(predictions)[here]
    is_number = tree.classes is None
    each = np.abs(predicted - truth.astype(float)) if is_number else predicted == truth
    mean = float(np.average(each, weights=weight[here] if is_weighted else None))
    accuracy, error = (None, mean) if is_number else (mean, None)
    return LeafScore(len(truth), len(here), accuracy, error, is_weighted)


# A report on one node of a tree: its rule, and its rows on each data split.


MOST_ROWS = 200


@dataclass(frozen=True)
class NodeStatistics:
    """The rows of one data split that pass a node."""

    n_rows: int  # rows that pass
    n_total: int  # rows of the data split
    # Of the rows that pass, and of all; None where they count alike. What follows is by
    # weight, and None without a row.
    weight: float | None = None
    total_weight: float | None = None
    # float64 (n_classes,): of the rows that pass, and of all, as ``tree.classes``
    # orders them; None for regression.
    class_fractions: np.ndarray | None = None
    total_class_fractions: np.ndarray | None = None
    # Of the target among the rows that pass, and of all, in its unit; None for classes.
    mean: float | None = None
    std: float | None = None
    total_mean: float | None = None
    total_std: float | None = None
    impurity: float | None = None  # Gini impurity, or variance, of the rows that pass
    # Impurity less that of the two children, weighted by their rows; None at a leaf.
    gain: float | None = None
    # Of a leaf: fraction of these rows whose class it predicts; None for regression.
    # Error of its predictions in the target's unit; None for classes.
    accuracy: float | None = None
    mean_absolute_error: float | None = None

    @property
    def fraction(self) -> float:
        """Rows that pass, as a fraction of the data split."""
        return self.n_rows / self.n_total if self.n_total else 0.0

    @property
    def weight_fraction(self) -> float:
        """Their weight, as a fraction of that of the data split."""
        if self.weight is None or not self.total_weight:
            return self.fraction
        return self.weight / self.total_weight


@dataclass(frozen=True)
class NodeReport:
    """One node of a tree."""

    node: int
    rule: str  # the conditions on the decision path to it, in words
    condition: str | None  # of a split, in words; None at a leaf
    statistics: dict[str, NodeStatistics]  # by data split


def node_report(tree: Tree, node: int, splits: Mapping[str, tuple]) -> NodeReport:
    """Measure one node on each data split.

    Only the splits on the decision path to the node, and its own, are evaluated, and
    only on the rows that still pass: one node takes much less time than the whole tree.
    Data splits are (X, y) or (X, y, weight). ValueError if the tree has no such node or
    several outputs, or rows and targets do not fit it.
    """
    tree.check_node(node)
    check_one_output(tree)
    statistics = {
        name: _node_statistics(tree, node, *rows) for name, rows in splits.items()
    }
    condition = None if tree.is_leaf[node] else split_text(tree, node)
    return NodeReport(int(node), rule_text(tree, node), condition, statistics)


def rows_at_node(tree: Tree, node: int, X) -> np.ndarray:
    """Return the positions, ascending, of the rows of ``X`` that pass a node.

    ValueError if there is no such node, or ``X`` lacks a column that is tested.
    """
    return _follow_path(tree, node, X)[0]


def node_rows(
    tree: Tree, node: int, X: pd.DataFrame, y, most: int | None = MOST_ROWS
) -> pd.DataFrame:
    """Return the rows that pass a node, at most so many: the truth, then their columns.

    The target, the columns that are tested on the decision path and at the node, and
    the others in their order; the index is that of ``X``.
    """
    rows = rows_at_node(tree, node, X)[:most]
    tested = dict.fromkeys(
        tree.features[j].column
        for above in tree.path_to(node)
        for j in _features_tested(tree, above)
    )
    columns = [*tested, *(name for name in X.columns if str(name) not in tested)]
    table = X.iloc[rows].loc[:, columns]
    target = tree.target
    while target in table.columns:
        target += " "
    table.insert(0, target, np.asarray(y)[rows])
    return table


def numbered(rows: pd.DataFrame, X: pd.DataFrame, title: str) -> pd.DataFrame:
    """Put the place of each row before it, counted from 1: in ``X``, in the table.

    By its place in ``X``, a data split, a row is named on every page; the title is of
    that column.
    """
    places: dict[str, Any] = {
        title: X.index.get_indexer(rows.index) + 1,
        "row of the table": rows.index + 1,
    }
    rows = rows.copy()
    for at, (name, place) in enumerate(places.items()):
        while name in rows.columns:
            name += " "
        rows.insert(at, name, place)
    return rows


def _node_statistics(tree: Tree, node: int, X, y, weight=None) -> NodeStatistics:
    """Measure a node on the rows of one data split."""
    truth = check_target(tree, len(X), y)
    rows, left = _follow_path(tree, node, X)
    each = np.ones(len(truth)) if weight is None else weight
    here, own = truth[rows], each[rows]
    n_rows, n_total = len(rows), len(truth)
    found: dict[str, Any] = {}
    if weight is not None:
        found = {"weight": float(own.sum()), "total_weight": float(each.sum())}
    for of, values, weights in (("", here, own), ("total_", truth, each)):
        if not len(values):
            continue
        if tree.classes is None:
            found[f"{of}mean"] = mean = float(np.average(values, weights=weights))
            variance = np.average((values - mean) ** 2, weights=weights)
            found[f"{of}std"] = float(np.sqrt(variance))
        else:
            mass = np.bincount(values, weights, len(tree.classes))
            found[f"{of}class_fractions"] = mass / weights.sum()
    if n_rows == 0:
        return NodeStatistics(n_rows, n_total, **found)
    impurity = _impurity(tree, here, own)
    found["impurity"] = impurity
    if left is not None:
        below = sum(
            own[side].sum() * _impurity(tree, here[side], own[side])
            for side in (left, ~left)
        )
        found["gain"] = impurity - below / own.sum()
    elif tree.classes is None:
        errors = np.abs(tree.predict(X.iloc[rows]) - here)
        found["mean_absolute_error"] = float(np.average(errors, weights=own))
    else:
        is_right = here == tree.predicted_class[node]
        found["accuracy"] = float(np.average(is_right, weights=own))
    return NodeStatistics(n_rows, n_total, **found)


def _follow_path(tree: Tree, node: int, X) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that pass a node, and which of them go left there (None at a leaf)."""
    path = tree.path_to(node)
    used = sorted({j for above in path for j in _features_tested(tree, above)})
    matrix = feature_matrix(tree.features, X, np.array(used, dtype=int))
    rows = rows_at(tree, matrix, node)
    if tree.is_leaf[node]:
        return rows, None
    return rows, goes_left(tree, matrix, np.full(len(rows), node), rows)


def _features_tested(tree: Tree, node: int) -> list[int]:
    """Features that a split tests; none at a leaf."""
    if tree.is_leaf[node]:
        return []
    if tree.weights is not None and tree.feature[node] == OBLIQUE:
        return np.flatnonzero(tree.weights[node]).tolist()
    return [int(tree.feature[node])]


def _impurity(tree: Tree, truth: np.ndarray, weight: np.ndarray) -> float:
    """Gini impurity of classes, or variance of values; 0 without a row."""
    if len(truth) == 0:
        return 0.0
    if tree.classes is None:
        mean = np.average(truth, weights=weight)
        return float(np.average((truth - mean) ** 2, weights=weight))
    return float(1 - ((np.bincount(truth, weight) / weight.sum()) ** 2).sum())
