"""The columns that a split adds up: their weights, and how much each matters."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.text.sums import term_fractions, term_name
from treelab.trees.tree import Tree
from treelab.trees.walk import OBLIQUE, filled, read_features


@dataclass(frozen=True)
class SplitTerms:
    """The weighted sum that a split compares with its threshold.

    Attributes
    ----------
    columns : list of k str
        A split that tests a single column has one, of weight 1.
    weights : float64 array of shape (k,)
        In raw units.
    fractions : float64 array of shape (k,)
        Of the sum's spread; see ``term_fractions``.
    values : float64 array of shape (n_rows, k)
        Of the rows that reach the split, missing ones filled.
    """

    columns: list[str]
    weights: np.ndarray
    fractions: np.ndarray
    values: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """Weighted sum of each row, (n_rows,)."""
        return (self.values * self.weights).sum(axis=1)

    def table(self) -> pd.DataFrame:
        """Return a row a column, the largest fraction first.

        Returns
        -------
        DataFrame
            column, weight and fraction.
        """
        table = pd.DataFrame(
            {
                "column": self.columns,
                "weight": self.weights,
                "fraction": self.fractions,
            }
        )
        return table.sort_values(
            "fraction", ascending=False, kind="stable", ignore_index=True
        )


def split_terms(tree: Tree, node: int, X: pd.DataFrame) -> SplitTerms:
    """Return what a split adds up for those rows of ``X`` that reach it.

    Parameters
    ----------
    tree : Tree
    node : int
        A split.
    X : DataFrame
        Rows of the user's table.

    Raises
    ------
    ValueError
        If the node is a leaf, or the tree has no such node.
    """
    tree.check_node(node)
    if tree.is_leaf[node]:
        raise ValueError(f"Node {node} is a leaf; it has no split to draw.")
    oblique = tree.feature[node] == OBLIQUE
    used, weights, fractions = np.array([tree.feature[node]]), np.ones(1), np.ones(1)
    if oblique and tree.weights is not None:
        used = np.flatnonzero(tree.weights[node])
        weights = tree.weights[node, used]
        fractions = term_fractions(tree.features, tree.weights[node])[used]
    matrix = read_features(tree, X)
    values = np.empty((len(matrix), len(used)))
    for k, j in enumerate(used.tolist()):
        # A split that tests one column tests for a missing value by itself.
        values[:, k] = filled(tree.features, matrix, j) if oblique else matrix[:, j]
    known = ~np.isnan(values).any(axis=1)
    values[~known] = np.nanmean(values, axis=0) if known.any() else 0.0
    columns = [term_name(tree.features[j]) for j in used]
    return SplitTerms(
        columns, weights, fractions, values[tree.decision_path(X)[:, node]]
    )
