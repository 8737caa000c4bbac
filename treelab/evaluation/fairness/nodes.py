"""A rate by group at every node of a tree."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.evaluation.fairness.rates import rates_by_group
from treelab.trees.rows_at import RowsAt
from treelab.trees.tree import Tree


def rate_at_nodes(
    tree: Tree,
    X: pd.DataFrame,
    is_class: np.ndarray,
    predicted: np.ndarray,
    group: Sequence[str],
    rate: str,
) -> pd.DataFrame:
    """Return one rate of each group among the rows at each node.

    Parameters
    ----------
    tree : Tree
    X : DataFrame of shape (n_rows, n_columns)
    is_class, predicted, group
        As in ``rates_by_group``.
    rate : str
        One of ``RATES``.

    Returns
    -------
    DataFrame
        A row a node, depth first, the index its number: ``n_rows``, the rate of each
        group (NaN where it has none), and their ``difference``, highest minus lowest.
    """
    rows_at, groups = RowsAt(tree, tree.apply(X)), np.asarray(group, dtype=str)
    names = pd.Series(groups).value_counts().index
    found = {}
    for node in rows_at.nodes.tolist():
        rows = rows_at[node]
        own = rates_by_group(is_class[rows], predicted[rows], groups[rows])[rate]
        found[node] = own.reindex(names)
    table = pd.DataFrame(found).T.astype(float)
    several = table.notna().sum(axis=1) > 1
    table["difference"] = (table.max(axis=1) - table.min(axis=1)).where(several)
    table.insert(0, "n_rows", [len(rows_at[node]) for node in found])
    return table
