"""How good a leaf's prediction is on the rows that reach it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.tree import Tree


@dataclass(frozen=True)
class LeafScore:
    """The rows that reach one leaf, and how well they are predicted.

    Attributes
    ----------
    n_rows : int
        Rows that reach the leaf.
    n_total : int
        Rows of the whole table.
    accuracy : float or None
        Fraction of the leaf's rows whose class is predicted; None for regression or
        without a row.
    mean_absolute_error : float or None
        Of the predictions for the leaf's rows, in the target's unit; None for classes
        or without a row.
    """

    n_rows: int
    n_total: int
    accuracy: float | None = None
    mean_absolute_error: float | None = None


def score_leaf(
    tree: Tree, leaf: int, X: pd.DataFrame, y, predictions=None
) -> LeafScore:
    """Count the rows that reach a leaf and score the predictions for them.

    Parameters
    ----------
    tree : Tree
    leaf : int
        Number of a node without children.
    X : DataFrame of shape (n_rows, n_columns)
        Rows that did not train the tree, in the table's own columns.
    y : array-like of shape (n_rows,)
        Their labels, or values in the target's unit.
    predictions : array-like of shape (n_rows,) or None, default=None
        What to score, where another model predicts on top of the tree; None: the
        tree's own predictions.

    Raises
    ------
    ValueError
        If the node is not a leaf.
    """
    if not tree.is_leaf[leaf]:
        raise ValueError(f"Node {leaf} is a split; only a leaf predicts.")
    here = tree.apply(X) == leaf
    n_rows, n_total = int(here.sum()), len(here)
    if n_rows == 0:
        return LeafScore(0, n_total)
    truth = np.asarray(y)[here]
    predicted = (
        tree.predict(X[here]) if predictions is None else np.asarray(predictions)[here]
    )
    if tree.classes is None:
        error = float(np.mean(np.abs(predicted - truth.astype(float))))
        return LeafScore(n_rows, n_total, mean_absolute_error=error)
    return LeafScore(n_rows, n_total, accuracy=float(np.mean(predicted == truth)))
