"""A tree's leaves as clusters: how pure they are, and what they tell of the class."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score

from treelab.trees.tree import Tree


@dataclass(frozen=True)
class LeafPurity:
    """How pure the leaves of a tree are on some rows.

    Attributes
    ----------
    leaves : DataFrame indexed by node
        Leaves that rows reach, left to right: ``rows``; ``label``, the most frequent
        class; ``purity``, its fraction of these rows.
    rows : DataFrame of shape (n_leaves, n_classes)
        Rows of each class in them.
    purity : float
        Fraction of all rows that are of their leaf's most frequent class.
    one_leaf : float
        The same were all rows in one leaf.
    information : float
        Mutual information of leaf and class, in bits.
    entropy : float
        That of the class, in bits: all there is to know.
    adjusted : float
        Mutual information adjusted for chance: 0 where the leaves are drawn at random,
        1 where leaves and classes are the same.
    """

    leaves: pd.DataFrame
    rows: pd.DataFrame
    purity: float
    one_leaf: float
    information: float
    entropy: float
    adjusted: float


def leaf_purity(tree: Tree, names: Sequence[str], rows: np.ndarray) -> LeafPurity:
    """Measure how pure the leaves of a tree are.

    Parameters
    ----------
    tree : Tree
        With ``n`` nodes.
    names : sequence of str of length n_classes
    rows : int array of shape (n_classes, n)
        Rows of each class that pass each node; at least one.

    Returns
    -------
    LeafPurity
    """
    order = _left_to_right(tree)
    order = order[rows[:, order].sum(axis=0) > 0]
    counts = rows[:, order].T  # (leaves, classes)
    of_leaf, n_rows = counts.sum(axis=1), counts.sum()
    leaf = np.repeat(np.arange(len(order)), of_leaf)
    label = np.concatenate([np.repeat(np.arange(len(names)), row) for row in counts])
    fraction = rows[:, 0][rows[:, 0] > 0] / n_rows
    return LeafPurity(
        pd.DataFrame(
            {
                "rows": of_leaf,
                "label": np.array(names, dtype=object)[counts.argmax(axis=1)],
                "purity": counts.max(axis=1) / of_leaf,
            },
            index=pd.Index(order, name="node"),
        ),
        pd.DataFrame(counts, index=pd.Index(order, name="node"), columns=list(names)),
        float(counts.max(axis=1).sum() / n_rows),
        float(fraction.max()),
        float(mutual_info_score(None, None, contingency=counts) / np.log(2)),
        float(-(fraction * np.log2(fraction)).sum()),
        float(adjusted_mutual_info_score(label, leaf)),
    )


def _left_to_right(tree: Tree) -> np.ndarray:
    """Return the leaves of a tree as a picture shows them."""
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if tree.is_leaf[node]:
            found.append(node)
        else:
            stack += [tree.right[node], tree.left[node]]
    return np.array(found)
