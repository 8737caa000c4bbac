"""Origin: what it counts as changed, and what it says."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.learners.common.origin import (
    STARTS,
    TOLERANCE,
    Origin,
    changed_splits,
    changed_splits_of_trees,
    feature_spread,
    with_origin,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature
from treelab.trees.pruning import cut_at
from treelab.trees.tree import Tree

SPREAD = np.array([2.0, 10.0, 0.5])
FEATURES = tuple(Feature(name, fill=0.0) for name in "abc")


def random_tree(rng, depth: int, *, oblique: bool = False) -> Tree:
    """A complete tree with random splits."""
    n = 2**depth - 1
    return Tree.complete(
        FEATURES,
        None if oblique else rng.integers(3, size=n),
        rng.normal(size=n),
        np.ones(n, bool),
        rng.normal(size=(n + 1, 1)),
        weights=rng.normal(size=(n, 3)) if oblique else None,
    )


def changed_threshold(tree: Tree, node: int, by: float) -> Tree:
    """The tree with one threshold moved."""
    threshold = tree.threshold.copy()
    threshold[node] += by
    return replace(tree, threshold=threshold)


@pytest.mark.parametrize("oblique", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_equal_trees_have_no_changed_split(seed, oblique):
    tree = random_tree(np.random.default_rng(seed), 3, oblique=oblique)
    assert changed_splits(tree, tree, SPREAD) == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_threshold_counts_beyond_a_tenth_of_the_spread(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3)
    node = int(rng.integers(tree.n_splits))
    allowed = TOLERANCE * SPREAD[tree.feature[node]]
    for sign in (-1, 1):
        near = changed_threshold(tree, node, sign * 0.99 * allowed)
        far = changed_threshold(tree, node, sign * 1.01 * allowed)
        assert changed_splits(tree, near, SPREAD) == 0
        assert changed_splits(tree, far, SPREAD) == 1


def test_the_side_of_missing_values_counts_where_rows_have_any():
    tree = random_tree(np.random.default_rng(0), 2)
    other = replace(tree, missing_left=~tree.missing_left)
    assert changed_splits(tree, other, SPREAD) == 0
    column = tree.features[tree.feature[0]].column
    rows = pd.DataFrame({name: [0.0, 1.0] for name in "abc"})
    rows.loc[0, column] = np.nan
    start = tree.with_rows(rows, np.zeros(2))
    assert (
        changed_splits(start, other, SPREAD) == (tree.feature == tree.feature[0]).sum()
    )


def test_another_feature_counts_whatever_its_threshold():
    tree = random_tree(np.random.default_rng(0), 2)
    feature = tree.feature.copy()
    feature[1] = (feature[1] + 1) % 3
    assert changed_splits(tree, replace(tree, feature=feature), SPREAD) == 1


def test_a_weight_of_an_oblique_split_counts_beyond_a_tenth_of_the_largest():
    tree = random_tree(np.random.default_rng(1), 2, oblique=True)
    assert tree.weights is not None
    scaled = tree.weights[0] * SPREAD
    smallest, largest = np.abs(scaled).argmin(), np.abs(scaled).max()
    for fraction, n in ((0.05, 0), (0.15, 1)):
        weights = tree.weights.copy()
        weights[0, smallest] += fraction * largest / SPREAD[smallest]
        assert changed_splits(tree, replace(tree, weights=weights), SPREAD) == n
    doubled = replace(tree, weights=2 * tree.weights, threshold=2 * tree.threshold)
    assert changed_splits(tree, doubled, SPREAD) == 0


def test_a_pruned_branch_counts_nothing_and_a_grown_one_each_of_its_splits():
    tree = random_tree(np.random.default_rng(2), 3)
    small = cut_at(tree, np.arange(tree.n_nodes) == 1)
    assert changed_splits(tree, small, SPREAD) == 0
    assert changed_splits(small, tree, SPREAD) == 3
    leaf = cut_at(tree, np.arange(tree.n_nodes) == 0)
    assert changed_splits(leaf, tree, SPREAD) == tree.n_splits == 7
    assert changed_splits(tree, leaf, SPREAD) == 0


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (
            Origin("greedy", True, 14, 9),
            "Began as a greedy tree; training changed 9 of 14 splits.",
        ),
        (
            Origin("random", True, 1, 1),
            "Began as random splits; training changed 1 of 1 split.",
        ),
        (
            Origin("both", True, 7750, 3087),
            "Began as a random forest's and boosted trees; training changed 3,087 of "
            "7,750 splits.",
        ),
        (
            Origin("greedy", True, 3, 0),
            "Equals its start, a greedy tree: training changed none of 3 splits.",
        ),
        (
            Origin("clusters", True, 0, 0),
            "Began as clusters of the rows; training left no split.",
        ),
        (
            Origin("greedy", False, 3, 0),
            "Grown as a greedy tree, not trained by gradient descent.",
        ),
        (
            Origin("search", False, 3, 0),
            "Found by an exhaustive search, not trained by gradient descent.",
        ),
    ],
)
def test_the_headline_says_how_it_began_and_what_changed(origin, words):
    assert origin.headline == str(origin) == words


def test_later_steps_and_held_out_rows_are_said_after_the_headline():
    origin = Origin("random", True, 4, 2, ("polish", "pruning"), "a fifth of the rows")
    assert str(origin) == (
        f"{origin.headline} After training: polish and pruning. Selected on a "
        "fifth of the rows."
    )


@pytest.mark.parametrize("start", STARTS)
def test_a_stored_origin_comes_back(start):
    origin = Origin(start, True, 4, 2, ("polish",), "three folds")
    assert Origin.from_dict(origin.to_dict()) == origin


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("n_changed", [0, 2])
def test_only_a_trained_tree_can_equal_its_start(trained, n_changed):
    origin = Origin("greedy", trained, 2, n_changed)
    assert origin.equals_start == (trained and n_changed == 0)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="start must be one of"):
        Origin("oak", True, 1, 1)
    with pytest.raises(ValueError, match="n_changed must be from 0 to n_splits=3"):
        Origin("greedy", True, 3, 4)


def test_the_origin_is_the_first_note():
    tree = replace(random_tree(np.random.default_rng(0), 1), notes=("Second.",))
    origin = Origin("greedy", True, 1, 1)
    assert with_origin(tree, origin).notes == (str(origin), "Second.")


def test_spread_is_of_known_values():
    matrix = np.array([[1.0, np.nan, 1.0], [3.0, np.nan, 1.0], [np.nan, np.nan, 1.0]])
    assert feature_spread(matrix).tolist() == [1.0, 0.0, 0.0]


def test_the_splits_of_complete_trees_are_compared_place_by_place():
    def trees(feature, threshold):
        shape = np.shape(feature)
        return WeightedTrees(
            FEATURES,
            feature,
            threshold,
            np.zeros(shape, dtype=bool),
            np.zeros((len(feature), shape[1] + 1, 1)),
            np.zeros((len(feature), shape[1] + 1)),
        )

    start = trees([[0, 1, 0], [1, 1, 1]], [[0.0, 1.0, np.inf], [0.0, 0.0, 0.0]])
    end = trees([[0, 1, 0], [1, 0, 1]], [[0.05, 1.5, np.inf], [0.0, 0.0, -0.2]])
    # One threshold moved by half a standard deviation, one by a fifth, one feature.
    assert changed_splits_of_trees(start, end, np.ones(3)) == 3
    assert changed_splits_of_trees(start, start, np.ones(3)) == 0
