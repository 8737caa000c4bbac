"""Many trees of the same rows, and the one of them that is retained.

Trees grown on rows that are weighted by the Bayesian bootstrap (Rubin, 1981) differ
where the rows leave it open; the one that does best by the rows themselves is retained
(bumping: Tibshirani and Knight, "Model search by bootstrap 'bumping'", 1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.learners.common.cross_validation import Candidate, Search, cut_path
from treelab.trees.pruning import CostComplexityPath, steps_at
from treelab.trees.tree import Tree
from treelab.trees.walk import leaf_of


@dataclass(frozen=True)
class Restart:
    """A deep greedy tree over encoded columns, to be pruned to any size.

    Attributes
    ----------
    path : CostComplexityPath
        Of the tree with the rows that it may know, cut at its depth.
    leaf : int array of shape (n_rows,)
        Leaf of each of them, as prediction sees it.
    """

    path: CostComplexityPath
    leaf: np.ndarray

    def at(self, n_leaves: int) -> Tree:
        """Return its largest pruning with at most so many leaves."""
        return self.path.trees[self._step(n_leaves)]

    def predicted(self, n_leaves: int, search: Search, weighting: int) -> np.ndarray:
        """Class code or value (n_rows,) that this pruning predicts for each row."""
        tree, step = self.path.tree, self._step(n_leaves)
        ends = np.where(tree.level > 0, self.path.step[tree.parent], np.inf)
        node = self.leaf
        while (is_cut := ends[node] <= step).any():
            node = np.where(is_cut, tree.parent[node], node)
        if tree.class_counts is None:
            return tree.value[node, 0]
        return search.predicted_class(tree.class_counts, weighting)[node]

    def _step(self, n_leaves: int) -> int:
        return int(steps_at(self.path, np.array([n_leaves]))[0])


class Restarts:
    """Greedy trees of all rows, the first as it is, the others on bootstrap weights.

    Parameters
    ----------
    search : Search
    rows : tuple of (X, seen, y, features)
        Encoded columns to grow on and as prediction sees them, target, features.
    n_restarts : int
    random : RandomState
        Draws the weights.
    """

    def __init__(self, search: Search, rows: tuple, n_restarts: int, random):
        self.search, self._rows = search, rows
        n_rows = len(rows[2])
        drawn = [random.exponential(size=n_rows) for _ in range(n_restarts - 1)]
        self._weights = [None, *drawn]
        self._deep: dict[int, list[Tree]] = {}
        self._found: dict[tuple, list[Restart]] = {}

    def of(self, candidate: Candidate) -> list[Restart]:
        """Return the trees that grow by a candidate's depth and leaf size."""
        leaf_size, depth = candidate.min_samples_leaf, candidate.max_depth
        if leaf_size not in self._deep:
            X, seen, y, features = self._rows
            self._deep[leaf_size] = [
                self.search.grow(X, seen, y, features, leaf_size, weight)
                for weight in self._weights
            ]
        if (depth, leaf_size) not in self._found:
            paths = [cut_path(tree, depth) for tree in self._deep[leaf_size]]
            self._found[depth, leaf_size] = [
                Restart(path, leaf_of(path.tree, self._rows[1])) for path in paths
            ]
        return self._found[depth, leaf_size]

    def retained(self, candidate: Candidate, n_leaves: int) -> Tree:
        """Return the tree of a size that is retained; see ``retained``."""
        found = self.of(candidate)
        if len(found) == 1:
            return found[0].at(n_leaves)
        predicted = [
            own.predicted(n_leaves, self.search, candidate.weighting) for own in found
        ]
        return found[retained(predicted, self._rows[2])].at(n_leaves)


def retained(
    predicted: Sequence[np.ndarray], y: np.ndarray, fit: np.ndarray | None = None
) -> int:
    """Choose the tree that fits its rows best and agrees most with the vote of all.

    Fit is macro F1 and agreement the fraction of the votes that a row's class has, both
    from 0 to 1; or both are mean squared errors, to the target and to the mean
    prediction. The first wins where several are level.

    Parameters
    ----------
    predicted : sequence of R arrays of shape (n_rows,)
        Class codes, or values.
    y : ndarray of shape (n_rows,)
        Class codes (int), or values (float).
    fit : ndarray of shape (R,), default=macro F1
        Of classes.
    """
    found = np.stack(predicted)  # (R, n)
    if np.issubdtype(y.dtype, np.floating):
        error = ((found - y) ** 2).mean(1) + ((found - found.mean(0)) ** 2).mean(1)
        return int(error.argmin())
    n_classes = int(max(y.max(), found.max())) + 1
    if fit is None:
        fit = np.array([macro_f1(confusion_matrix(y, own, n_classes)) for own in found])
    votes = np.stack([(found == code).mean(0) for code in range(n_classes)], axis=1)
    agreement = votes[np.arange(len(y)), found].mean(1)
    return int(np.argmax(fit + agreement))
