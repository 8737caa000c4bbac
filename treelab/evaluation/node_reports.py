"""What is known of one node of a tree: its rule, and its rows in each part."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from treelab.trees.feature import as_table, feature_matrix
from treelab.trees.statistics import check_target
from treelab.trees.text.nodes import split_text
from treelab.trees.text.rules import rule_text
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, goes_left

MOST_ROWS = 200


@dataclass(frozen=True)
class PartFacts:
    """The rows of one part of the table that pass a node.

    Attributes
    ----------
    n_rows : int
        Rows that pass.
    n_total : int
        Rows of the whole part.
    shares : float64 array of shape (n_classes,) or None
        Of the classes among those that pass, as ``tree.classes`` orders them; None
        for a number target or without a row.
    total_shares : float64 array of shape (n_classes,) or None
        The same, of the whole part.
    mean, std : float or None
        Of the target among those that pass, in its unit; None for classes or without
        a row.
    total_mean, total_std : float or None
        The same, of the whole part.
    impurity : float or None
        Gini impurity, or variance, of the rows that pass; None without a row.
    gain : float or None
        Impurity less that of the two sides, weighted by their rows; None at a leaf or
        without a row.
    right : float or None
        Share of these rows whose class the tree's leaf says; None for a number
        target, at a split, or without a row.
    error : float or None
        Mean absolute error of the leaf's answer, in the target's unit; likewise.
    """

    n_rows: int
    n_total: int
    shares: np.ndarray | None = None
    total_shares: np.ndarray | None = None
    mean: float | None = None
    std: float | None = None
    total_mean: float | None = None
    total_std: float | None = None
    impurity: float | None = None
    gain: float | None = None
    right: float | None = None
    error: float | None = None

    @property
    def share(self) -> float:
        """Rows that pass, as a share of the part."""
        return self.n_rows / self.n_total if self.n_total else 0.0


@dataclass(frozen=True)
class NodeFacts:
    """One node of a tree.

    Attributes
    ----------
    node : int
    rule : str
        All that is asked on the way to it, in words.
    asks : str or None
        The question of a split.
    parts : dict of str to PartFacts
    """

    node: int
    rule: str
    asks: str | None
    parts: dict[str, PartFacts]


def node_facts(tree: Tree, node: int, parts: Mapping[str, tuple]) -> NodeFacts:
    """Measure one node on each part of a table.

    Only the splits on the way to the node, and its own, are asked, of the rows that
    still pass: one node takes much less time than the whole tree.

    Parameters
    ----------
    tree : Tree
    node : int
    parts : mapping of str to (X, y)
        Rows of the user's table, and their labels or values of the target.

    Raises
    ------
    ValueError
        If the tree has no such node, or rows and targets do not fit it.
    """
    tree.check_node(node)
    found = {name: _part(tree, node, X, y) for name, (X, y) in parts.items()}
    asks = None if tree.is_leaf[node] else split_text(tree, node)
    return NodeFacts(int(node), rule_text(tree, node), asks, found)


def rows_at(tree: Tree, node: int, X) -> np.ndarray:
    """Return the positions, ascending, of the rows of ``X`` that pass a node.

    Raises
    ------
    ValueError
        If the tree has no such node, or ``X`` lacks a column that is asked for.
    """
    return _on_the_way(tree, node, as_table(tree.features, X))[0]


def node_rows(
    tree: Tree, node: int, X: pd.DataFrame, y, most: int | None = MOST_ROWS
) -> pd.DataFrame:
    """Return the rows that pass a node, the truth first, then what the way asks.

    Parameters
    ----------
    tree : Tree
    node : int
    X : DataFrame
    y : array-like of shape (n_rows,)
    most : int or None, default=200
        Rows; None: all.

    Returns
    -------
    DataFrame
        The target, the columns that are asked on the way and at the node, and the
        others in their order; the index is that of ``X``.
    """
    rows = rows_at(tree, node, X)[:most]
    asked = dict.fromkeys(
        tree.features[j].column
        for above in tree.path_to(node)
        for j in _read_at(tree, above)
    )
    columns = [*asked, *(name for name in X.columns if str(name) not in asked)]
    table = X.iloc[rows].loc[:, columns]
    target = tree.target
    while target in table.columns:
        target += " "
    table.insert(0, target, np.asarray(y)[rows])
    return table


def _part(tree: Tree, node: int, X, y) -> PartFacts:
    """Measure a node on the rows of one part."""
    X = as_table(tree.features, X)
    truth = check_target(tree, len(X), y)
    rows, left = _on_the_way(tree, node, X)
    here = truth[rows]
    n_rows, n_total = len(rows), len(truth)
    facts: dict[str, Any] = {}
    if tree.classes is None:
        facts |= {"total_mean": _mean(truth), "total_std": _std(truth)}
        facts |= {"mean": _mean(here), "std": _std(here)}
    else:
        n = len(tree.classes)
        facts |= {"total_shares": _shares(truth, n), "shares": _shares(here, n)}
    if n_rows == 0:
        return PartFacts(n_rows, n_total, **facts)
    impurity = _impurity(tree, here)
    facts["impurity"] = impurity
    if left is not None:
        below = sum(
            len(side) * _impurity(tree, side) for side in (here[left], here[~left])
        )
        facts["gain"] = impurity - below / n_rows
    elif tree.classes is None:
        facts["error"] = float(np.abs(tree.predict(X.iloc[rows]) - here).mean())
    else:
        facts["right"] = float(np.mean(here == tree.value[node].argmax()))
    return PartFacts(n_rows, n_total, **facts)


def _on_the_way(tree: Tree, node: int, X) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows that pass a node, and which of them go left there (None at a leaf)."""
    path = tree.path_to(node)
    used = sorted({j for above in path for j in _read_at(tree, above)})
    matrix = feature_matrix(tree.features, X, np.array(used, dtype=int))
    rows = np.arange(len(X))
    for above, below in pairwise(path):
        left = goes_left(tree, matrix, np.full(len(rows), above), rows)
        rows = rows[left == (tree.left[above] == below)]
    if tree.is_leaf[node]:
        return rows, None
    return rows, goes_left(tree, matrix, np.full(len(rows), node), rows)


def _read_at(tree: Tree, node: int) -> list[int]:
    """Features that a split reads; none at a leaf."""
    if tree.is_leaf[node]:
        return []
    if tree.weights is not None and tree.feature[node] == OBLIQUE:
        return np.flatnonzero(tree.weights[node]).tolist()
    return [int(tree.feature[node])]


def _impurity(tree: Tree, truth: np.ndarray) -> float:
    """Gini impurity of classes, or variance of values; 0 without a row."""
    if len(truth) == 0:
        return 0.0
    if tree.classes is None:
        return float(truth.var())
    return float(1 - np.square(np.bincount(truth) / len(truth)).sum())


def _shares(codes: np.ndarray, n_classes: int) -> np.ndarray | None:
    """Share of each class; None without a row."""
    if len(codes) == 0:
        return None
    return np.bincount(codes, minlength=n_classes) / len(codes)


def _mean(values: np.ndarray) -> float | None:
    """Mean; None without a row."""
    return float(values.mean()) if len(values) else None


def _std(values: np.ndarray) -> float | None:
    """Standard deviation; None without a row."""
    return float(values.std()) if len(values) else None
