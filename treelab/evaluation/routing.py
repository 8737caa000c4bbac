"""Class routing: the fraction of some rows, say of one class, that passes each node."""

import numpy as np
import pandas as pd

from treelab.trees.text.nodes import prediction_label, split_text
from treelab.trees.tree import Tree

BANDS = ("low", "middle", "high")


def routing_table(tree: Tree, X: pd.DataFrame) -> pd.DataFrame:
    """Count the rows that pass each node and normalise them in each level.

    Source: the class routing distributions of Zantedeschi, Kusner and Niculae,
    "Learning Binary Decision Trees by Argmin Differentiation", arXiv:2010.04627.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    X : DataFrame of shape (n_rows, n_columns)
        The rows to send down, in the table's own columns; may have no row.

    Returns
    -------
    DataFrame of n rows, indexed by node
        ``level``; ``rows`` that pass; ``fraction``, of ``X``; ``level_fraction``,
        of those rows that reach the node's level (a row that ended in a leaf above
        counts no more), zero where none does; ``condition``, empty at leaves;
        ``prediction``, empty at splits.
    """
    level = np.asarray(tree.level)
    rows = tree.decision_path(X).sum(axis=0) if len(X) else np.zeros(len(level), int)
    at_level = np.bincount(level, weights=rows)[level]
    return pd.DataFrame(
        {
            "level": level,
            "rows": rows.astype(int),
            "fraction": rows / max(len(X), 1),
            "level_fraction": np.divide(
                rows, at_level, out=np.zeros(len(level)), where=at_level > 0
            ),
            "condition": [
                "" if leaf else split_text(tree, node)
                for node, leaf in enumerate(tree.is_leaf)
            ],
            "prediction": [
                prediction_label(tree, node) if leaf else ""
                for node, leaf in enumerate(tree.is_leaf)
            ],
        },
        index=pd.RangeIndex(len(level), name="node"),
    )


def target_bands(y_train, y) -> tuple[np.ndarray, tuple[float, float]]:
    """Sort values of a number target into low, middle and high.

    Parameters
    ----------
    y_train : array-like of shape (n_train_rows,)
        Training values; their thirds set the borders.
    y : array-like of shape (n_rows,)
        The values to sort, in the same units.

    Returns
    -------
    band : ndarray of shape (n_rows,)
        One of ``BANDS``; a value on a border belongs to the lower band.
    borders : tuple of two float
        Between low and middle, and between middle and high.
    """
    borders = np.quantile(np.asarray(y_train, dtype=float), [1 / 3, 2 / 3])
    band = np.array(BANDS)[np.searchsorted(borders, np.asarray(y, dtype=float))]
    return band, (float(borders[0]), float(borders[1]))


def busiest_leaf(tree: Tree, table: pd.DataFrame) -> int:
    """Return the leaf where most of the rows end; the first among equals."""
    leaves = np.flatnonzero(tree.is_leaf)
    return int(leaves[np.argmax(table["rows"].to_numpy()[leaves])])
