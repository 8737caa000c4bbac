import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tests.slow_params import slow_after
from treelab.learners.gradtree.estimators import GradTreeClassifier
from treelab.trees.adapters import from_sklearn
from treelab.trees.tree import midpoint, with_midpoint_thresholds

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers)
def test_a_midpoint_separates_the_two_numbers(one, other):
    low, high = sorted((one, other))
    if low < high:
        assert low <= midpoint(np.array(low), np.array(high)) < high


def table(seed):
    """Numbers in one unit of many digits, and labels that two of them settle."""
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(150, 3))
    return X, (X[:, 0] * X[:, 1] > 1).astype(int) + (X[:, 0] > 2)


@pytest.mark.parametrize("seed", range(3))
def test_centred_thresholds_are_carts(seed):
    X, y = table(seed)
    cart = DecisionTreeClassifier(random_state=0).fit(X, y)
    tree = from_sklearn(cart).with_rows(X, y)
    moved = with_midpoint_thresholds(tree)
    splits = ~tree.is_leaf
    np.testing.assert_allclose(
        moved.threshold[splits], tree.threshold[splits], rtol=1e-6
    )


@pytest.mark.parametrize("seed", slow_after(1, range(3)))
def test_gradtree_is_exported_with_centred_thresholds(seed):
    X, y = table(seed)
    tree = GradTreeClassifier(
        max_depth=3, n_restarts=3, n_steps=20, random_state=0
    ).fit(X, y)
    tree = tree.tree_
    reached = np.zeros((tree.n_nodes, len(X)), dtype=bool)
    for row, path in enumerate(tree.decision_path(X)):
        reached[np.flatnonzero(path), row] = True
    for node in np.flatnonzero(~tree.is_leaf):
        x = X[reached[node], tree.feature[node]]
        left = x <= tree.threshold[node]
        assert tree.threshold[node] == midpoint(x[left].max(), x[~left].min())
