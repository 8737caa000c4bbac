"""Many greedy trees, and the one of them that is retained."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from treelab import CartClassifier, CartRegressor
from treelab.data.encoding import TableEncoder, to_float32
from treelab.learners.common.greedy import Greedy, decoded_tree
from treelab.learners.common.tuned_tree import Candidate, Restarts, Search, retained


def noisy(n_rows=120, seed=0):
    """Rows of three columns, one of which says nothing, and a number to predict."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(1), columns=list("abc"))
    return X, (X["a"] + (X["b"] > 0) + rng.normal(0, 0.7, n_rows)).to_numpy()


def restarts(task, n_restarts=4):
    """Restarts on the rows, with what they are grown and pruned by."""
    X, y = noisy()
    classes = None
    if task != "regression":
        y, classes = np.digitize(y, [0.5, 1.5]), ("few", "many", "most")
    encoder = TableEncoder("rank", task=task, random_state=0)
    x = to_float32(encoder.fit_transform(X, y))
    even = np.ones(len(classes or (0,)))
    greedy = Greedy(classes, even, None, 0)
    search = Search(greedy, task, even[None], np.arange(2, 9), 1, 0)
    rows = x, x, y, encoder.features_, None
    random = np.random.RandomState(0)
    return Restarts(search, rows, n_restarts, random), search, encoder, X, y


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("n_leaves", [2, 5, 40])
def test_a_pruning_predicts_what_its_own_leaves_do(task, n_leaves):
    grown, search, encoder, X, y = restarts(task)
    for tree in grown.trees(Candidate(4, 2, 0), n_leaves):
        assert tree.n_leaves <= n_leaves
        assert tree.depth <= 4
        leaf = decoded_tree(tree, encoder).apply(X)
        predicted = search.predicted(tree, to_float32(encoder.transform(X)), 0)
        for node in np.unique(leaf):
            here = y[leaf == node]
            expected = here.mean()
            if task == "multiclass":
                expected = np.bincount(here, minlength=3).argmax()
            assert predicted[leaf == node] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_fit_plus_vote_is_retained(seed):
    rng = np.random.default_rng(seed)
    y, found = rng.integers(3, size=50), rng.integers(3, size=(6, 50))
    worth = [
        f1_score(y, own, average="macro")
        + np.mean([(found[:, i] == own[i]).mean() for i in range(50)])
        for own in found
    ]
    assert retained(list(found), y) == np.argmax(worth)
    values = y + rng.normal(size=(6, 50))
    mean = values.mean(0)
    error = [((own - y) ** 2 + (own - mean) ** 2).mean() for own in values]
    assert retained(list(values), y.astype(float)) == np.argmin(error)


def test_of_equals_the_first_stays():
    y = np.array([0, 1, 1])
    assert retained([y, y], y) == 0


@pytest.mark.slow
def test_cart_retains_another_tree_than_that_of_all_rows_where_it_fits_better():
    X, y = noisy(300)
    y, sizes = y > 1, {"random_state": 0, "max_leaf_nodes": 16}
    one = CartClassifier(**sizes).fit(X, y)
    many = CartClassifier(**sizes, n_restarts=8).fit(X, y)
    assert many.best_params_ == one.best_params_
    pairs = list(zip(one.path_.trees, many.path_.trees))
    assert any(str(a.to_dict()) != str(b.to_dict()) for a, b in pairs)
    for tree in many.path_.trees:
        assert tree.n_leaves <= 16
        assert tree.n_rows[0] == len(X)


def test_restarts_without_tuning_are_refused():
    X, y = noisy(40)
    with pytest.raises(ValueError, match="n_restarts=3 needs tune=True"):
        CartRegressor(tune=False, n_restarts=3).fit(X, y)
