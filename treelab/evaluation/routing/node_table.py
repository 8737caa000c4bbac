"""Routing: the fraction of some rows, say of one class, that passes each node."""

import numpy as np
import pandas as pd

from treelab.trees.text.nodes import prediction_label, split_text
from treelab.trees.tree import Tree

MOST_LISTED = 3  # categories, or terms of a weighted sum, in a condition


def routing_table(tree: Tree, rows: np.ndarray) -> pd.DataFrame:
    """Describe the nodes with the fraction of some rows that passes each.

    Source: the class routing distributions of Zantedeschi, Kusner and Niculae,
    "Learning Binary Decision Trees by Argmin Differentiation", arXiv:2010.04627.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    rows : int array of shape (n,)
        Rows that pass each node, as ``Tree.node_counts`` or ``rows_passing`` count
        them; perhaps none.

    Returns
    -------
    DataFrame of n rows, indexed by node
        ``level``; ``rows`` that pass; ``fraction``, of all; ``level_fraction``, of
        those that reach the node's level (a row that ended in a leaf above counts no
        more), zero where none does; ``condition``, with at most three categories or
        terms of a weighted sum, empty at leaves; ``prediction``, empty at splits.
    """
    level = np.asarray(tree.level)
    at_level = np.bincount(level, weights=rows)[level]
    return pd.DataFrame(
        {
            "level": level,
            "rows": rows,
            "fraction": rows / max(rows[0], 1),
            "level_fraction": np.divide(
                rows, at_level, out=np.zeros(len(level)), where=at_level > 0
            ),
            "condition": [
                "" if leaf else split_text(tree, node, most=MOST_LISTED)
                for node, leaf in enumerate(tree.is_leaf)
            ],
            "prediction": [
                prediction_label(tree, node) if leaf else ""
                for node, leaf in enumerate(tree.is_leaf)
            ],
        },
        index=pd.RangeIndex(len(level), name="node"),
    )


def busiest_leaf(tree: Tree, table: pd.DataFrame) -> int:
    """Return the leaf where most of the rows end; the first among equals."""
    leaves = np.flatnonzero(tree.is_leaf)
    return int(leaves[np.argmax(table["rows"].to_numpy()[leaves])])
