"""Greedy trees over encoded columns: how they grow, and how they become Trees."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.data.encoding.table_encoder import TableEncoder
from treelab.learners.common.constrained.column_rules import ColumnRules
from treelab.learners.common.constrained.greedy import Limits, grow_constrained
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


@dataclass(frozen=True)
class Greedy:
    """How greedy trees grow: scikit-learn's, or our own where constraints limit them.

    Attributes
    ----------
    classes : tuple or None
        Labels by code; None for regression.
    class_weight : ndarray of shape (n_classes,)
        Weight of a row of each class while splits are chosen.
    max_depth : int or None
    random_state : int, RandomState instance or None
        Breaks ties.
    ccp_alpha : float, default=0.0
    constraints : Constraints, optional
    """

    classes: tuple | None
    class_weight: np.ndarray
    max_depth: int | None
    random_state: Any
    ccp_alpha: float = 0.0
    constraints: Constraints = field(default_factory=Constraints)

    def grow(
        self,
        X: np.ndarray,
        y: np.ndarray,
        features: Sequence[Feature],
        *,
        min_samples_leaf: int,
        max_leaf_nodes: int | None = None,
        weight: np.ndarray | None = None,
    ) -> Tree:
        """Return a tree over float32 columns, numbered depth first, without rows.

        ``features`` are those of the columns, ``weight`` (n_rows,) that of each row
        beside its class's.
        """
        if self.classes is not None:
            by_class = self.class_weight[y]
            weight = by_class if weight is None else by_class * weight
        if self.constraints.limits_splits:
            values = (y - y.mean())[:, None]
            if self.classes is not None:
                values = np.eye(len(self.classes))[y]
            rules = ColumnRules.of(self.constraints, features, self.classes)
            limits = Limits(max_leaf_nodes, self.max_depth, min_samples_leaf)
            grown = grow_constrained(X, values, weight, rules, limits)
            return encoded_tree(grown.depth_first(), features, self.classes)
        kind = DecisionTreeClassifier if self.classes else DecisionTreeRegressor
        grown = kind(
            max_depth=self.max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            ccp_alpha=self.ccp_alpha,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=weight)
        return encoded_tree(grown.tree_, features, self.classes)


def encoded_tree(grown, features: Sequence[Feature], classes: tuple | None) -> Tree:
    """Return scikit-learn's ``tree_``, or what is like it, over its encoded columns."""
    leaf = grown.children_left < 0
    n_nodes, n_outputs = len(leaf), len(classes or (None,))
    return Tree(
        features=tuple(features),
        left=grown.children_left,
        right=grown.children_right,
        feature=np.where(leaf, -1, grown.feature),
        threshold=np.where(leaf, np.nan, grown.threshold),
        missing_left=np.zeros(n_nodes, dtype=bool),
        value=np.full((n_nodes, n_outputs), 1 / n_outputs),
        n_rows=np.zeros(n_nodes, dtype=np.int64),
        impurity=np.full(n_nodes, np.nan),
        classes=classes,
        between=np.full((n_nodes, 2), np.nan),  # nobody reads these here
        missing_rows=np.zeros(n_nodes, dtype=np.int64),
    )


def decoded_tree(tree: Tree, encoder: TableEncoder) -> Tree:
    """Rewrite a tree over encoded columns in the user's own; no rows, no values."""
    leaf = tree.is_leaf
    threshold, missing_left = tree.threshold.copy(), tree.missing_left.copy()
    threshold[~leaf], missing_left[~leaf] = encoder.axis_splits(
        tree.feature[~leaf], tree.threshold[~leaf]
    )
    return Tree(
        features=encoder.features_,
        left=tree.left,
        right=tree.right,
        feature=tree.feature,
        threshold=threshold,
        missing_left=missing_left,
        value=np.full_like(tree.value, 1 / tree.value.shape[1]),
        n_rows=np.zeros(tree.n_nodes, dtype=np.int64),
        impurity=np.full(tree.n_nodes, np.nan),
        classes=tree.classes,
    )
