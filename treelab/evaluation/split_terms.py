"""The columns that a split adds up: their weights, and how much each matters."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.text.sums import term_name
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
    values : float64 array of shape (n_rows, k)
        Of the rows that reach the split, missing ones filled.
    """

    columns: list[str]
    weights: np.ndarray
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
            column, weight, standardised and fraction; see ``standardised_weights``.
        """
        std = (
            self.values.std(axis=0) if len(self.values) else np.zeros(len(self.weights))
        )
        standardised, fraction = standardised_weights(self.weights, std)
        table = pd.DataFrame(
            {
                "column": self.columns,
                "weight": self.weights,
                "standardised": standardised,
                "fraction": fraction,
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
    if oblique and tree.weights is not None:
        used = np.flatnonzero(tree.weights[node])
        weights = tree.weights[node, used]
    else:
        used, weights = np.array([tree.feature[node]]), np.ones(1)
    matrix = read_features(tree, X)
    values = np.empty((len(matrix), len(used)))
    for k, j in enumerate(used.tolist()):
        # A split that tests one column tests for a missing value by itself.
        values[:, k] = filled(tree.features, matrix, j) if oblique else matrix[:, j]
    known = ~np.isnan(values).any(axis=1)
    values[~known] = np.nanmean(values, axis=0) if known.any() else 0.0
    columns = [term_name(tree.features[j]) for j in used]
    return SplitTerms(columns, weights, values[tree.decision_path(X)[:, node]])


def standardised_weights(
    weights: np.ndarray, std: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights times standard deviations, and their fractions of the sum.

    Parameters
    ----------
    weights, std : float arrays of shape (k,)
        Weight and standard deviation of each column, in raw units.

    Returns
    -------
    standardised : float64 array of shape (k,)
        How far a column moves the sum by one standard deviation.
    fraction : float64 array of shape (k,)
        Of the sum of their absolute values.
    """
    standardised = np.asarray(weights) * std
    total = np.abs(standardised).sum()
    return standardised, np.abs(standardised) / (total if total > 0 else 1.0)
