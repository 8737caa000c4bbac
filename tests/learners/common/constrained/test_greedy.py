"""The constrained greedy tree is scikit-learn's where nothing is asked of it."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.learners.common.greedy import ColumnRules, encoded_tree, grow_constrained
from treelab.learners.common.tuned_tree import with_node_means
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature
from treelab.trees.tree import leaf_of

FEATURES = tuple(Feature(name) for name in "abcd")


def rows(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    return x, (x[:, 0] + np.sin(3 * x[:, 1]) + rng.normal(size=n) > 0).astype(int)


def grown(x, values, asked=None, weight=None, **limits):
    """A tree whose nodes predict the means of their rows."""
    rules = ColumnRules.of(Constraints.read(asked), FEATURES, None)
    found = grow_constrained(x, values, weight, rules, **limits)
    tree = encoded_tree(found, FEATURES, None, ("y", "z") * (values.shape[1] > 1))
    weight = np.ones(len(x)) if weight is None else weight
    return with_node_means(tree, leaf_of(tree, x), values, weight)


@pytest.mark.parametrize("seed", range(3))
def test_without_constraints_it_is_scikit_learns_tree(seed):
    x, y = rows(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    limits = {"max_leaf_nodes": 12, "max_depth": 5, "min_samples_leaf": 7}
    own = grown(x, np.eye(2)[y], weight=weight, **limits)
    theirs = DecisionTreeClassifier(**limits, random_state=0)
    theirs = theirs.fit(x, y, sample_weight=weight)
    for name in ("feature", "threshold"):
        splits = getattr(theirs.tree_, name)[theirs.tree_.feature >= 0]
        assert np.sort(getattr(own, name)[~own.is_leaf]) == pytest.approx(
            np.sort(splits)
        )
    assert np.abs(own.value[leaf_of(own, x)] - theirs.predict_proba(x)).max() < 1e-9


def test_monotone_is_as_scikit_learn_has_it_until_that_would_clip_a_leaf():
    x, y = rows(0)
    target = x[:, 0] - x[:, 1] + y
    asked = {"monotone": "a: up, b: down"}
    own = grown(x, target[:, None], asked, max_leaf_nodes=6)
    theirs = DecisionTreeRegressor(
        max_leaf_nodes=6, monotonic_cst=[1, -1, 0, 0], random_state=0
    ).fit(x, target)
    predicted = own.value[leaf_of(own, x), 0]
    assert predicted.tolist() == pytest.approx(theirs.predict(x).tolist())


def test_nodes_are_numbered_depth_first():
    x, y = rows(1)
    left = grown(x, np.eye(2)[y], max_leaf_nodes=20).left
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
