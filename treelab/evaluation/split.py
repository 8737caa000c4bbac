"""What the terms of a split's weighted sum add."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.text import score_numbers, term_fractions, term_name
from treelab.trees.tree import OBLIQUE, Tree, filled, read_features, rows_at


@dataclass(frozen=True)
class SplitTerms:
    """The weighted sum that a split compares with its threshold."""

    columns: list[str]
    weights: np.ndarray  # float64 (k,): in raw units
    fractions: np.ndarray  # float64 (k,): of the sum's spread; see ``term_fractions``
    # float64 (n_rows, k): of the rows that reach the split, missing ones filled.
    values: np.ndarray

    @property
    def sums(self) -> np.ndarray:
        """Weighted sum of each row, (n_rows,)."""
        return (self.values * self.weights).sum(axis=1)

    def table(self) -> pd.DataFrame:
        """Return column, weight and fraction, the largest fraction first."""
        table = pd.DataFrame(
            {"column": self.columns, "weight": self.weights, "fraction": self.fractions}
        )
        return table.sort_values(
            "fraction", ascending=False, kind="stable", ignore_index=True
        )


def split_terms(tree: Tree, node: int, X: pd.DataFrame) -> SplitTerms:
    """Return what a split of a weighted sum adds up for those rows that reach it.

    ValueError if the node adds up no columns, or the tree has no such node.
    """
    tree.check_node(node)
    if tree.feature[node] != OBLIQUE or tree.weights is None:
        raise ValueError(f"Node {node} is no split of a weighted sum.")
    used = np.flatnonzero(tree.weights[node])
    matrix = read_features(tree, X)
    rows = rows_at(tree, matrix, node)
    values = np.empty((len(rows), len(used)))
    for k, j in enumerate(used.tolist()):
        values[:, k] = filled(tree.features, matrix, j, rows)
    numbers = score_numbers(tree.features)
    return SplitTerms(
        [term_name(tree.features[j], number=numbers[j]) for j in used],
        tree.weights[node, used],
        term_fractions(tree.features, tree.weights[node])[used],
        values,
    )
