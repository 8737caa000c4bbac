"""The constrained greedy tree is scikit-learn's where nothing is asked of it."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.common.greedy import ColumnRules, Limits, grow_constrained
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature

FEATURES = tuple(Feature(name) for name in "abcd")


def rows(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    return x, (x[:, 0] + np.sin(3 * x[:, 1]) + rng.normal(size=n) > 0).astype(int)


def grown(x, values, asked=None, weight=None, classes=None, **limits):
    rules = ColumnRules.of(Constraints.read(asked), FEATURES, classes)
    return grow_constrained(x, values, weight, rules, Limits(**limits))


@pytest.mark.parametrize("seed", range(3))
def test_without_constraints_it_is_scikit_learns_tree(seed):
    x, y = rows(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    limits = {"max_leaf_nodes": 12, "max_depth": 5, "min_samples_leaf": 7}
    own = grown(x, np.eye(2)[y], weight=weight, **limits)
    theirs = DecisionTreeClassifier(**limits, random_state=0)
    theirs = theirs.fit(x, y, sample_weight=weight).tree_
    assert own.feature[own.feature >= 0].tolist() == (
        theirs.feature[theirs.feature >= 0].tolist()
    )
    splits = own.feature >= 0
    assert own.threshold[splits] == pytest.approx(theirs.threshold[splits])
    assert (own.apply(x) == theirs.apply(x)).all()
    assert np.abs(own.impurity - theirs.impurity).max() < 1e-9


def test_monotone_is_as_scikit_learn_has_it_until_that_would_clip_a_leaf():
    x, y = rows(0)
    target = x[:, 0] - x[:, 1] + y
    asked = {"monotone": "a: up, b: down"}
    own = grown(x, target[:, None], asked, max_leaf_nodes=6)
    theirs = DecisionTreeRegressor(
        max_leaf_nodes=6, monotonic_cst=[1, -1, 0, 0], random_state=0
    ).fit(x, target)
    predicted = own.value[own.apply(x), 0, 0]
    assert predicted.tolist() == pytest.approx(theirs.predict(x).tolist())


def test_depth_first_numbers_name_the_same_tree():
    x, y = rows(1)
    own = grown(x, np.eye(2)[y], max_leaf_nodes=20)
    again = own.depth_first()
    assert (own.value[own.apply(x)] == again.value[again.apply(x)]).all()
    left = again.children_left
    assert (left[left >= 0] == np.flatnonzero(left >= 0) + 1).all()


def test_a_column_is_used_where_it_saves_more_than_it_costs():
    x, _ = rows(2)
    target = (2 * x[:, 0] + x[:, 1])[:, None]
    used = {}
    for cost in (0.0, 0.2, 0.9):
        asked = {"column_costs": {"a": cost, "b": cost}}
        tree = grown(x, target, asked, max_leaf_nodes=20)
        used[cost] = {*tree.feature[tree.feature >= 0].tolist()}
    assert {0, 1} <= used[0.0]
    assert 0 in used[0.2]
    assert 1 not in used[0.2]
    assert not used[0.9] & {0, 1}
