"""How far a tree is from the best one of its depth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from treelab import CartClassifier, CartRegressor
from treelab.evaluation.optimality import optimality_gap


def grown(kind, X, y, depth):
    return kind(tune=False, max_depth=depth, random_state=0).fit(X, y).tree_


def test_errors_are_misclassified_rows():
    X, y = load_iris(return_X_y=True, as_frame=True)
    trees = [grown(CartClassifier, X, y, depth) for depth in (1, 2, 3)]
    gap = optimality_gap(trees[1], trees, X, y)
    wrong = [int((tree.predict(X) != y).sum()) for tree in trees]
    assert (gap.depth, gap.error, gap.least_error) == (2, wrong[1], min(wrong[:2]))


@pytest.mark.parametrize(
    ("each", "words"), [(1.0, "3,000 errors"), (0.0001, "0.3 errors")]
)
def test_errors_are_said_by_what_rows_weigh(each, words):
    X, y = pd.DataFrame({"x": np.zeros(6002)}), np.repeat([0, 1], [3002, 3000])
    tree = grown(CartClassifier, X, y, 1)
    gap = optimality_gap(tree, [tree], X, y, np.full(6002, each))
    assert gap.words(True) == f"{words}, the optimal tree {words.split()[0]}"


def test_errors_of_numbers_are_squared():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    trees = [grown(CartRegressor, X, y, depth) for depth in (1, 2)]
    gap = optimality_gap(trees[0], trees, X, y)
    assert gap.error == pytest.approx(np.mean((trees[0].predict(X) - y) ** 2))
    assert gap.least_error == gap.error


def test_a_deeper_tree_has_no_bound():
    X, y = load_iris(return_X_y=True, as_frame=True)
    trees = [grown(CartClassifier, X, y, depth) for depth in (1, 3)]
    assert optimality_gap(trees[1], trees[:1], X, y) is None
    assert optimality_gap(trees[0], [], X, pd.Series(y)) is None
