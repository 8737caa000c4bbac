"""What a leaf's rows add to a tree's training score, classes or values."""

from typing import Protocol

import numpy as np

from treelab.evaluation.metrics import macro_f1_of_counts


class LeafSums(Protocol):
    """Sums over rows from which a leaf, and then a tree, is scored.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, C)
        What is summed up over the rows of a leaf.
    """

    columns: np.ndarray

    def n_rows(self, total: np.ndarray) -> np.ndarray:
        """Return the rows of leaves, int (m,), from what they sum up to (m, C)."""

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of leaves, -1 for values, and their sums (m, S)."""

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums (S,) of rows that are predicted without error."""

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return the score of trees from their sums, (..., S) to (...)."""


class ClassSums:
    """Macro F1 of leaves that predict the class with most weighted rows.

    Parameters
    ----------
    codes : int array of shape (n_rows,)
    weights : ndarray of shape (n_classes,)
    """

    def __init__(self, codes: np.ndarray, weights: np.ndarray):
        self._weights = np.asarray(weights, dtype=float)
        self.columns = np.eye(len(weights), dtype=np.float32)[codes]
        self._rows = self.columns.sum(axis=0, dtype=np.float64)

    def n_rows(self, total: np.ndarray) -> np.ndarray:
        """Return the rows of leaves, int (m,)."""
        return total.sum(axis=-1).astype(np.int64)

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of each leaf, and rows right and predicted, by class."""
        label = (total * self._weights).argmax(axis=1)
        is_class = np.eye(len(self._weights))[label]
        n_rows = total.sum(axis=1, keepdims=True)
        return label, np.hstack([total * is_class, n_rows * is_class])

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums of rows that are predicted without error."""
        return np.concatenate([total, total]).astype(float)

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return macro F1."""
        right, predicted = np.split(sums, 2, axis=-1)
        return macro_f1_of_counts(right, predicted + self._rows)


class ValueSums:
    """R² of leaves that predict the mean of their rows.

    Parameters
    ----------
    values : float array of shape (n_rows,)
    """

    def __init__(self, values: np.ndarray):
        centred = values - values.mean()  # keeps the squares small and exact
        self.columns = np.column_stack([np.ones(len(values)), centred, centred**2])
        self._variation = float((centred**2).sum()) or 1.0

    def n_rows(self, total: np.ndarray) -> np.ndarray:
        """Return the rows of leaves, int (m,)."""
        return total[..., 0].round().astype(np.int64)

    def leaf(self, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return -1 for each leaf, and its squared error."""
        n_rows, first, second = total.T
        error = np.maximum(second - first**2 / np.maximum(n_rows, 1), 0.0)
        return np.full(len(total), -1), error[:, None]

    def perfect(self, total: np.ndarray) -> np.ndarray:
        """Return the sums of rows that are predicted without error."""
        return np.zeros(1)

    def score(self, sums: np.ndarray) -> np.ndarray:
        """Return R²."""
        return 1 - sums[..., 0] / self._variation
