"""How alike the trees of a Rashomon set are: rows they agree on, columns they test."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from treelab.trees.feature import FeatureReader
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of, used_features


def predictions(trees: Sequence[Tree], X: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Predict rows by each tree; the table is read once.

    Parameters
    ----------
    trees : sequence of T trees
        Of one table and target, with constant leaves.
    X : DataFrame of shape (n_rows, n_columns)

    Returns
    -------
    predicted : ndarray of shape (T, n_rows)
        Class codes, or values.
    value : ndarray of shape (T, n_rows, n_outputs)
        Probabilities of the classes, or the values.
    """
    reader = FeatureReader(trees[0].features, X)
    values, chosen = [], []
    for tree in trees:
        matrix = reader.matrix(tree.features, used_features(tree))
        leaf = leaf_of(tree, matrix)
        values.append(tree.value[leaf])
        chosen.append(tree.predicted_class[leaf])
    value = np.stack(values)
    if trees[0].classes is None:
        return value[..., 0], value
    return np.stack(chosen), value


def likeness(predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how alike every two trees predict, (T, T), 1 on the diagonal.

    Parameters
    ----------
    predicted : ndarray of shape (T, n_rows)
        Class codes, or values.
    n_classes : int
        0 for regression: then it is 1 minus the mean squared difference in variances
        of all predictions, at least 0.
    """
    if not n_classes:
        predicted = predicted - predicted.mean()  # keeps the squares small and exact
        square = (predicted**2).mean(axis=1)
        cross = predicted @ predicted.T / predicted.shape[1]
        gap = np.maximum(square[:, None] + square[None] - 2 * cross, 0)
        variance = predicted.var()
        return np.clip(1 - gap / (variance if variance > 0 else 1), 0, 1)
    total = np.zeros((len(predicted), len(predicted)), dtype=np.float32)
    for code in range(n_classes):
        is_class = (predicted == code).astype(np.float32)
        total += is_class @ is_class.T
    return total / predicted.shape[1]


def places(alike: np.ndarray) -> np.ndarray:
    """Lay trees out so that those which differ more lie further apart, (T, 2).

    Classical multidimensional scaling of 1 minus likeness. Source: Torgerson,
    "Multidimensional scaling: I. Theory and method", Psychometrika 17(4), 1952.
    """
    square = (1 - alike.astype(float)) ** 2
    centred = square - square.mean(0) - square.mean(1)[:, None] + square.mean()
    length, direction = np.linalg.eigh(-centred / 2)
    length, direction = length[::-1][:2], direction[:, ::-1][:, :2]
    # An eigenvector has no sign of its own; its largest entry points up.
    largest = np.abs(direction).argmax(axis=0)
    sign = np.sign(direction[largest, np.arange(direction.shape[1])])
    found = direction * sign * np.sqrt(np.maximum(length, 0))
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def column_use(trees: Sequence[Tree], columns: Sequence[str]) -> pd.Series:
    """Count the trees that test each column, the most used first.

    Parameters
    ----------
    trees : sequence of Tree
    columns : sequence of str
        All columns that a tree could test.

    Returns
    -------
    Series of int, by column
    """
    used = [set(tree.columns) for tree in trees]
    counts = {name: sum(name in own for own in used) for name in columns}
    return pd.Series(counts, dtype=int).sort_values(ascending=False, kind="stable")
