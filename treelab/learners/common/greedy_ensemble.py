"""Forests and boosted trees of one depth, as starts for trees that learn together.

Their answers are means over the trees, in logits or in the units of the target, as are
those of trees that all have the same weight.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

MOST_ROWS = 10_000  # a tree is grown on so many rows at most
LEAF_ROWS = 5  # fewest rows in a leaf
PRIOR = 1.0  # rows' worth of the overall mean that every leaf of a forest holds
BOOST_COLUMNS = 0.5  # share of a tree's columns that a boosted split looks at
BOOST_ROWS = 0.8  # share of the rows that a boosted tree is grown on
BOOST_RIDGE = 1.0  # added to the curvature in a leaf
# All steps of a boosted ensemble together: on so many rows, and never more than.
BOOST_TOTAL, BOOST_UNIT_ROWS, BOOST_MOST = 4.0, 500, 12.0
BOOST_LARGEST = 0.3  # a single tree's step


@dataclass(frozen=True)
class GreedyTree:
    """A greedy tree laid into a complete one.

    Attributes
    ----------
    feature : ndarray of shape (N,), int64
        Breadth first; -1 below the tree's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        Parts float32 values as the tree does; NaN where nothing is split.
    value : ndarray of shape (L, C)
        Logits, one for two classes, or values.
    """

    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray

    def used(self) -> np.ndarray:
        """Features that it tests, ascending."""
        return np.unique(self.feature[self.feature >= 0])


def grow_forest(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
    *,
    depth: int,
    n_classes: int,
    seed: int,
) -> list[GreedyTree]:
    """Grow a random forest: bootstrapped rows, a random few columns a split.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes or values.
    weight : ndarray of shape (n,)
        Rows of weight 0 take no part.
    columns : ndarray of shape (E, K)
        Features that each of the E trees may test.
    n_classes : int
        0 for regression.
    """
    random = np.random.RandomState(seed)
    rows = np.flatnonzero(weight > 0)
    target = np.eye(n_classes)[y] if n_classes else y[:, None]
    overall = weight @ target / weight.sum()
    grower = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    trees = []
    for own in columns:
        drawn = rows[random.randint(len(rows), size=min(len(rows), MOST_ROWS))]
        fitted = grower(
            max_depth=depth,
            min_samples_leaf=LEAF_ROWS,
            max_features="sqrt" if n_classes else 1 / 3,
            random_state=random.randint(2**31),
        ).fit(x[np.ix_(drawn, own)], y[drawn], sample_weight=weight[drawn])
        feature, threshold, leaf = lay_out(fitted.tree_, depth)
        told = fitted.tree_.value[leaf, 0]  # (L, classes that it saw)
        if n_classes:
            shares = np.zeros((len(leaf), n_classes))
            shares[:, fitted.classes_] = told
            told = shares
        size = fitted.tree_.weighted_n_node_samples[leaf, None]
        told = (size * told + PRIOR * overall) / (size + PRIOR)
        if n_classes:
            told = _logits(told)
        trees.append(GreedyTree(_within(feature, own), threshold, told))
    return trees


def grow_boosted(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    columns: np.ndarray,
    *,
    depth: int,
    n_classes: int,
    seed: int,
) -> list[GreedyTree]:
    """Boost trees, each a Newton step on what those before it left.

    Parameters as for `grow_forest`. The steps of all trees together are larger for
    more rows, so that few rows are not learned by heart.

    Source: Friedman, "Stochastic gradient boosting", 2002,
    doi:10.1016/S0167-9473(01)00065-2.
    """
    random = np.random.RandomState(seed)
    rows = np.flatnonzero(weight > 0)
    x, weight = x[rows], weight[rows]
    target = np.eye(n_classes)[y[rows]] if n_classes else y[rows, None]
    if n_classes == 2:
        target = target[:, 1:]
    mean = weight @ (np.eye(n_classes)[y[rows]] if n_classes else target)
    mean = mean / weight.sum()
    base = _logits(np.clip(mean, 1e-3, None)[None])[0] if n_classes else mean
    n_trees = len(columns)
    total = min(BOOST_MOST, BOOST_TOTAL * np.sqrt(len(rows) / BOOST_UNIT_ROWS))
    rate = min(BOOST_LARGEST, total / n_trees)
    n_drawn = min(MOST_ROWS, max(1, round(BOOST_ROWS * len(rows))))
    output = np.tile(base, (len(rows), 1))  # (n, C)
    trees = []
    for own in columns:
        share = _shares(output) if n_classes else output
        left = target - share
        curvature = share * (1 - share) if n_classes else np.ones_like(share)
        drawn = random.permutation(len(rows))[:n_drawn]
        offered = x[:, own]
        fitted = DecisionTreeRegressor(
            max_depth=depth,
            min_samples_leaf=LEAF_ROWS,
            max_features=BOOST_COLUMNS,
            random_state=random.randint(2**31),
        ).fit(offered[drawn], left[drawn], sample_weight=weight[drawn])
        reached = fitted.apply(offered)
        n_nodes = fitted.tree_.node_count
        step = np.stack(
            [
                np.bincount(reached, weight * left[:, c], minlength=n_nodes)
                / (
                    np.bincount(reached, weight * curvature[:, c], minlength=n_nodes)
                    + BOOST_RIDGE
                )
                for c in range(left.shape[1])
            ],
            axis=1,
        )  # (nodes, C)
        output += rate * step[reached]
        feature, threshold, leaf = lay_out(fitted.tree_, depth)
        # The ensemble's answer is a mean over its trees.
        told = base + n_trees * rate * step[leaf]
        trees.append(GreedyTree(_within(feature, own), threshold, told))
    return trees


def grow_both(x, y, weight, columns, **settings) -> list[GreedyTree]:
    """Grow half of the trees as a forest, the others boosted."""
    half = len(columns) // 2
    forest = grow_forest(x, y, weight, columns[:half], **settings)
    return forest + grow_boosted(x, y, weight, columns[half:], **settings)


GROWERS = {"both": grow_both, "forest": grow_forest, "boosted": grow_boosted}


def lay_out(tree, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay scikit-learn's ``tree_`` of at most `depth` levels into a complete tree.

    Returns
    -------
    feature : ndarray of shape (N,), int64
        See `GreedyTree`.
    threshold : ndarray of shape (N,), float32
    source : ndarray of shape (L,), int64
        Node of `tree` that each leaf of the complete tree stands for.
    """
    feature = np.empty(2**depth - 1, dtype=np.int64)
    threshold = np.empty(2**depth - 1, dtype=np.float32)
    source = np.zeros(1, dtype=np.int64)
    for level in range(depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        ends = tree.children_left[source] < 0
        feature[nodes] = np.where(ends, -1, tree.feature[source])
        exact = tree.threshold[source]
        single = exact.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        single = np.where(single > exact, below, single)
        threshold[nodes] = np.where(ends, np.nan, single)
        left = np.where(ends, source, tree.children_left[source])
        right = np.where(ends, source, tree.children_right[source])
        source = np.stack([left, right], 1).ravel()
    return feature, threshold, source


def _within(feature: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Features by their place in the table, from their place among the columns."""
    return np.where(feature >= 0, columns[feature], -1)


def _logits(share: np.ndarray) -> np.ndarray:
    """Logits (m, C), one for two classes, of class shares (m, n_classes)."""
    log_p = np.log(np.maximum(share, 1e-6))
    if share.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    return log_p - log_p.mean(1, keepdims=True)


def _shares(logits: np.ndarray) -> np.ndarray:
    """Class shares (n, C) of logits (n, C); of the second class where C is 1."""
    if logits.shape[1] == 1:
        return 1 / (1 + np.exp(-logits))
    share = np.exp(logits - logits.max(1, keepdims=True))
    return share / share.sum(1, keepdims=True)
