"""Splits that only one of two trees has."""

from dataclasses import replace

import numpy as np

from tests.evaluation.comparison.trees import trap, xor_tree
from treelab.evaluation.comparison import own_splits


def test_a_tree_has_no_split_of_its_own_beside_itself():
    X, y = trap()
    tree = xor_tree(X, y)
    assert own_splits(tree, tree, X).size == 0


def test_another_threshold_or_column_makes_a_split_another_wherever_it_stands():
    X, y = trap()
    tree = xor_tree(X, y)
    near, far = tree.threshold.copy(), tree.threshold.copy()
    first, *below = np.flatnonzero(~tree.is_leaf)
    near[first] += 1  # which moves fewer than 2% of the rows
    assert own_splits(replace(tree, threshold=near), tree, X).size == 0
    far[first] += 50
    assert own_splits(replace(tree, threshold=far), tree, X).tolist() == [first]
    feature = tree.feature.copy()
    feature[below[0]] = 2
    changed = replace(tree, feature=feature)
    # The other node that tests the column still stands for it.
    assert own_splits(changed, tree, X).tolist() == [below[0]]
    assert own_splits(tree, changed, X).size == 0
