"""How far a tree's answer may be trusted: by other rows, and by the trees beside it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from treelab.trees.ensemble import WeightedTrees
from treelab.trees.labels import most_probable
from treelab.trees.logits import class_probabilities
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Evidence:
    """The rows that end in one leaf, and how the leaf's answer fits them.

    Attributes
    ----------
    n_rows : int
        Rows that end in the leaf.
    n_total : int
        Rows that were sent down the tree.
    right : float or None
        Share of the leaf's rows whose class the leaf says; None for a number
        target or without a row.
    error : float or None
        Mean absolute error of the tree's answers for the leaf's rows, in the
        target's unit; None for classes or without a row.
    """

    n_rows: int
    n_total: int
    right: float | None = None
    error: float | None = None


def leaf_evidence(tree: Tree, leaf: int, X: pd.DataFrame, y, says=None) -> Evidence:
    """Count the rows that end in ``leaf`` and how often it is right about them.

    Parameters
    ----------
    tree : Tree
    leaf : int
        Number of a node without children.
    X : DataFrame of shape (n_rows, n_columns)
        Rows that did not train the tree, in the table's own columns.
    y : array-like of shape (n_rows,)
        Their truth: labels, or values in the target's unit.
    says : array-like of shape (n_rows,) or None, default=None
        Answers to judge, where another model answers on top of the tree; None: the
        tree's own.

    Raises
    ------
    ValueError
        If the node is not a leaf.
    """
    if not tree.is_leaf[leaf]:
        raise ValueError(f"Node {leaf} asks a question; only a leaf answers.")
    here = tree.apply(X) == leaf
    n_rows, n_total = int(here.sum()), len(here)
    if n_rows == 0:
        return Evidence(0, n_total)
    truth = np.asarray(y)[here]
    says = tree.predict(X[here]) if says is None else np.asarray(says)[here]
    if tree.classes is None:
        error = float(np.mean(np.abs(says - truth.astype(float))))
        return Evidence(n_rows, n_total, error=error)
    return Evidence(n_rows, n_total, right=float(np.mean(says == truth)))


def answers_alone(ensemble: WeightedTrees, row: pd.DataFrame, estimators) -> np.ndarray:
    """Return the class that each of some trees would say if it answered alone.

    Parameters
    ----------
    ensemble : WeightedTrees
        Of classes.
    row : DataFrame of one row
    estimators : array-like of int of shape (k,)
        Numbers of the trees.

    Returns
    -------
    ndarray of shape (k,)
        Labels.
    """
    estimators = np.asarray(estimators)
    leaf = ensemble.leaves(row)[0, estimators]
    logits = ensemble.leaf_value[estimators, leaf]  # (k, n_outputs)
    classes = ensemble.classes or ()
    return most_probable(classes, class_probabilities(logits, len(classes)))
