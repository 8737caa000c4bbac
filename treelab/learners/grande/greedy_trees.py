"""Forests and boosted trees of one depth, which GRANDE's trees start from.

Their prediction is the mean over the trees, in logits or in the unit of the target, as
is that of an ensemble whose estimator weights are equal.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.grande.complete_tree import lay_out
from treelab.trees.logits import softmax

MOST_ROWS = 10_000  # a tree is grown on so many rows at most
MIN_SAMPLES_LEAF = 5
PRIOR = 1.0  # rows' worth of the overall mean that every leaf of a forest holds
SMALLEST_PROBABILITY = 1e-6  # before the logarithm
BOOST_COLUMNS = 0.5  # fraction of a tree's features that a boosted split tries
BOOST_ROWS = 0.8  # fraction of the rows that a boosted tree is grown on
BOOST_RIDGE = 1.0  # added to the curvature in a leaf
# Learning rates of all boosted trees together: on so many rows, and never more than.
BOOST_TOTAL, BOOST_UNIT_ROWS, BOOST_MOST = 4.0, 500, 12.0
BOOST_LARGEST = 0.3  # a single tree's learning rate


@dataclass(frozen=True)
class GreedyTree:
    """A greedy tree laid into a complete one.

    Attributes
    ----------
    feature : ndarray of shape (N,), int64
        Breadth first; -1 below the tree's leaves, where nothing is split.
    threshold : ndarray of shape (N,), float32
        Splits float32 values as the tree does; NaN where nothing is split.
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
    """Grow a random forest: bootstrapped rows, a few random features a split.

    Parameters
    ----------
    x : ndarray of shape (n, F), float32
    y : ndarray of shape (n,)
        Class codes or values.
    weight : ndarray of shape (n,)
        Rows of weight 0 take no part.
    columns : ndarray of shape (E, K)
        Features that each of the E trees may test.
    depth : int
        Splits on every path.
    n_classes : int
        0 for regression.
    seed : int
        Draws rows and features.
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
            min_samples_leaf=MIN_SAMPLES_LEAF,
            max_features="sqrt" if n_classes else 1 / 3,
            random_state=random.randint(2**31),
        ).fit(x[np.ix_(drawn, own)], y[drawn], sample_weight=weight[drawn])
        feature, threshold, leaf = lay_out(fitted.tree_, depth)
        mean = fitted.tree_.value[leaf, 0]  # (L, classes among the drawn rows)
        if n_classes:
            seen, mean = mean, np.zeros((len(leaf), n_classes))
            mean[:, fitted.classes_] = seen
        size = fitted.tree_.weighted_n_node_samples[leaf, None]
        value = (size * mean + PRIOR * overall) / (size + PRIOR)
        if n_classes:
            value = _logits(value)
        trees.append(GreedyTree(_in_table(feature, own), threshold, value))
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
    """Boost trees, each a Newton step on the residuals of those before it.

    Parameters as for `grow_forest`. The learning rates of all trees together are
    larger for more rows, so that few rows are not overfitted.

    Source: Friedman, "Stochastic gradient boosting", 2002,
    doi:10.1016/S0167-9473(01)00065-2.
    """
    random = np.random.RandomState(seed)
    rows = np.flatnonzero(weight > 0)
    x, weight = x[rows], weight[rows]
    target = np.eye(n_classes)[y[rows]] if n_classes else y[rows, None]
    base = weight @ target / weight.sum()
    if n_classes:
        base = _logits(np.clip(base, 1e-3, None)[None])[0]
    if n_classes == 2:
        target = target[:, 1:]
    n_trees = len(columns)
    total = min(BOOST_MOST, BOOST_TOTAL * np.sqrt(len(rows) / BOOST_UNIT_ROWS))
    learning_rate = min(BOOST_LARGEST, total / n_trees)
    n_drawn = min(MOST_ROWS, max(1, round(BOOST_ROWS * len(rows))))
    output = np.tile(base, (len(rows), 1))  # (n, C)
    trees = []
    for own in columns:
        predicted = _probabilities(output) if n_classes else output
        residual = target - predicted
        curvature = predicted * (1 - predicted) if n_classes else np.ones_like(output)
        drawn = random.permutation(len(rows))[:n_drawn]
        offered = x[:, own]
        fitted = DecisionTreeRegressor(
            max_depth=depth,
            min_samples_leaf=MIN_SAMPLES_LEAF,
            max_features=BOOST_COLUMNS,
            random_state=random.randint(2**31),
        ).fit(offered[drawn], residual[drawn], sample_weight=weight[drawn])
        node = fitted.apply(offered)
        weights = [weight * residual.T, weight * curvature.T]
        step = _newton_step(node, *weights, n_nodes=fitted.tree_.node_count)
        output += learning_rate * step[node]
        feature, threshold, leaf = lay_out(fitted.tree_, depth)
        # The sum of the steps as a mean over the trees.
        value = base + n_trees * learning_rate * step[leaf]
        trees.append(GreedyTree(_in_table(feature, own), threshold, value))
    return trees


def grow_both(x, y, weight, columns, **settings) -> list[GreedyTree]:
    """Grow half of the trees as a forest, the others boosted."""
    half = len(columns) // 2
    forest = grow_forest(x, y, weight, columns[:half], **settings)
    return forest + grow_boosted(x, y, weight, columns[half:], **settings)


GROWERS = {"both": grow_both, "forest": grow_forest, "boosted": grow_boosted}


def _newton_step(
    node: np.ndarray, residual: np.ndarray, curvature: np.ndarray, *, n_nodes: int
) -> np.ndarray:
    """Newton step (nodes, C) in the nodes (n,) of rows, from weighted sums (C, n)."""
    return np.stack(
        [
            np.bincount(node, r, minlength=n_nodes)
            / (np.bincount(node, c, minlength=n_nodes) + BOOST_RIDGE)
            for r, c in zip(residual, curvature)
        ],
        axis=1,
    )


def _in_table(feature: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Features by their place in the table, from their place among the columns."""
    return np.where(feature >= 0, columns[feature], -1)


def _logits(probability: np.ndarray) -> np.ndarray:
    """Logits (m, C), one for two classes, of class probabilities (m, n_classes)."""
    log_p = np.log(np.maximum(probability, SMALLEST_PROBABILITY))
    if probability.shape[1] == 2:
        return log_p[:, 1:] - log_p[:, :1]
    return log_p - log_p.mean(1, keepdims=True)


def _probabilities(logits: np.ndarray) -> np.ndarray:
    """Class probabilities (n, C) of logits (n, C); of the second class where C is 1."""
    if logits.shape[1] == 1:
        return 1 / (1 + np.exp(-logits))
    return softmax(logits)
