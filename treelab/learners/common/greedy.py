"""Greedy trees, within constraints where there are any."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.data.encoding import TableEncoder
from treelab.trees.constraints import OTHER, SIGNS, Constraints, output_of
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree

# ColumnRules: constraints in the encoded columns that a learner trains on.


@dataclass(frozen=True)
class ColumnRules:
    """What constraints say of each encoded column, or feature."""

    # int (F,): place of the user's column that each feature is read from.
    column: np.ndarray
    # int (F,): 1 where the prediction must go up with it, -1 down, else 0.
    sign: np.ndarray
    # float (F,): fraction of the root's impurity that its column costs.
    cost: np.ndarray
    output: int  # which of the predicted values has the order
    groups: np.ndarray  # bool (n_groups, n_columns): columns that may stand on one path
    # (n_columns,): columns that a split of a level may test; -1 for the other levels.
    by_level: dict[int, np.ndarray]
    max_columns: int
    min_samples_leaf: int

    @classmethod
    def of(
        cls,
        constraints: Constraints,
        features: Sequence[Feature],
        classes: tuple | None,
    ) -> "ColumnRules":
        """Read constraints in the order of an encoder's features."""
        own = [feature.column for feature in features]
        columns = [*dict.fromkeys(own)]
        signs = {name: SIGNS[way] for name, way in constraints.monotone.items()}
        levels = {int(k): int(k) for k in constraints.allowed if k != OTHER}
        levels[-1] = max(levels, default=0) + 1  # a level that is not named
        return cls(
            column=np.array([columns.index(name) for name in own]),
            sign=np.array([signs.get(name, 0) for name in own]),
            cost=np.array([constraints.column_costs.get(name, 0.0) for name in own]),
            output=output_of(classes, constraints),
            groups=np.array(
                [
                    [name in group for name in columns]
                    for group in constraints.group_of(columns)
                ]
            ),
            by_level={
                key: np.isin(columns, [*constraints.allowed_at(level, columns)])
                for key, level in levels.items()
            },
            max_columns=constraints.max_columns or len(columns),
            min_samples_leaf=constraints.min_samples_leaf,
        )

    def may_test(self, level: int, path: Iterable[int]) -> np.ndarray:
        """Return features that a split of a level may test, bool (F,).

        ``path`` has the places of the columns that the splits above it test, or may
        come to test.
        """
        allowed = self.by_level.get(level, self.by_level[-1])
        fitting = self.groups[self.groups[:, [*path]].all(axis=1)]
        return (allowed & fitting.any(axis=0))[self.column]


# A greedy tree that keeps constraints while it grows, best split first.
#
# scikit-learn's own tree knows monotone columns alone; this one also knows which
# columns may be tested where, together, at what cost and how many. Monotone columns are
# kept as scikit-learn keeps them: a split is possible only where its children are in
# order and between the bounds that the splits above set, halfway between their own
# children. So every pruning of the tree is in order, too.


MOST_LEAVES = 1000  # unless so many are asked for; nobody reads more
MOST_VALUES = 2_000_000  # that are summed up at once
UNKNOWN = (np.nan, -1)  # best split of a leaf, not found yet
SMALLEST_GAIN = 1e-9  # of the root's impurity


@dataclass(eq=False)
class _Node:
    """A node, its rows, and the best split of each feature among them."""

    rows: np.ndarray
    level: int
    path: frozenset[int]  # columns that the splits above it test
    bounds: tuple[float, float]
    # (F,): gain and threshold of a split, and what lies halfway between its children.
    gain: np.ndarray
    threshold: np.ndarray
    middle: np.ndarray
    best: tuple[float, int] = UNKNOWN  # net gain and feature
    children: tuple["_Node", ...] = ()


class _Growth:
    """A tree while it grows; the parameters are those of ``grow_constrained``."""

    def __init__(self, x, values, weight, rules, max_depth, min_samples_leaf):
        self.x, self.values, self.weight, self.rules = x, values, weight, rules
        self.max_depth = max_depth
        self.least = max(1, min_samples_leaf, rules.min_samples_leaf)
        self.used = set()  # columns that the tree tests
        rows = np.flatnonzero(weight > 0)
        _, total, impurity = self._moments(rows)
        self.risk = max(total * impurity, 1e-300)  # of the root
        self.root = self._node(rows, 0, frozenset(), (-np.inf, np.inf))
        self.frontier = [self.root]

    def _moments(self, rows: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Mean (C,), weight and impurity of rows."""
        weight, values = self.weight[rows], self.values[rows]
        total = max(weight.sum(), 1e-300)
        mean = weight @ values / total
        square = weight @ (values**2).sum(1) / total
        return mean, total, max(square - (mean**2).sum(), 0.0)

    def _node(self, rows, level, path, bounds) -> _Node:
        """Make a node of rows and measure what it may test."""
        mean, total, impurity = self._moments(rows)
        n_features = self.x.shape[1]
        gain, nothing = np.full(n_features, -np.inf), np.zeros(n_features)
        node = _Node(rows, level, path, bounds, gain, nothing, nothing.copy())
        n_rows = len(rows)
        if impurity <= 1e-12 or n_rows < 2 * self.least or level == self.max_depth:
            return node
        open_features = np.flatnonzero(self.rules.may_test(level, path))
        block = max(1, MOST_VALUES // (n_rows * self.values.shape[1]))
        unsplit = total * (mean**2).sum()
        for start in range(0, len(open_features), block):
            self._measure(node, open_features[start : start + block], unsplit)
        return node

    def _measure(self, node: _Node, features: np.ndarray, unsplit: float) -> None:
        """Find the best split of a node by each of some features."""
        x = self.x[np.ix_(node.rows, features)]
        n_rows, here = len(x), np.arange(len(features))
        order = np.argsort(x, axis=0, kind="stable")
        ascending = np.take_along_axis(x, order, axis=0)
        weight = self.weight[node.rows]
        weighted = self.values[node.rows] * weight[:, None]
        left = np.cumsum(weighted[order], axis=0)[:-1]  # (n - 1, F, C)
        right = weighted.sum(0) - left
        in_left = np.cumsum(weight[order], axis=0)[:-1]
        in_right = np.maximum(weight.sum() - in_left, 1e-300)
        in_left = np.maximum(in_left, 1e-300)
        gain = (left**2).sum(-1) / in_left + (right**2).sum(-1) / in_right - unsplit
        forbidden = ascending[1:] == ascending[:-1]
        forbidden[: self.least - 1] = True
        forbidden[n_rows - self.least :] = True
        below = left[..., self.rules.output] / in_left
        above = right[..., self.rules.output] / in_right
        if self.rules.sign.any():
            lowest, highest = node.bounds
            forbidden |= self.rules.sign[features] * (below - above) > 0
            forbidden |= np.minimum(below, above) < lowest
            forbidden |= np.maximum(below, above) > highest
        gain[forbidden] = -np.inf
        place = gain.argmax(axis=0)
        first, second = ascending[place, here], ascending[place + 1, here]
        between = (first.astype(np.float64) + second) / 2
        # Rounding must not lift the middle onto the larger of the two.
        between = np.where(between.astype(x.dtype) >= second, first, between)
        node.gain[features] = gain[place, here]
        node.threshold[features] = between
        node.middle[features] = (below[place, here] + above[place, here]) / 2

    def split_best(self) -> bool:
        """Split the leaf that gains most; return whether any gains enough."""
        for node in self.frontier:
            if node.best is UNKNOWN:
                gain = self._net_gain(node)
                node.best = float(gain.max()), int(gain.argmax())
        node = max(self.frontier, key=lambda leaf: leaf.best[0])
        gained, feature = node.best
        if gained <= SMALLEST_GAIN:
            return False
        column = int(self.rules.column[feature])
        if column not in self.used:  # other splits may gain from it
            for other in self.frontier:
                if other is not node:
                    other.best = UNKNOWN
        self.used.add(column)
        self.frontier.remove(node)
        node.children = self._children(node, feature, column)
        self.frontier += node.children
        return True

    def _net_gain(self, node: _Node) -> np.ndarray:
        """Gain of a split by each feature, as a fraction of the root, less its cost."""
        is_new = ~np.isin(self.rules.column, [*self.used])
        gain = node.gain / self.risk - self.rules.cost * is_new
        if len(self.used) >= self.rules.max_columns:
            gain[is_new] = -np.inf
        return gain

    def _children(self, node: _Node, feature: int, column: int) -> tuple[_Node, _Node]:
        """Make the children of a node that is split by a feature."""
        middle, (lowest, highest) = node.middle[feature], node.bounds
        below = above = node.bounds
        if self.rules.sign[feature] > 0:
            below, above = (lowest, middle), (middle, highest)
        elif self.rules.sign[feature] < 0:
            below, above = (middle, highest), (lowest, middle)
        goes_left = self.x[node.rows, feature] <= node.threshold[feature]
        shared = node.level + 1, node.path | {column}
        return (
            self._node(node.rows[goes_left], *shared, below),
            self._node(node.rows[~goes_left], *shared, above),
        )

    def nodes(self) -> SimpleNamespace:
        """Return what ``encoded_tree`` reads, depth first, left before right."""
        order, waiting = [], [self.root]
        while waiting:
            order.append(waiting.pop())
            waiting += order[-1].children[::-1]
        number = {node: place for place, node in enumerate(order)}
        pairs = [[number[own] for own in node.children] or [-1, -1] for node in order]
        left, right = np.array(pairs).T.copy()
        feature = np.array([node.best[1] for node in order])
        threshold = np.array([node.threshold[node.best[1]] for node in order])
        return SimpleNamespace(
            children_left=left,
            children_right=right,
            feature=feature,
            threshold=threshold,
        )


def grow_constrained(
    x: np.ndarray,
    values: np.ndarray,
    weight: np.ndarray | None,
    rules: ColumnRules,
    *,
    max_leaf_nodes: int | None = None,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
) -> SimpleNamespace:
    """Grow a greedy tree, the split that gains most first; see ``encoded_tree``.

    ``x`` (n, F) are encoded rows, float32, ``values`` (n, C) indicators of their
    classes (the gain is Gini's) or values. Leaves hold as many rows as
    ``min_samples_leaf`` and the rules ask; limits that are None limit nothing.
    """
    weight = np.ones(len(x)) if weight is None else weight.astype(np.float64)
    growth = _Growth(x, values, weight, rules, max_depth, min_samples_leaf)
    for _ in range((max_leaf_nodes or MOST_LEAVES) - 1):
        if not growth.split_best():
            break
    return growth.nodes()


# Greedy trees over encoded columns: how they grow, and how they become Trees.


@dataclass(frozen=True)
class Greedy:
    """How greedy trees grow: scikit-learn's, or ours where constraints limit them."""

    classes: tuple | None  # labels by code; None for regression
    # (n_classes,): weight of a row of each class while splits are chosen.
    class_weight: np.ndarray
    max_depth: int | None
    random_state: Any  # breaks ties
    ccp_alpha: float = 0.0
    criterion: str = "squared_error"  # "squared_error" or "poisson": of regression
    constraints: Constraints = field(default_factory=Constraints)
    # Names of several numbers that are predicted together.
    outputs: tuple[str, ...] = ()

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
            values = as_columns(y - y.mean(axis=0))
            if self.classes is not None:
                values = np.eye(len(self.classes))[y]
            rules = ColumnRules.of(self.constraints, features, self.classes)
            grown = grow_constrained(
                X,
                values,
                weight,
                rules,
                max_leaf_nodes=max_leaf_nodes,
                max_depth=self.max_depth,
                min_samples_leaf=min_samples_leaf,
            )
            return encoded_tree(grown, features, self.classes, self.outputs)
        kind = partial(DecisionTreeRegressor, criterion=self.criterion)
        if self.classes:
            kind = DecisionTreeClassifier
        grown = kind(
            max_depth=self.max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            ccp_alpha=self.ccp_alpha,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=weight)
        return encoded_tree(grown.tree_, features, self.classes, self.outputs)


def as_columns(y: np.ndarray) -> np.ndarray:
    """Return one target (n,), or several, as columns (n, C)."""
    return y if y.ndim == 2 else y[:, None]


def encoded_tree(
    grown,
    features: Sequence[Feature],
    classes: tuple | None,
    outputs: tuple[str, ...] = (),
) -> Tree:
    """Return scikit-learn's ``tree_``, or what is like it, over its encoded columns."""
    leaf = grown.children_left < 0
    n_nodes, n_outputs = len(leaf), len(classes or outputs or (None,))
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
        outputs=outputs,
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
        outputs=tree.outputs,
    )
