"""Tree: the plain, immutable decision tree in which every learner ends.

It predicts from the user's own table, in its columns and units: what is drawn is what
predicts. It knows nothing of words, pictures, code or pruning; these take a Tree.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from treelab.trees import statistics, walk
from treelab.trees.arrays import Arrays, frozen
from treelab.trees.cells import CellForm
from treelab.trees.checks import check_predictions, check_tree
from treelab.trees.complete import complete_arrays, pad_nodes
from treelab.trees.feature import Feature
from treelab.trees.labels import labels, task_of


@dataclass(frozen=True, eq=False)
class Tree(Arrays):
    """A decision tree as plain, read-only arrays, one entry a node, the root first.

    A row goes left where the split holds: ``x <= threshold``, or for an oblique split
    ``sum_j weights_j * x_j <= threshold``.

    Parameters
    ----------
    features : tuple of Feature
        The numbers that splits may test, and the columns they are read from.
    left, right : int32 array of shape (n_nodes,)
        Children of each node; -1 at leaves.
    feature : int32 array of shape (n_nodes,)
        Index of the feature that a split tests; -1 at leaves, -2 at oblique splits.
    threshold : float64 array of shape (n_nodes,)
        In the column's unit (a category's score); NaN at leaves; may be infinite.
    missing_left : bool array of shape (n_nodes,)
        Whether a missing value goes left at a split that tests one feature.
    value : float64 array of shape (n_nodes, n_outputs)
        Prediction for a row that ends here: class probabilities, or one mean.
    n_rows : int64 array of shape (n_nodes,)
        Training rows that pass the node.
    impurity : float64 array of shape (n_nodes,)
        Gini impurity, or variance, of those rows; NaN where it is not known.
    classes : tuple or None
        Labels in the order of the columns of ``value``; None for regression.
    target, target_unit : str
        Name and unit of what is predicted.
    class_counts : float64 array of shape (n_nodes, n_classes) or None
        Training rows of each class that pass the node, unweighted.
    weights : float64 array of shape (n_nodes, n_features) or None
        Weights of oblique splits, in raw units; missing values count as the
        feature's ``fill``.
    leaf_weights, leaf_bias : float64 (n_nodes, n_features), (n_nodes, 1), or None
        Linear leaves predict ``leaf_bias + leaf_weights @ x``.
    activity : float64 array of shape (n_nodes,) or None
        Argmin trees: upper bound of a node's traversal, 0 once pruned.
    notes : tuple of str
        Sentences that a picture of this tree must show.
    between : float64 array of shape (n_nodes, 2) or None
        At splits that test one feature, of the training rows that reach them: the
        largest value at or below the threshold and the smallest above it. Words may
        round the threshold within these bounds.
    missing_rows : int64 array of shape (n_nodes,) or None
        Training rows that reach a split and miss the value it tests.
    target_form : CellForm or None
        How the target's cells of training rows were written, where it is known.
    decision : int32 array of shape (n_nodes,) or None
        Place in ``classes`` of the class that a row which ends here is predicted as;
        None: the most probable one.
    class_weights : float64 array of shape (n_classes,) or None
        Weight of a training row of each class where ``decision`` was made; None: 1.
    shrinkage : float or None
        Rows that the node above each node adds to its own where probabilities are
        made, see ``shrinkage``; None: they are fractions of the (weighted) rows.

    Raises
    ------
    ValueError
        If the arrays are not one tree: wrong shapes, circles, unknown features.
    """

    features: tuple[Feature, ...]
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    n_rows: np.ndarray
    impurity: np.ndarray
    classes: tuple | None = None
    target: str = "target"
    target_unit: str = ""
    class_counts: np.ndarray | None = None
    weights: np.ndarray | None = None
    leaf_weights: np.ndarray | None = None
    leaf_bias: np.ndarray | None = None
    activity: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    between: np.ndarray | None = None
    missing_rows: np.ndarray | None = None
    target_form: CellForm | None = None
    decision: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    shrinkage: float | None = None

    array_types: ClassVar[dict[str, type]] = {
        "left": np.int32,
        "right": np.int32,
        "feature": np.int32,
        "threshold": np.float64,
        "missing_left": np.bool_,
        "value": np.float64,
        "n_rows": np.int64,
        "impurity": np.float64,
        "class_counts": np.float64,
        "weights": np.float64,
        "leaf_weights": np.float64,
        "leaf_bias": np.float64,
        "activity": np.float64,
        "between": np.float64,
        "missing_rows": np.int64,
        "decision": np.int32,
        "class_weights": np.float64,
    }

    def __post_init__(self):
        super().__post_init__()
        check_tree(self)

    @classmethod
    def complete(
        cls,
        features,
        feature,
        threshold,
        missing_left,
        leaf_value,
        *,
        weights=None,
        leaf_weights=None,
        leaf_bias=None,
        **described,
    ) -> "Tree":
        """Build a tree from a complete one stored breadth first.

        Node ``t`` has the children ``2t + 1`` (left) and ``2t + 2`` (right), and the
        ``L`` leaves follow the ``N = L - 1`` splits. Node numbers stay. Rows are
        unknown until ``with_rows``; until then an internal node's value is the mean
        of the leaves below it.

        Parameters
        ----------
        features : sequence of Feature
        feature : int array of shape (N,) or None
            Feature of each split; -2 where it is oblique; None: all are oblique.
        threshold : float array of shape (N,)
        missing_left : bool array of shape (N,)
        leaf_value : float array of shape (L, n_outputs)
            Class probabilities, or values of the target, left to right.
        weights : float array of shape (N, n_features) or None
            Weights of oblique splits, in raw units.
        leaf_weights, leaf_bias : float arrays (L, n_features), (L, 1), or None
            Linear leaves.
        **described
            classes, target, target_unit, activity (N + L,) and notes, as in Tree.

        Raises
        ------
        ValueError
            If the lengths do not fit one complete tree.
        """
        arrays = complete_arrays(feature, threshold, missing_left, leaf_value, weights)
        n_splits = (len(arrays["left"]) - 1) // 2
        if leaf_bias is not None:
            # Above the leaves the constant model is the value.
            leaf_bias = pad_nodes(leaf_bias, n_splits, splits_first=False)
            leaf_bias[:n_splits] = arrays["value"][:n_splits]
        return cls(
            features,
            **arrays,
            leaf_weights=pad_nodes(leaf_weights, n_splits, splits_first=False),
            leaf_bias=leaf_bias,
            **described,
        )

    @classmethod
    def unpack(cls, settings: dict, arrays: dict[str, np.ndarray]) -> "Tree":
        """Rebuild the tree that ``pack`` took apart; ValueError where it is none."""
        tree = super().unpack(settings, arrays)
        # While a tree is built its values may be unknown, but not once it is stored.
        proba = tree.classes is not None
        check_predictions("value", tree.value[tree.is_leaf], proba=proba)
        return tree

    def __repr__(self):
        return (
            f"Tree({self.task}, target={self.target!r}, "
            f"n_leaves={self.n_leaves}, depth={self.depth})"
        )

    def _repr_html_(self) -> str:
        """Return the interactive picture, which a notebook shows for the tree."""
        import treelab  # a tree knows no figure; the package's names are found late

        return treelab.notebook_html(self)

    # What it is

    @property
    def n_nodes(self) -> int:
        """Number of nodes, splits and leaves."""
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        """Number of nodes that predict."""
        return int(self.is_leaf.sum())

    @property
    def n_splits(self) -> int:
        """Number of nodes that test."""
        return self.n_nodes - self.n_leaves

    @property
    def depth(self) -> int:
        """Splits on the longest path from the root to a leaf."""
        return int(self.level.max())

    @property
    def task(self) -> str:
        """Return "binary", "multiclass" or "regression"."""
        return task_of(self.classes)

    @cached_property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf, bool (n_nodes,)."""
        return frozen(self.left < 0)

    @cached_property
    def parent(self) -> np.ndarray:
        """Node above each node, int32 (n_nodes,); -1 at the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        splits = np.flatnonzero(~self.is_leaf)
        parent[self.left[splits]] = splits
        parent[self.right[splits]] = splits
        return frozen(parent)

    @cached_property
    def level(self) -> np.ndarray:
        """Distance of each node from the root, int32 (n_nodes,)."""
        level = np.zeros(self.n_nodes, dtype=np.int32)
        here = np.array([0])
        while len(here := here[~self.is_leaf[here]]):
            below = level[here] + 1
            level[self.left[here]] = below
            level[self.right[here]] = below
            here = np.concatenate([self.left[here], self.right[here]])
        return frozen(level)

    @cached_property
    def predicted_class(self) -> np.ndarray:
        """Place in ``classes`` of the class that each node predicts, (n_nodes,)."""
        chosen = self.value.argmax(axis=1) if self.decision is None else self.decision
        return frozen(chosen.astype(np.int64))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the user's table that splits and linear leaves read."""
        used = walk.used_features(self, leaves=True)
        return tuple(dict.fromkeys(self.features[j].column for j in used))

    @cached_property
    def missing_columns(self) -> frozenset[str]:
        """Columns that training rows lacked at a split that tests them."""
        if self.missing_rows is None:
            return frozenset()
        tested = self.feature[(self.missing_rows > 0) & (self.feature >= walk.AXIS)]
        return frozenset(self.features[j].column for j in tested)

    # What it does to rows

    def apply(self, X) -> np.ndarray:
        """Return the leaf, int64 (n_rows,), that each row of the table ``X`` reaches.

        Raises
        ------
        ValueError
            If a column that the tree reads is absent, or holds text for numbers.
        """
        return walk.leaf_of(self, walk.read_features(self, X))

    def decision_path(self, X) -> np.ndarray:
        """Return which nodes each row passes, bool (n_rows, n_nodes)."""
        node = self.apply(X)
        passed = np.zeros((len(node), self.n_nodes), dtype=bool)
        rows = np.arange(len(node))
        while len(rows):
            passed[rows, node] = True
            node = self.parent[node]
            rows, node = rows[node >= 0], node[node >= 0]
        return passed

    def margin(self, X) -> np.ndarray:
        """Return threshold - value at each node, float64 (n_rows, n_nodes).

        Left is where the margin is at least 0; a missing value at a split that tests
        one feature gives +inf or -inf, leaves have NaN.
        """
        return walk.margins(self, walk.read_features(self, X))

    def path(self, row) -> list[int]:
        """Return the nodes, root to leaf, of the one row of the table ``row``."""
        leaf = self.apply(row)
        if len(leaf) != 1:
            raise ValueError(f"path follows one row, got a table of {len(leaf)} rows.")
        return self.path_to(int(leaf[0]))

    def path_to(self, node: int) -> list[int]:
        """Return the nodes from the root to ``node``, both included."""
        self.check_node(node)
        nodes = [int(node)]
        while nodes[-1]:
            nodes.append(int(self.parent[nodes[-1]]))
        return nodes[::-1]

    def check_node(self, node: int) -> None:
        """Raise ValueError unless the tree has this node."""
        if not 0 <= node < self.n_nodes:
            raise ValueError(f"The tree has nodes 0 to {self.n_nodes - 1}, not {node}.")

    def node_counts(self, X, y=None) -> np.ndarray:
        """Count the rows of any table that pass each node.

        Returns
        -------
        int64 array of shape (n_nodes,), or (n_nodes, n_classes) where the labels ``y``
        are given
        """
        return statistics.node_counts(self, X, y)

    def with_rows(self, X, y) -> "Tree":
        """Return the tree with rows, impurity and means taken from these rows.

        Predictions stay: values of leaves do not change. Values of internal nodes
        become the class probabilities, or the mean, of the rows that pass (unchanged
        where none does, and where probabilities were shrunk). The first rows given, the
        training rows, also set ``between`` and ``missing_rows``, so that words stay the
        same whatever rows come after.
        """
        return statistics.with_rows(self, X, y)

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities, float64 (n_rows, n_classes), as in ``classes``.

        Raises
        ------
        ValueError
            If this is a regression tree.
        """
        if self.classes is None:
            raise ValueError("A regression tree has no class probabilities.")
        return self.value[self.apply(X)]

    def predict(self, X) -> np.ndarray:
        """Return each row's class, or value of the target; (n_rows,).

        The class is the leaf's most probable one unless it has a ``decision``.
        """
        if self.classes is not None:
            return labels(self.classes)[self.predicted_class[self.apply(X)]]
        matrix = walk.read_features(self, X, leaves=True)
        return walk.regression_values(self, matrix)
