"""HardTree: a tree over encoded columns, as arrays, while it is not exported yet."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.trees.tree import Tree

LEAF = -1


@dataclass(frozen=True)
class HardTree:
    """An ordinary tree: ``x[feature] <= threshold`` goes left.

    Attributes
    ----------
    left, right : int array of shape (n_nodes,)
        Children, parents before them; -1 at leaves.
    feature : int array of shape (n_nodes,)
        Encoded column; -1 at leaves.
    threshold : float32 array of shape (n_nodes,)
        NaN at leaves.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray

    @classmethod
    def of_sklearn(cls, grown) -> "HardTree":
        """Read scikit-learn's ``tree_``; it splits float32 values as that does."""
        leaf = grown.children_left < 0
        exact = grown.threshold
        single = exact.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        return cls(
            left=grown.children_left,
            right=grown.children_right,
            feature=np.where(leaf, LEAF, grown.feature),
            threshold=np.where(leaf, np.nan, np.where(single > exact, below, single)),
        )

    @classmethod
    def complete(cls, feature: np.ndarray, threshold: np.ndarray) -> "HardTree":
        """Lay out a complete tree's splits (N,), breadth first, above its leaves."""
        n_splits = len(feature)
        node = np.arange(2 * n_splits + 1)
        inner = node < n_splits
        none = np.full(n_splits + 1, LEAF)
        return cls(
            left=np.where(inner, 2 * node + 1, LEAF),
            right=np.where(inner, 2 * node + 2, LEAF),
            feature=np.concatenate([feature, none]),
            threshold=np.concatenate([threshold, np.full(n_splits + 1, np.nan)]),
        )

    @property
    def splits(self) -> np.ndarray:
        """Nodes that split, ascending."""
        return np.flatnonzero(self.left != LEAF)

    @property
    def leaves(self) -> np.ndarray:
        """Nodes that do not, ascending."""
        return np.flatnonzero(self.left == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of nodes that do not split."""
        return int((self.left == LEAF).sum())

    def first(self, n_leaves: int) -> tuple["HardTree", np.ndarray]:
        """Return the tree when it had ``n_leaves`` leaves, grown best split first.

        scikit-learn numbers children as it splits their parents, so the order of the
        left children is that of the splits.

        Returns
        -------
        tree : HardTree
        splits : int array
            Places, among the splits of this tree, of those that remain.
        """
        order = np.argsort(self.left[self.splits], kind="stable")
        remain = np.sort(order[: n_leaves - 1])
        splits = self.splits[remain]
        nodes = np.sort(np.concatenate([[0], self.left[splits], self.right[splits]]))
        number = np.full(len(self.left), LEAF)
        number[nodes] = np.arange(len(nodes))
        is_split = np.isin(nodes, splits)
        return (
            HardTree(
                left=np.where(is_split, number[self.left[nodes]], LEAF),
                right=np.where(is_split, number[self.right[nodes]], LEAF),
                feature=np.where(is_split, self.feature[nodes], LEAF),
                threshold=np.where(is_split, self.threshold[nodes], np.nan),
            ),
            remain,
        )

    def with_splits(self, feature: np.ndarray, threshold: np.ndarray) -> "HardTree":
        """Return the tree with other features and thresholds (S,) at its splits."""
        features, thresholds = self.feature.copy(), self.threshold.astype(np.float32)
        features[self.splits] = feature
        thresholds[self.splits] = threshold
        return HardTree(self.left, self.right, features, thresholds)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Return the leaf (n,) that each encoded row (n, F) reaches."""
        node = np.zeros(len(x), dtype=np.int64)
        rows = np.flatnonzero(self.left[node] != LEAF)
        while len(rows):
            here = node[rows]
            goes_left = x[rows, self.feature[here]] <= self.threshold[here]
            node[rows] = np.where(goes_left, self.left[here], self.right[here])
            rows = rows[self.left[node[rows]] != LEAF]
        return node

    def decision_path(self, x: np.ndarray) -> sparse.csc_matrix:
        """Return which nodes each encoded row (n, F) passes, (n, n_nodes)."""
        node = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        passed = [(rows, node.copy())]
        while len(rows := rows[self.left[node[rows]] != LEAF]):
            here = node[rows]
            goes_left = x[rows, self.feature[here]] <= self.threshold[here]
            node[rows] = np.where(goes_left, self.left[here], self.right[here])
            passed.append((rows, node[rows]))
        places = tuple(np.concatenate(part) for part in zip(*passed))
        one = np.ones(len(places[0]), dtype=bool)
        shape = (len(x), len(self.left))
        return sparse.coo_matrix((one, places), shape=shape).tocsc()

    def without_empty_branches(self, leaf: np.ndarray) -> "HardTree":
        """Return the tree with all rows sent past branches that some rows do not take.

        So other rows are predicted as by the exported tree, which has no such branch
        (``pruning.simplify``).

        Parameters
        ----------
        leaf : int array of shape (m,)
            Leaf that each of the rows reaches which a branch needs.
        """
        count = np.bincount(leaf, minlength=len(self.left))
        for node in self.splits[::-1]:  # children first
            count[node] = count[self.left[node]] + count[self.right[node]]
        threshold = self.threshold.copy()
        inner = self.splits
        is_reached = count[inner] > 0
        threshold[inner[is_reached & (count[self.left[inner]] == 0)]] = -np.inf
        threshold[inner[is_reached & (count[self.right[inner]] == 0)]] = np.inf
        return HardTree(self.left, self.right, self.feature, threshold)

    def paths(self) -> np.ndarray:
        """Return which splits lead to each leaf, bool (n_leaves, 2, S): left, right."""
        place = np.full(len(self.left), -1)
        place[self.splits] = np.arange(len(self.splits))
        passed = np.zeros((len(self.left), 2, len(self.splits)), dtype=bool)
        for node in self.splits:  # parents first
            for side, child in enumerate((self.left[node], self.right[node])):
                passed[child] = passed[node]
                passed[child, side, place[node]] = True
        return passed[self.leaves]

    def export(self, encoder: TableEncoder, n_outputs: int, classes) -> Tree:
        """Rewrite the tree in the user's columns and units; no rows, no values yet."""
        inner = self.splits
        threshold = np.full(len(self.left), np.nan)
        missing_left = np.zeros(len(self.left), dtype=bool)
        threshold[inner], missing_left[inner] = encoder.axis_splits(
            self.feature[inner], self.threshold[inner].astype(np.float32)
        )
        return self._tree(encoder, threshold, missing_left, n_outputs, classes)

    def shape(self, encoder: TableEncoder, n_outputs: int, classes) -> Tree:
        """Return the tree over encoded columns, to be pruned and scored only."""
        n_nodes = len(self.left)
        return self._tree(
            encoder,
            self.threshold.astype(np.float64),
            np.zeros(n_nodes, dtype=bool),
            n_outputs,
            classes,
            between=np.full((n_nodes, 2), np.nan),  # nobody reads these here
            missing_rows=np.zeros(n_nodes, dtype=np.int64),
        )

    def _tree(
        self, encoder, threshold, missing_left, n_outputs, classes, **more
    ) -> Tree:
        """Return a Tree of these nodes without rows."""
        n_nodes = len(self.left)
        return Tree(
            features=encoder.features_,
            left=self.left.astype(np.int32),
            right=self.right.astype(np.int32),
            feature=self.feature.astype(np.int32),
            threshold=threshold,
            missing_left=missing_left,
            value=np.full((n_nodes, n_outputs), 1 / n_outputs),
            n_rows=np.zeros(n_nodes, dtype=np.int64),
            impurity=np.full(n_nodes, np.nan),
            classes=classes,
            **more,
        )
