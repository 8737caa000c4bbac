import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_moons
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.trees.make import from_sklearn, make_table, make_target, make_tree
from treelab.trees.pruning import cost_complexity_path

SEEDS = st.integers(0, 2**32 - 1)


def steps(alphas, impurities):
    """The path as a function: the impurity after each distinct alpha."""
    last = np.append(np.diff(alphas) > 1e-9 * max(alphas[-1], 1e-300), True)
    return np.array(alphas)[last], np.array(impurities)[last]


@pytest.mark.parametrize(
    ("load", "grow"),
    [
        (load_breast_cancer, DecisionTreeClassifier),
        (load_wine, DecisionTreeClassifier),
        (load_diabetes, DecisionTreeRegressor),
        (
            lambda return_X_y: make_moons(500, noise=0.4, random_state=1),
            DecisionTreeClassifier,
        ),
    ],
)
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
def test_the_path_is_scikit_learns(load, grow, min_samples_leaf):
    X, y = load(return_X_y=True)
    grown = grow(min_samples_leaf=min_samples_leaf, random_state=0).fit(X, y)
    classes = getattr(grown, "classes_", None)
    columns = [f"x{i}" for i in range(X.shape[1])]
    tree = from_sklearn(grown, columns, classes)
    path = cost_complexity_path(tree)
    theirs = grown.cost_complexity_pruning_path(X, y)
    ours = steps(path.alphas, path.impurities)
    expected = steps(theirs.ccp_alphas, theirs.impurities)
    np.testing.assert_allclose(ours[0], expected[0], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(ours[1], expected[1], rtol=1e-7, atol=1e-12)
    for i in np.linspace(0, len(path) - 2, 6).astype(int):
        alpha = (path.alphas[i] + path.alphas[i + 1]) / 2
        pruned = grow(
            min_samples_leaf=min_samples_leaf, random_state=0, ccp_alpha=alpha
        ).fit(X, y)
        small = path[np.searchsorted(path.alphas, alpha, side="right") - 1]
        assert small.n_leaves == pruned.get_n_leaves() == path.n_leaves[i]
        # scikit-learn reads float32, so a row may sit on the other side of a threshold.
        X32 = X.astype(np.float32).astype(float)
        np.testing.assert_array_equal(small.predict(X32), pruned.predict(X))


def best_by_search(tree, alpha):
    """The least cost of any pruning of the tree, by asking both ways at each node."""
    risk = tree.n_rows / tree.n_rows[0] * tree.impurity

    def best(node):
        cut = risk[node] + alpha
        if tree.is_leaf[node]:
            return cut
        return min(cut, best(tree.left[node]) + best(tree.right[node]))

    return best(0)


@settings(max_examples=40)
@given(seed=SEEDS, n_leaves=st.integers(1, 30), n_classes=st.sampled_from([0, 3]))
def test_each_subtree_is_the_minimal_one_at_its_alpha(seed, n_leaves, n_classes):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, n_classes=n_classes, oblique=0.2)
    table = make_table(rng, 50)
    tree = tree.with_rows(table, make_target(rng, tree, len(table)))
    path = cost_complexity_path(tree)
    assert (np.diff(path.alphas) >= 0).all()
    assert (np.diff(path.n_leaves) < 0).all()
    assert path.n_leaves[-1] == path[-1].n_leaves == 1 or n_leaves == 1
    assert path[0] is tree
    for i in range(len(path)):
        small = path[i]
        risk = small.n_rows / small.n_rows[0] * small.impurity
        assert small.n_leaves == path.n_leaves[i]
        np.testing.assert_allclose(
            risk[small.is_leaf].sum(), path.impurities[i], atol=1e-12
        )
        if i:
            cost = path.impurities[i] + path.alphas[i] * path.n_leaves[i]
            assert cost <= best_by_search(tree, path.alphas[i]) + 1e-12


def test_each_subtree_is_inside_the_one_before():
    rng = np.random.default_rng(5)
    tree = make_tree(rng, 25)
    table = make_table(rng, 100)
    tree = tree.with_rows(table, make_target(rng, tree, 100))
    path = cost_complexity_path(tree)
    split = ~tree.is_leaf
    assert (path.step[split] <= path.step[np.maximum(tree.parent, 0)][split]).all()
    assert [tree.n_leaves for tree in path] == path.n_leaves.tolist()


def test_a_pruned_node_answers_with_its_own_value():
    rng = np.random.default_rng(1)
    tree = make_tree(rng, 12, n_classes=0, linear=True)
    table = make_table(rng, 80)
    y = make_target(rng, tree, 80)
    tree = tree.with_rows(table, y)
    stump = cost_complexity_path(tree)[-1]
    np.testing.assert_allclose(stump.predict(table), np.full(80, y.mean()))


def test_a_tree_without_rows_has_no_path():
    tree = make_tree(np.random.default_rng(1), 12)
    with pytest.raises(ValueError, match="with_rows"):
        cost_complexity_path(tree)
