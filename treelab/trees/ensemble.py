"""WeightedTrees: many complete trees, each weighted by the leaf that a row reaches.

Source: Marton et al., "GRANDE", ICLR 2024, arXiv:2309.17130, section 3.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from treelab.trees.cells import CellForm
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.leaf_codes import LeafCodes
from treelab.trees.logits import WEIGHTINGS, class_probabilities, unscaled_weights
from treelab.trees.losses import Loss
from treelab.trees.pruning import simplify
from treelab.trees.tree import (
    LEAF_OUTPUTS,
    Arrays,
    Tree,
    as_matrix,
    check_class_weights,
    check_predictions,
    most_probable,
    sum_up,
)

_BLOCK = 2**20  # pairs of row and tree that are worked on at once: 8 MB a number


@dataclass(frozen=True, eq=False)
class WeightedTrees(Arrays):
    """An ensemble of E complete trees; each leaf holds a value and its weight.

    For each row, the weights of the leaves it reaches, one a tree, pass a softmax or an
    entmax over the trees: the estimator weights, which sum to 1. The prediction is the
    weighted sum of the leaves' values, ``G(x) = sigma(w(x)) . p(x)`` (equation 7 of the
    paper); for classes it is the softmax of that, or, where leaves hold probabilities,
    the sum itself: the weighted mean of the trees' distributions.

    Parameters
    ----------
    features : tuple of Feature
    feature : int32 array of shape (E, N)
        Feature that each split tests, breadth first: the children of ``t`` are
        ``2t + 1`` (left, ``x <= threshold``) and ``2t + 2``.
    threshold : float64 array of shape (E, N)
        In the column's unit (a category's score); may be infinite.
    missing_left : bool array of shape (E, N)
    leaf_value : float64 array of shape (E, L, n_outputs)
        Logits, one a class (or one for two classes), class probabilities, or values
        of the target.
    leaf_weight : float64 array of shape (E, L)
        Weight of each leaf before the softmax or entmax over trees.
    classes : tuple or None
        Labels; None for regression.
    target, target_unit : str
    n_rows : int64 array of shape (E, N + L) or None
        Training rows that pass each node.
    weight : float64 array of shape (E, N + L) or None
        What these rows weigh together; None: 1 each.
    notes : tuple of str
        Sentences that a picture must show.
    leaf_output : {"logits", "probabilities"}, default="logits"
        What leaves hold where there are classes.
    weighting : {"softmax", "entmax15"}, default="softmax"
        What turns leaf weights into estimator weights; entmax gives exact zeros.
    max_deciders : int or None
        Only so many trees, whose leaves weigh most, get any weight on a row (and those
        whose leaf weighs as much as the last of these); None: all may.
    target_form : CellForm or None
        How the target's cells of training rows were written, where it is known.
    class_weights : float64 array, (n_classes,) or (n_classes, n_classes), or None
        The class that is predicted has the largest probability times weight; or the
        largest entry of probabilities @ weights; None: the largest probability.
    loss : Loss or None
        What the ensemble was trained for; None: classes, or squared error.

    Raises
    ------
    ValueError
        If the shapes do not fit each other, leaves do not hold what ``leaf_output``
        names, or no tree may decide.
    """

    features: tuple[Feature, ...]
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    leaf_value: np.ndarray
    leaf_weight: np.ndarray
    classes: tuple | None = None
    target: str = "target"
    target_unit: str = ""
    n_rows: np.ndarray | None = None
    weight: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    leaf_output: str = "logits"
    weighting: str = "softmax"
    max_deciders: int | None = None
    target_form: CellForm | None = None
    class_weights: np.ndarray | None = None
    loss: Loss | None = None

    array_types: ClassVar[dict[str, type]] = {
        **dict.fromkeys(("threshold", "leaf_value", "leaf_weight"), np.float64),
        **dict.fromkeys(("weight", "class_weights"), np.float64),
        "feature": np.int32,
        "missing_left": np.bool_,
        "n_rows": np.int64,
    }

    def __repr__(self):
        return (
            f"WeightedTrees({self.task}, target={self.target!r}, "
            f"n_estimators={self.n_estimators}, depth={self.depth})"
        )

    def _faults(self) -> Iterator[tuple[Any, str]]:
        shape, n_features = self.leaf_value.shape, len(self.features)
        yield (
            len(shape) != 3 or 0 in shape,
            "leaf_value must have the shape (trees, leaves, outputs), none of them 0, "
            f"got {shape}.",
        )
        n_trees, n_leaves, n_outputs = shape
        yield (
            n_leaves & (n_leaves - 1),
            f"A complete tree has 1, 2, 4, 8, ... leaves, got {n_leaves}.",
        )
        columns = dict.fromkeys(("feature", "threshold", "missing_left"), n_leaves - 1)
        columns |= dict.fromkeys(("n_rows", "weight"), 2 * n_leaves - 1)
        for name, n_columns in (columns | {"leaf_weight": n_leaves}).items():
            array, wanted = getattr(self, name), (n_trees, n_columns)
            is_wrong = array is not None and array.shape != wanted
            yield (
                is_wrong,
                f"{name} must have the shape {wanted}, got {np.shape(array)}.",
            )
        yield (
            ((self.feature < 0) | (self.feature >= n_features)).any(),
            f"Splits must test a feature from 0 to {n_features - 1}.",
        )
        is_mean = self.leaf_output == "probabilities"
        proba = self.classes is not None and is_mean
        check_predictions("leaf_value", self.leaf_value, proba=proba)
        check_predictions("leaf_weight", self.leaf_weight, proba=False)
        for name in ("n_rows", "weight"):
            own = getattr(self, name)
            is_negative = own is not None and not (own >= 0).all()
            yield is_negative, f"{name} cannot be negative."
        yield np.isnan(self.threshold).any(), "threshold must not be NaN."
        for name, known in (("weighting", WEIGHTINGS), ("leaf_output", LEAF_OUTPUTS)):
            given = getattr(self, name)
            yield given not in known, f"{name} must be one of {known}, got {given!r}."
        n_classes = len(self.classes or ())
        allowed = {n_classes or 1} | ({1} if n_classes == 2 and not is_mean else set())
        yield (
            n_outputs not in allowed,
            f"leaf_value must have {max(allowed)} output(s), got {n_outputs}.",
        )
        check_class_weights(self.class_weights, n_classes, (1, 2))
        limit = self.max_deciders
        yield (
            limit is not None and (not isinstance(limit, int) or limit < 1),
            f"max_deciders must be at least 1, got {limit!r}.",
        )

    # What it is

    @property
    def n_estimators(self) -> int:
        """Number of trees."""
        return len(self.leaf_value)

    @property
    def n_deciding(self) -> int:
        """Trees that may decide a row."""
        limit = self.max_deciders or self.n_estimators
        return min(limit, self.n_estimators)

    @property
    def n_leaves(self) -> int:
        """Leaves of each tree."""
        return self.leaf_value.shape[1]

    @property
    def depth(self) -> int:
        """Splits on every path."""
        return self.n_leaves.bit_length() - 1

    @property
    def divides(self) -> np.ndarray:
        """Whether training rows go both ways at each split, bool (E, N).

        All do where no rows are known.
        """
        if self.n_rows is None:
            return np.ones(self.feature.shape, dtype=bool)
        return (self.n_rows[:, 1::2] > 0) & (self.n_rows[:, 2::2] > 0)

    @property
    def mass(self) -> np.ndarray | None:
        """What each node's rows count for, (E, N + L): their weights, or 1 each."""
        return self.n_rows if self.weight is None else self.weight

    @property
    def read(self) -> np.ndarray:
        """Indices of the features that splits read, ascending."""
        return np.unique(self.feature)

    @cached_property
    def _leaf_codes(self) -> LeafCodes:
        """Thresholds as ranks."""
        return LeafCodes(self.feature, self.threshold, self.missing_left)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "_leaf_codes"}

    # What it does to rows

    def _blocks(self, X):
        """Yield rows, a slice, and the leaves (E, rows) that they reach."""
        matrix = feature_matrix(self.features, X, self._leaf_codes.used)
        codes = self._leaf_codes.codes(matrix)
        step = max(1, _BLOCK // self.n_estimators)
        for first in range(0, len(matrix), step):
            rows = slice(first, first + step)
            yield rows, self._leaf_codes.leaves(np.ascontiguousarray(codes[:, rows]))

    def _flat(self, leaf: np.ndarray) -> np.ndarray:
        """Return the index of each tree's leaf (E, rows) in arrays of E * L."""
        return leaf + (np.arange(self.n_estimators) * self.n_leaves)[:, None]

    def _collect(self, X, make, shape: tuple, dtype=np.float64) -> np.ndarray:
        """Return ``make(leaf)``, (rows, ...) a block, for all rows of ``X``."""
        parts = [make(leaf) for _, leaf in self._blocks(X)]
        return np.concatenate(parts) if parts else np.empty((0, *shape), dtype=dtype)

    def leaves(self, X) -> np.ndarray:
        """Return the leaf, 0 to L - 1, that each row reaches, int64 (n_rows, E)."""
        shape = (self.n_estimators,)
        return self._collect(X, lambda leaf: leaf.T.astype(np.int64), shape, np.int64)

    def estimator_weights(self, X) -> np.ndarray:
        """Return each tree's weight for each row, float64 (n_rows, E).

        ``sigma(w(x))`` in equation 7 of arXiv:2309.17130; the weights of a row sum
        to 1.
        """
        shape = (self.n_estimators,)
        return self._collect(X, lambda leaf: self._weights(leaf).T, shape)

    def _weights(self, leaf: np.ndarray) -> np.ndarray:
        """Return the estimator weights (E, rows) at these leaves."""
        unscaled = self._unscaled_weights(self._flat(leaf))
        return unscaled / unscaled.sum(axis=0)

    def _unscaled_weights(self, at: np.ndarray) -> np.ndarray:
        """Return estimator weights (E, rows) of leaves of all, up to a factor a row."""
        scores = self.leaf_weight.ravel().take(at)
        return unscaled_weights(scores, self.weighting, self.max_deciders)

    def top_estimators(self, X, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``k`` highest-weighted trees for each row, the highest first.

        Parameters
        ----------
        X : table
        k : int, default=1

        Returns
        -------
        index : int64 array of shape (n_rows, k)
        weight : float64 array of shape (n_rows, k)

        Raises
        ------
        ValueError
            If ``k`` is not between 1 and the number of trees.
        """
        if not 1 <= k <= self.n_estimators:
            raise ValueError(
                f"k must be from 1 to {self.n_estimators} (the trees), got {k!r}."
            )

        def top(leaf):
            weights = self._weights(leaf).T
            index = np.argsort(-weights, axis=1, kind="stable")[:, :k]
            return np.stack([index, np.take_along_axis(weights, index, axis=1)], axis=1)

        both = self._collect(X, top, (2, k))
        return both[:, 0].astype(np.int64), both[:, 1]

    def n_estimators_for_share(self, X, share: float) -> np.ndarray:
        """Count the highest-weighted trees that hold ``share`` of each prediction.

        Parameters
        ----------
        X : table
        share : float
            Sum of the estimator weights to reach, above 0 and at most 1.

        Returns
        -------
        int64 array of shape (n_rows,)

        Raises
        ------
        ValueError
            If ``share`` is not above 0 and at most 1.
        """
        if not 0 < share <= 1:
            raise ValueError(f"share must be above 0 and at most 1, got {share!r}.")

        def count(leaf):
            weights = -np.sort(-self._weights(leaf), axis=0)
            total = np.cumsum(weights, axis=0)
            # The last sum may miss 1 by rounding.
            enough = total >= share * total[-1] * (1 - 1e-12)
            return enough.argmax(axis=0) + 1

        return self._collect(X, count, (), np.int64)

    def decision_function(self, X) -> np.ndarray:
        """Return the weighted sum of the values, float64 (n_rows, n_outputs)."""
        n_outputs = self.leaf_value.shape[2]
        values = np.ascontiguousarray(self.leaf_value.reshape(-1, n_outputs).T)

        def decide(leaf):
            at = self._flat(leaf)
            weight = self._unscaled_weights(at)
            # Divided at the end: trees of equal weight add up exactly where votes tie.
            sums = [np.einsum("eb,eb->b", weight, value.take(at)) for value in values]
            return np.stack(sums, axis=1) / weight.sum(axis=0)[:, None]

        return self._collect(X, decide, (n_outputs,))

    def predict_proba(self, X) -> np.ndarray:
        """Return class probabilities, float64 (n_rows, n_classes), as in ``classes``.

        Raises
        ------
        ValueError
            If this is a regression ensemble.
        """
        if self.classes is None:
            raise ValueError("A regression ensemble has no class probabilities.")
        return self.class_probabilities(self.decision_function(X))

    def class_probabilities(self, value: np.ndarray) -> np.ndarray:
        """Return class probabilities (..., n_classes) of values (..., n_outputs)."""
        if self.leaf_output == "probabilities":
            return value
        return class_probabilities(value, len(self.classes or ()))

    def predict(self, X) -> np.ndarray:
        """Return each row's class, or value of the target; (n_rows,).

        The class is the most probable one unless there are ``class_weights``.
        """
        if self.classes is None:
            return self.decision_function(X)[:, 0]
        return self.predicted_labels(self.predict_proba(X))

    def predicted_labels(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the labels (n,) that are predicted at probabilities (n, n_classes)."""
        return most_probable(self.classes or (), probabilities, self.class_weights)

    # Its trees

    def only(self, estimators) -> "WeightedTrees":
        """Return the ensemble of some of its trees, by number, their weights rescaled.

        Trees that have no weight on a row change nothing there by being left out.
        """
        trees = np.asarray(estimators, dtype=np.int64)
        arrays = {name: getattr(self, name) for name in self.array_types}
        arrays.pop("class_weights")
        own = {name: a[trees] for name, a in arrays.items() if a is not None}
        return replace(self, **own)

    def estimator(self, e: int, X=None, y=None) -> Tree:
        """Return one of its trees, simplified.

        Parameters
        ----------
        e : int
            Which tree, 0 to E - 1.
        X, y : table and target, or None
            Rows whose numbers the tree shows; None: the training rows' counts, where
            they are known, and at each split the mean of what it predicts for them.

        Returns
        -------
        Tree
            Its leaves hold class probabilities, or the value of the target.
        """
        if not 0 <= e < self.n_estimators:
            raise ValueError(
                f"The ensemble has trees 0 to {self.n_estimators - 1}, not {e}."
            )
        value = self.leaf_value[e]
        if self.classes is not None:
            value = self.class_probabilities(value)
        tree = Tree.complete(
            self.features,
            self.feature[e],
            self.threshold[e],
            self.missing_left[e],
            value,
            classes=self.classes,
            target=self.target,
            target_unit=self.target_unit,
            target_form=self.target_form,
            notes=self.notes,
            loss=self.loss,
        )
        if X is not None:
            tree = tree.with_rows(X, y)
        elif self.n_rows is not None:
            own = {"n_rows": self.n_rows[e]}
            if self.weight is not None:
                own["weight"] = self.weight[e]
            tree = replace(tree, **own)
            at_leaf = np.where(tree.is_leaf, tree.mass, 0)[:, None] * tree.value
            is_mean = ~tree.is_leaf & (tree.n_rows > 0)
            mean = sum_up(tree, at_leaf) / np.where(is_mean, tree.mass, 1)[:, None]
            value = np.where(is_mean[:, None], mean, tree.value)
            tree = replace(tree, value=value)
        if self.class_weights is not None:
            by_class = as_matrix(self.class_weights)
            chosen, own = (tree.value @ by_class).argmax(axis=1), by_class.sum(axis=1)
            tree = replace(tree, decision=chosen, class_weights=own)
        return simplify(tree)

    def with_rows(self, X, y=None, sample_weight=None) -> "WeightedTrees":
        """Return the ensemble with the counts of these rows at every node.

        ``sample_weight`` (n_rows,) is above 0.
        """
        n_rows = np.zeros(self.leaf_weight.shape, dtype=np.int64)
        weight = None if sample_weight is None else np.zeros(n_rows.shape)
        for rows, leaf in self._blocks(X):
            at = self._flat(leaf).ravel()
            n_rows += np.bincount(at, minlength=n_rows.size).reshape(n_rows.shape)
            if weight is not None:
                each = np.tile(sample_weight[rows], self.n_estimators)
                weight += np.bincount(at, each, n_rows.size).reshape(n_rows.shape)
        weight = None if weight is None else at_nodes(weight)
        return replace(self, n_rows=at_nodes(n_rows), weight=weight)


def at_nodes(leaves: np.ndarray) -> np.ndarray:
    """Return sums of what stands at the leaves (E, L) at every node, (E, N + L)."""
    levels = [leaves]
    while levels[-1].shape[1] > 1:
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    return np.concatenate(levels[::-1], axis=1)
