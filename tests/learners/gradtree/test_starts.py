"""Starts: greedy trees laid into complete ones with the best of each column."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from treelab.learners.common.greedy import ColumnRules, Greedy
from treelab.learners.common.objective import ClassObjective, RegressionObjective
from treelab.learners.common.target import TargetScale
from treelab.learners.gradtree.starts import (
    LEAD,
    NEVER,
    NO_GAIN,
    best_thresholds,
    greedy_starts,
    offered_within,
    random_starts,
    with_leaf_values,
)
from treelab.ops.axis_trees import axis_leaves
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature
from treelab.trees.tree import leaf_of

FEATURES = tuple(Feature(f"c{j}") for j in range(6))


def rows(seed=0, *, n_rows=200, n_classes=3):
    """Rows of six features, their target, and its indicators or values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 6)).round(1).astype(np.float32)
    if not n_classes:
        y = x[:, 0] * x[:, 1] + rng.normal(size=n_rows)
        return x, y, y[:, None]
    y = rng.integers(n_classes, size=n_rows)
    return x, y, np.eye(n_classes)[y]


def grown(x, y, n_classes, n_leaves=16, **more):
    """A greedy tree over encoded columns."""
    classes = tuple("abcdef"[:n_classes]) or None
    greedy = Greedy(classes, np.ones(n_classes), 6, 0, **more)
    options = {"min_samples_leaf": 1, "max_leaf_nodes": n_leaves}
    return greedy.grow(x, y, FEATURES, **options)


def leaves_of(starts, x):
    """Leaf (E, n) of each row in complete trees."""
    own = (torch.tensor(array) for array in (starts.logits, starts.threshold))
    return axis_leaves(torch.tensor(x), *own, columns=torch.tensor(starts.columns))


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
    x, _, values = rows(seed, n_rows=40, n_classes=n_classes)
    gain, threshold = best_thresholds(x, values)
    for feature in range(x.shape[1]):
        most, best = slow_best_threshold(x[:, feature], values)
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
def test_a_complete_tree_sends_rows_where_the_greedy_one_does(n_leaves, n_classes):
    x, y, values = rows(n_classes=n_classes)
    trees = [grown(x, y, n_classes, n) for n in (n_leaves, 3)]
    starts = greedy_starts(trees, x, values)
    back = starts.trees(FEATURES, trees[0].classes)
    for tree, laid, read in zip(trees, leaves_of(starts, x), back):
        pairs = set(zip(leaf_of(tree, x).tolist(), laid.tolist()))
        assert len(pairs) == tree.n_leaves
        again = set(zip(leaf_of(read, x).tolist(), laid.tolist()))
        assert len(again) == tree.n_leaves


def test_each_column_stands_at_its_best_threshold_by_what_it_gains():
    x, y, values = rows()
    tree = grown(x, y, 3)
    starts = greedy_starts([tree], x, values)
    gain, best = best_thresholds(x, values)  # at the root all rows count
    own = tree.feature[0]
    others = np.arange(6) != own
    expected = NO_GAIN * (1 - gain / gain.max())
    np.testing.assert_allclose(starts.logits[0, 0, others], expected[others], atol=1e-5)
    np.testing.assert_allclose(starts.threshold[0, 0, others], best[others], atol=1e-6)
    assert starts.logits[0, 0, own] == np.float32(LEAD)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_leaves_begin_near_what_their_rows_say(n_classes):
    x, y, values = rows(n_classes=n_classes)
    objective = RegressionObjective(TargetScale.of(y))
    if n_classes:
        objective = ClassObjective(class_weights=np.ones(n_classes))
    starts = greedy_starts([grown(x, y, n_classes, 4)], x, values)
    starts = with_leaf_values(starts, x, y, np.ones(len(y)), objective)
    leaf = leaves_of(starts, x)[0].numpy()
    for own in np.unique(leaf):
        here, value = leaf == own, starts.leaf_value[0, own]
        if not n_classes:
            assert value[0] == pytest.approx(objective.encode(y)[here].mean(), abs=1e-5)
        elif n_classes == 2:
            assert (value[0] > 0) == (y[here].mean() > 0.5)
        else:
            assert value.argmax() == np.bincount(y[here]).argmax()


@pytest.mark.parametrize("depth", [1, 3])
def test_random_starts_are_drawn_by_glorots_bounds_and_differ(depth):
    drawn = random_starts(4, depth, 6, 2, torch.Generator().manual_seed(0))
    assert drawn.logits.shape == (4, 2**depth - 1, 6)
    assert drawn.leaf_value.shape == (4, 2**depth, 2)
    bound = np.sqrt(6 / (2 ** (2 * depth - 1) + 6))
    assert 0.5 * bound < np.abs(drawn.threshold).max() <= bound
    assert (drawn.logits[0] != drawn.logits[1]).all()


@pytest.mark.parametrize(
    ("asked", "may"),
    [
        ({"allowed": "0: c1; other: c0, c1, c2"}, {0, 1, 2}),
        ({"max_columns": 2}, None),  # each split keeps its own
    ],
)
def test_a_split_is_offered_what_its_constraints_allow(asked, may):
    x, y, values = rows()
    constraints = Constraints.read(asked)
    tree = grown(x, y, 3, 4, constraints=constraints)
    rules = ColumnRules.of(constraints, FEATURES, tree.classes)
    starts = greedy_starts([tree], x, values, offered=[offered_within(rules, tree)])
    at = {0: 0}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        place = at.pop(node)
        open_to = set(starts.columns[0][starts.logits[0, place] > NEVER].tolist())
        own = {int(tree.feature[node])}
        assert own <= open_to
        assert open_to <= ({1} if place == 0 else may) if may else open_to == own
        at |= {tree.left[node]: 2 * place + 1, tree.right[node]: 2 * place + 2}


def test_rows_of_one_class_start_as_one_leaf():
    x, _, values = rows()
    tree = grown(x, np.zeros(len(x), dtype=int), 3, 8)
    starts = greedy_starts([tree], x, values)
    assert len(np.unique(leaves_of(starts, x))) == 1


def test_columns_of_a_sorted_table_are_ranked_by_all_of_its_rows():
    x, *_ = rows(n_rows=500)
    x = x[np.argsort(x[:, 0], kind="stable")]  # the first 256 rows are of one class
    y = (x[:, 0] > np.median(x[:, 0])).astype(int)
    tree = Greedy(("a", "b"), np.ones(2), 1, 0).grow(
        x[:, 1:], y, FEATURES[1:], min_samples_leaf=1
    )
    starts = greedy_starts([tree], x[:, 1:], np.eye(2)[y])
    assert (starts.logits > NO_GAIN).all()
