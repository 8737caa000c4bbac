"""Hard trees send rows where scikit-learn, or a plain walk, sends them."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from treelab.learners.gradtree.hard_tree import LEAF, HardTree


def table(seed, n_rows=200):
    """Rows with values that float64 thresholds may not split as float32 ones do."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4)).round(rng.integers(1, 4)).astype(np.float32)
    return x, rng.integers(3, size=n_rows)


def walk(tree: HardTree, row: np.ndarray) -> int:
    """The leaf that one row reaches, by plain if and else."""
    node = 0
    while tree.left[node] != LEAF:
        holds = row[tree.feature[node]] <= tree.threshold[node]
        node = tree.left[node] if holds else tree.right[node]
    return node


@pytest.mark.parametrize("seed", range(5))
def test_rows_reach_the_leaf_of_scikit_learns_tree(seed):
    x, y = table(seed)
    grown = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(x, y)
    tree = HardTree.of_sklearn(grown.tree_)
    np.testing.assert_array_equal(tree.apply(x), grown.apply(x))
    assert tree.n_leaves == len(tree.leaves) == grown.get_n_leaves()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_leaves", [2, 3, 7, 20, 99])
def test_the_first_splits_are_scikit_learns_tree_with_that_many_leaves(seed, n_leaves):
    x, y = table(seed)
    grown = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(x, y)
    smaller = DecisionTreeClassifier(
        max_leaf_nodes=min(n_leaves, 30), random_state=0
    ).fit(x, y)
    first, splits = HardTree.of_sklearn(grown.tree_).first(n_leaves)
    expected = HardTree.of_sklearn(smaller.tree_)
    assert first.n_leaves == expected.n_leaves == len(splits) + 1
    # Numbers of nodes may differ; which rows lie together may not.
    pairs = set(zip(first.apply(x).tolist(), expected.apply(x).tolist()))
    assert len(pairs) == first.n_leaves


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_complete_tree_brings_rows_where_a_walk_does(depth):
    rng = np.random.default_rng(depth)
    n_splits = 2**depth - 1
    tree = HardTree.complete(rng.integers(4, size=n_splits), rng.normal(size=n_splits))
    x, _ = table(depth)
    assert tree.n_leaves == n_splits + 1
    assert tree.apply(x).tolist() == [walk(tree, row) for row in x]


@pytest.mark.parametrize("seed", range(3))
def test_the_path_of_a_leaf_names_the_splits_that_its_rows_pass(seed):
    x, y = table(seed)
    grown = DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(x, y)
    tree = HardTree.of_sklearn(grown.tree_)
    holds = x[:, tree.feature[tree.splits]] <= tree.threshold[tree.splits]
    for leaf, (left, right) in zip(tree.leaves, tree.paths()):
        here = holds[:, left].all(1) & ~holds[:, right].any(1)
        np.testing.assert_array_equal(here, tree.apply(x) == leaf)


def test_other_splits_leave_the_shape_and_the_first_tree_as_they_were():
    x, y = table(0)
    grown = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(x, y)
    tree = HardTree.of_sklearn(grown.tree_)
    before = tree.threshold.copy()
    other = tree.with_splits(np.arange(5) % 4, np.linspace(-1, 1, 5))
    assert other.feature[other.splits].tolist() == [0, 1, 2, 3, 0]
    np.testing.assert_allclose(other.threshold[other.splits], np.linspace(-1, 1, 5))
    assert (other.left == tree.left).all()
    np.testing.assert_array_equal(tree.threshold, before)
    assert other.apply(x).tolist() == [walk(other, row) for row in x]


def test_a_tree_of_one_leaf_takes_every_row():
    x, _ = table(0)
    grown = DecisionTreeClassifier().fit(x, np.zeros(len(x)))
    tree = HardTree.of_sklearn(grown.tree_)
    assert (tree.apply(x) == 0).all()
    assert tree.paths().shape == (1, 2, 0)


@pytest.mark.parametrize("depth", [2, 4, 6])
def test_no_row_takes_a_branch_that_none_of_the_rows_seen_takes(depth):
    rng = np.random.default_rng(depth)
    n_splits = 2**depth - 1
    tree = HardTree.complete(rng.integers(4, size=n_splits), rng.normal(size=n_splits))
    x, _ = table(depth, n_rows=2_000)
    seen = x[:30]
    closed = tree.without_empty_branches(tree.apply(seen))
    np.testing.assert_array_equal(closed.apply(seen), tree.apply(seen))
    reached = set(tree.apply(seen))
    assert set(tree.apply(x)) > reached  # there are empty branches
    assert set(closed.apply(x)) == reached
