"""The score of a tree whose splits are given: leaf values refitted in folds."""

from dataclasses import dataclass

import numpy as np

from treelab.evaluation.pruned_scores import pooled_scores
from treelab.trees.tree import Tree
from treelab.trees.walk import sum_up

N_FOLDS, N_REPEATS = 10, 3
N_PARTS = 20  # of all rows, by which a standard error is measured


@dataclass(frozen=True)
class RefittedScorer:
    """Scores trees on rows that their leaf values were not fitted to.

    A tree's splits stay; its leaves are fitted without one fold after another, and the
    rows of that fold are predicted. All training rows shaped the splits, so the score
    is too high, the more so the larger the tree: it compares trees of one size and is
    no estimate for new rows.

    Attributes
    ----------
    task : {"binary", "multiclass", "regression"}
    y : ndarray of shape (n_rows,)
        Class codes, or values.
    weights : ndarray of shape (n_classes,)
        Of the classes in the leaves; (1,) for regression.
    folds : int array of shape (N_REPEATS, n_rows)
    parts : int array of shape (n_rows,)
    """

    task: str
    y: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    parts: np.ndarray

    @classmethod
    def of(cls, task: str, y: np.ndarray, weights: np.ndarray) -> "RefittedScorer":
        """Draw folds for these rows, the same ones each time.

        Parameters
        ----------
        task : {"binary", "multiclass", "regression"}
        y : ndarray of shape (n_rows,)
            Class codes, or values.
        weights : ndarray of shape (n_classes,)
        """
        random, n_rows = np.random.RandomState(0), len(y)
        folds = np.empty((N_REPEATS, n_rows), dtype=np.int64)
        for own in folds:
            shuffled = random.permutation(n_rows)
            order = shuffled[np.argsort(y[shuffled], kind="stable")]
            own[order] = np.arange(n_rows) % min(N_FOLDS, n_rows)
        parts = random.permutation(n_rows) % min(N_PARTS, n_rows)
        return cls(task, y, np.asarray(weights, dtype=float), folds, parts)

    def score(self, tree: Tree, leaf: np.ndarray) -> tuple[float, float]:
        """Return macro F1 or R² of a tree, and its standard error.

        Parameters
        ----------
        tree : Tree
        leaf : int array of shape (n_rows,)
            Leaf that each row reaches.
        """
        values = self._values()
        predicted = [self._held_out(tree, leaf, fold, values) for fold in self.folds]
        sums = np.sum([self._sums(own) for own in predicted], axis=0)
        by_part = pooled_scores(sums, self.task)
        n_parts = len(by_part)
        error = by_part.std(ddof=1) / np.sqrt(n_parts) if n_parts > 1 else 0.0
        return float(by_part.mean()), float(error)

    def _values(self) -> np.ndarray:
        """What leaves average, (n_rows, C): weighted indicators, or the values."""
        if self.task == "regression":
            return self.y[:, None]
        return np.eye(len(self.weights))[self.y] * self.weights

    def _held_out(self, tree: Tree, leaf, fold, values) -> np.ndarray:
        """Predict each row (n_rows,) by leaves that were fitted without its fold."""
        n_folds, n_nodes = int(fold.max()) + 1, tree.n_nodes
        cell = fold * n_nodes + leaf
        columns = [np.ones(len(leaf)), *values.T]
        own = np.stack(
            [np.bincount(cell, column, n_folds * n_nodes) for column in columns], -1
        ).reshape(n_folds, n_nodes, -1)
        fitted = own.sum(axis=0) - own  # (folds, nodes, 1 + C)
        fitted = sum_up(tree, fitted.transpose(1, 0, 2))  # (nodes, folds, 1 + C)
        total = fitted[..., 0]
        if self.task == "regression":
            predicted = fitted[..., 1] / np.maximum(total, 1)
        else:
            predicted = fitted[..., 1:].argmax(axis=-1)
        # Where a fold leaves nobody at a node, the node above it predicts.
        empty = np.flatnonzero((total < 0.5).any(axis=1))
        for node in empty[np.argsort(tree.level[empty], kind="stable")]:
            above = predicted[tree.parent[node]] if node else predicted[0]
            predicted[node] = np.where(total[node] < 0.5, above, predicted[node])
        return predicted[leaf, fold]

    def _sums(self, predicted: np.ndarray) -> np.ndarray:
        """Sum up what the score needs in each part, (N_PARTS, 2, C)."""
        n_parts, y = int(self.parts.max()) + 1, self.y
        if self.task == "regression":
            squares = (y - predicted) ** 2, (y - y.mean()) ** 2
            found = [np.bincount(self.parts, own, n_parts) for own in squares]
            return np.stack(found, axis=1)[..., None]
        n_classes = len(self.weights)

        def counts(codes: np.ndarray, among=None) -> np.ndarray:
            place = self.parts * n_classes + codes
            flat = np.bincount(place, among, n_parts * n_classes)
            return flat.reshape(n_parts, n_classes)

        right = (predicted == y).astype(float)
        return np.stack([counts(y, right), counts(y) + counts(predicted)], axis=1)
