"""Starts: greedy trees with the best rivals of each split, and random ones."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.gradtree.starts import (
    GREEDY_LEAD,
    NO_GAIN,
    RIVALS,
    StartRows,
    best_thresholds,
    greedy_start,
    random_start,
)


def start_rows(seed=0, *, n_rows=200, n_classes=3, max_depth=10):
    """Rows of six features; classes, or values where there are none of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 6)).round(1).astype(np.float32)
    if not n_classes:
        y = x[:, 0] * x[:, 1] + rng.normal(size=n_rows)
        return StartRows(x, y, y[:, None], max_depth)
    y = rng.integers(n_classes, size=n_rows)
    return StartRows(x, y, np.eye(n_classes)[y], max_depth)


def squared_error(target):
    """Summed squared distance of the rows (n, C) from their mean."""
    return ((target - target.mean(0)) ** 2).sum()


def slow_best_threshold(x, target):
    """The largest fall of the squared error by one split, and every best threshold."""
    values = np.unique(x)
    gains = {
        (low + high) / 2: squared_error(target)
        - squared_error(target[x <= low])
        - squared_error(target[x > low])
        for low, high in pairwise(values)
    }
    most = max(gains.values(), default=0.0)
    return most, [t for t, gain in gains.items() if np.isclose(gain, most)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_the_best_threshold_of_each_feature_is_found_by_trying_all(seed, n_classes):
    rows = start_rows(seed, n_rows=40, n_classes=n_classes)
    gain, threshold = best_thresholds(rows.x, rows.values)
    for feature in range(rows.x.shape[1]):
        most, best = slow_best_threshold(rows.x[:, feature], rows.values)
        assert gain[feature] == pytest.approx(most)
        assert np.isclose(best, threshold[feature]).any()


def test_a_column_of_one_value_and_a_single_row_gain_nothing():
    x = np.array([[1.0, 2.0], [1.0, 3.0]], np.float32)
    target = np.eye(2)
    assert best_thresholds(x, target)[0].tolist() == [0.0, 1.0]
    gain, threshold = best_thresholds(x[:1], target[:1])
    assert gain.tolist() == [0.0, 0.0]
    assert threshold.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("n_leaves", [2, 5, 16])
def test_the_first_leaves_are_scikit_learns_tree(n_leaves, n_classes):
    rows = start_rows(n_classes=n_classes)
    start = greedy_start(rows, 16, 1, np.random.RandomState(0)).first(n_leaves)
    grower = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    grown = grower(
        max_leaf_nodes=n_leaves,
        max_depth=rows.max_depth,
        random_state=np.random.RandomState(0),
    ).fit(rows.x, rows.y)
    pairs = set(zip(start.tree.apply(rows.x).tolist(), grown.apply(rows.x).tolist()))
    assert len(pairs) == start.tree.n_leaves == grown.get_n_leaves()
    own = start.tree.feature[start.tree.splits]
    assert start.columns[:, 0].tolist() == own.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_the_rivals_of_a_split_are_the_features_that_gain_most(seed):
    rows = start_rows(seed)
    tree_start = greedy_start(rows, 8, 1, np.random.RandomState(0))
    tree = tree_start.tree
    passed = tree.paths()[np.searchsorted(tree.leaves, tree.apply(rows.x))].any(1)
    for place, node in enumerate(tree.splits):
        here = passed[:, place]  # rows that reach the split
        x, target = rows.x[here], rows.values[here]
        gain = np.array([slow_best_threshold(column, target)[0] for column in x.T])
        own, *rivals = tree_start.columns[place].tolist()
        assert own == tree.feature[node]
        assert tree_start.threshold[place, 0] == tree.threshold[node]
        others = np.delete(gain, own)
        np.testing.assert_allclose(gain[rivals], np.sort(others)[::-1][: RIVALS - 1])
        expected = NO_GAIN * (1 - gain[rivals] / gain.max())
        np.testing.assert_allclose(tree_start.logits[place, 1:], expected, atol=1e-4)
        assert tree_start.logits[place, 0] == np.float32(GREEDY_LEAD)


def test_a_greedy_start_keeps_to_the_depth_and_to_the_rows_of_a_leaf():
    rows = start_rows(max_depth=2)
    assert greedy_start(rows, 64, 1, np.random.RandomState(0)).tree.n_leaves == 4
    rows = start_rows()
    tree = greedy_start(rows, 64, 20, np.random.RandomState(0)).tree
    assert np.unique(tree.apply(rows.x), return_counts=True)[1].min() >= 20


@pytest.mark.parametrize("depth", [1, 3])
def test_a_random_start_draws_features_once_and_thresholds_from_their_values(depth):
    rows = start_rows()
    start = random_start(rows, depth, np.random.RandomState(0))
    assert start.kind == "random"
    assert start.columns.shape == (2**depth - 1, rows.x.shape[1])
    for columns, threshold, logits, node in zip(
        start.columns, start.threshold, start.logits, start.tree.splits
    ):
        assert sorted(columns) == list(range(rows.x.shape[1]))
        for column, value in zip(columns, threshold):
            assert value in rows.x[:, column]
        assert start.tree.feature[node] == columns[logits.argmax()]
        assert start.tree.threshold[node] == threshold[logits.argmax()]


def test_rows_of_one_class_start_as_one_leaf():
    rows = start_rows(n_classes=1)
    start = greedy_start(rows, 8, 1, np.random.RandomState(0))
    assert start.tree.n_leaves == 1
    assert start.columns.shape[0] == 0
