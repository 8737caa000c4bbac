import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("pystreed")

from tests.learners.drawn_rows import of_equal_weights
from treelab import OptimalTreeClassifier, OptimalTreeRegressor
from treelab.data.encoding import candidate_thresholds


@pytest.mark.slow
@parametrize_with_checks(
    [
        OptimalTreeClassifier(max_depth=2, n_thresholds=4, min_samples_leaf=10),
        OptimalTreeRegressor(max_depth=2, n_thresholds=8),
    ],
    expected_failed_checks=of_equal_weights,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def fewest_errors(right: np.ndarray, y: np.ndarray, depth: int) -> int:
    """Training errors of the best tree over yes/no columns, by trying every tree."""
    counts = np.bincount(y) if len(y) else np.zeros(1)
    best = len(y) - int(counts.max())
    if depth == 0 or best == 0:
        return best
    for column in right.T:
        left = column == 0
        if 0 < left.sum() < len(y):
            parts = [(right[side], y[side]) for side in (left, ~left)]
            best = min(best, sum(fewest_errors(*part, depth - 1) for part in parts))
    return best


@pytest.mark.parametrize(("seed", "depth"), [*itertools.product(range(4), (1, 2))])
def test_no_tree_of_the_depth_has_fewer_training_errors(seed, depth):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(1)
    y = rng.integers(0, 3, 60)
    model = OptimalTreeClassifier(max_depth=depth, n_thresholds=6).fit(X, y)
    candidates = candidate_thresholds(X, 6)
    assert model.proven_
    assert "Proven best" in model.tree_.notes[1]
    assert (model.predict(X) != y).sum() == fewest_errors(candidates.right(X), y, depth)


def test_few_values_lose_no_threshold():
    column = np.array([3.0, 1.0, 2.0, 2.0, 1.0])
    candidates = candidate_thresholds(column[:, None], 5)
    assert candidates.threshold.tolist() == [1.5, 2.5]
    assert candidates.right(column[:, None]).tolist() == [
        [1, 1],
        [0, 0],
        [1, 0],
        [1, 0],
        [0, 0],
    ]


def test_it_is_at_least_as_good_on_training_rows_as_greedy_over_the_same_thresholds():
    X, y = load_wine(return_X_y=True)
    right = candidate_thresholds(X, 16).right(X)
    greedy = DecisionTreeClassifier(max_depth=2, random_state=0).fit(right, y)
    assert OptimalTreeClassifier(max_depth=2).fit(X, y).score(X, y) >= greedy.score(
        right, y
    )
    X, y = load_diabetes(return_X_y=True)
    right = candidate_thresholds(X, 16).right(X)
    greedy = DecisionTreeRegressor(max_depth=2, random_state=0).fit(right, y)
    assert OptimalTreeRegressor(max_depth=2).fit(X, y).score(X, y) >= greedy.score(
        right, y
    )


def test_xor_is_found_at_depth_two():
    rng = np.random.default_rng(0)
    X = rng.random((300, 5))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    assert (
        OptimalTreeClassifier(max_depth=2, n_thresholds=63).fit(X, y).score(X, y) > 0.97
    )


def test_leaves_and_rows_a_leaf_are_limited():
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(
        max_depth=3, max_leaf_nodes=4, min_samples_leaf=20
    ).fit(X, y)
    assert model.tree_.n_leaves <= 4
    assert model.tree_.n_rows[model.tree_.is_leaf].min() >= 20
    proven = "depth 3 with at most 4 leaves and at least 20 rows in a leaf over"
    assert proven in model.tree_.notes[1]


def test_fewer_rows_than_a_leaf_must_hold_are_one_leaf_as_in_scikit_learn():
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=10**12).fit(X, y)
    assert model.tree_.n_leaves == 1
    assert "at least 178 rows in a leaf" in model.tree_.notes[1]


def test_more_time_than_the_search_can_count_is_no_end_of_the_process():
    X, y = load_wine(return_X_y=True)
    assert OptimalTreeClassifier(max_depth=1, time_limit=1e300).fit(X, y).proven_


@pytest.mark.parametrize("n_levels", [2, 20])
def test_what_is_proven_of_categories_of_few_rows_is_said(n_levels):
    level = np.random.default_rng(0).integers(0, n_levels, 100)
    frame = pd.DataFrame({"level": level.astype(str)})
    model = OptimalTreeClassifier(max_depth=1).fit(frame, level % 3 == 0)
    assert ("other folds" in model.tree_.notes[1]) == (n_levels == 20)


def test_categories_and_missing_values_are_read():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"size": rng.normal(size=200), "color": rng.choice(["red", "green"], 200)}
    )
    frame.loc[::9, "size"] = np.nan
    y = np.where(frame["color"] == "red", "yes", "no")
    model = OptimalTreeClassifier(max_depth=2).fit(frame, y)
    assert model.score(frame, y) == 1.0


@pytest.mark.slow
def test_a_search_that_may_not_end_says_that_nothing_is_proven():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), rng.integers(0, 2, 3000)
    model = OptimalTreeClassifier(max_depth=5, n_thresholds=50, time_limit=1.0).fit(
        X, y
    )
    assert not model.proven_
    assert model.tree_.notes[1].startswith("Best found in 1 seconds")


def test_constant_columns_leave_one_leaf():
    model = OptimalTreeClassifier(max_depth=2).fit(np.ones((20, 2)), [0, 1] * 10)
    assert model.tree_.n_leaves == 1


@pytest.mark.slow
def test_the_path_has_the_best_tree_of_each_depth():
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=3).fit(X, y)
    path = model.path_
    assert path.tree is model.tree_
    assert path.scores["score"].isna().all()
    errors = [
        int((tree.predict(pd.DataFrame(X, columns=model.columns_)) != y).sum())
        for tree in path.trees
    ]
    alone = [
        int((OptimalTreeClassifier(max_depth=d).fit(X, y).predict(X) != y).sum())
        for d in (1, 2, 3)
    ]
    assert errors == alone == sorted(alone, reverse=True)
    assert all(tree.depth <= d for d, tree in enumerate(path.trees, start=1))


def test_it_says_that_it_was_found_by_search():
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert (model.origin_.start, model.origin_.trained) == ("search", False)
    assert model.tree_.notes[0] == str(model.origin_)
    assert "exhaustive search" in str(model)
