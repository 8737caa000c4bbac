"""Cross-validated sizes, against building and scoring each tree."""

import numpy as np
import pandas as pd
import pytest

from tests.trees.pruning.sums import sums_at_sizes
from treelab import CartClassifier, CartRegressor
from treelab.evaluation.metrics import scores
from treelab.evaluation.pruning import pooled_scores, pruned_scores
from treelab.trees.pruning import (
    cost_complexity_path,
    path_of_sizes,
    prune_to_size,
    size_grid,
    steps_at,
    unscored_path,
)


@pytest.fixture(scope="module", params=["multiclass", "regression"])
def grown(request):
    """A task, a deep tree of some rows, and other rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = X["a"] + X["b"] ** 2 + rng.normal(size=300)
    kind = CartRegressor
    if request.param == "multiclass":
        kind, y = CartClassifier, pd.Series(np.digitize(y, [0.3, 1.5]))
    tree = kind(random_state=0).fit(X[:200], y[:200]).tree_
    return request.param, tree, X[200:], y[200:]


@pytest.mark.parametrize("largest", [2, 3, 16, 17, 40, 1000])
def test_sizes_ascend_from_the_root_to_the_largest(largest):
    sizes = size_grid(largest)
    assert sizes[-1] == largest
    assert (np.diff(sizes) > 0).all()
    assert {*range(1, min(largest, 16) + 1)} <= {*sizes.tolist()}
    assert len(sizes) <= 55


@pytest.mark.parametrize("n_leaves", [1, 2, 5, 9, 20, 10_000])
def test_a_pruned_tree_is_the_largest_of_the_path_that_is_small_enough(grown, n_leaves):
    _, tree, _, _ = grown
    small = [t for t in cost_complexity_path(tree) if t.n_leaves <= n_leaves]
    pruned = prune_to_size(tree, n_leaves)
    assert pruned.n_leaves == max(t.n_leaves for t in small)
    assert pruned.impurity[0] == tree.impurity[0]


def test_pooled_scores_are_those_of_the_pooled_predictions(grown):
    task, tree, X, y = grown
    sizes = size_grid(tree.n_leaves + 5)
    fold = np.arange(len(y)) % 4
    rows = [fold == k for k in range(4)]
    sums = np.stack([sums_at_sizes(tree, X[held], y[held], sizes) for held in rows])
    fold_scores = pooled_scores(sums, task)
    for size, own in zip(sizes, fold_scores, strict=True):
        predicted = prune_to_size(tree, int(size)).predict(X)
        if task == "regression":  # against the mean of the training rows
            around = np.sum((y - tree.value[0, 0]) ** 2)
            whole = 1 - np.sum((y - predicted) ** 2) / around
        else:
            whole = scores(task, y, predicted)["macro_f1"]
            without = [
                scores(task, y[~held], predicted[~held])["macro_f1"] for held in rows
            ]
            jackknife = np.sqrt(3 / 4 * np.sum((without - np.mean(without)) ** 2))
            assert own.std(ddof=1) / 2 == pytest.approx(jackknife)
        assert own.mean() == pytest.approx(whole)


def test_one_fold_scores_as_its_own_rows_do(grown):
    task, tree, X, y = grown
    sizes = size_grid(tree.n_leaves)
    (score,) = pooled_scores(sums_at_sizes(tree, X, y, sizes)[None], task).T
    path = cost_complexity_path(tree)
    if task == "multiclass":
        alone = pruned_scores(path, X, y)[steps_at(path, sizes)]
        assert score.tolist() == pytest.approx(alone.tolist())
    assert (score <= 1).all()


def test_of_equally_large_trees_the_best_stays_and_the_chosen_one_always(grown):
    _, tree, _, _ = grown
    trees = [prune_to_size(tree, n) for n in (2, 4, 4, 8, 4)]
    sizes, score = np.array([2, 4, 5, 8, 9]), np.array([0.5, 0.6, 0.8, 0.9, 0.7])
    path = path_of_sizes(trees, sizes, score, np.zeros(5), chosen=3)
    assert path.tree is trees[3]
    assert path.scores["n_leaves"].tolist() == [2, 5, 8]
    path = path_of_sizes(trees, sizes, score, np.zeros(5), chosen=4)
    assert path.tree is trees[4]
    assert path.scores["score"].tolist() == [0.5, 0.7, 0.9]


@pytest.mark.parametrize("most", [2, 7, 1000])
def test_an_unscored_path_ends_with_the_tree_itself(grown, most):
    _, tree, _, _ = grown
    path = unscored_path(tree, most)
    assert path.tree is path.trees[-1] is tree
    assert path.scores["score"].isna().all()
    for pruned in path.trees[:-1]:
        assert pruned.n_leaves <= most
        own = prune_to_size(tree, pruned.n_leaves)
        assert own.value.tolist() == pruned.value.tolist()
