"""How much probabilities are shrunk, and that every learner's can be believed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from tests.slow_params import slow_after
from tests.trees.make import make_tree
from treelab.learners.common.certainty import (
    NOTHING_LEARNED,
    STRENGTHS,
    greedy_size,
    node_at_size,
    with_measured_shrinkage,
)
from treelab.learners.common.folds import Rows
from treelab.learners.common.greedy import encoded_tree
from treelab.learners.registry import LEARNERS, make_estimator
from treelab.trees.constraints import Constraints
from treelab.trees.feature import Feature
from treelab.trees.pruning import unscored_path
from treelab.trees.tree import Tree

QUICK = {
    "cart": {},
    "grande": {"n_estimators": 16, "max_epochs": 5},
    "gradtree": {"n_steps": 10, "n_restarts": 1, "max_leaf_nodes": 8},
    "get": {"n_steps": 20, "n_starts": 2, "max_depth": 3},
    "argmin": {
        "max_epochs": 5,
        "depth": 3,
        "predictor": "leaf",
        "n_restarts": 2,
        "pruning_strength": (0.0, 10.0),
    },
    "optimal": {"max_depth": 2},
}
KEYS = [key for key in QUICK if key in LEARNERS]


@pytest.fixture(scope="module")
def folds_drawn_once():
    """Not here: how far probabilities are shrunk hangs on the draws."""


def noise(seed: int, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that say nothing of three classes, one of them rare."""
    rng = np.random.default_rng(seed)
    columns = {
        "a": rng.normal(size=n_rows),
        "b": rng.normal(size=n_rows),
        "c": rng.choice(list("pqrs"), n_rows),
    }
    labels = rng.choice(["u", "v", "w"], n_rows, p=[0.55, 0.3, 0.15])
    return pd.DataFrame(columns), labels


def steps(seed: int, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that say something of two classes, one of them rare."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "b"])
    chance = np.where(frame["a"] > 1, 0.4, np.where(frame["b"] > 0, 0.15, 0.03))
    return frame, np.where(rng.random(n_rows) < chance, "yes", "no")


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(1, KEYS))
def test_noise_costs_next_to_nothing_over_the_class_frequencies(key):
    X, y = noise(0, 150)
    X_test, y_test = noise(1, 1000)
    model = make_estimator(key, "multiclass", QUICK[key], random_state=0, device="cpu")
    model.fit(X, y)
    prior = [(y == label).mean() for label in model.classes_]
    baseline = log_loss(y_test, np.tile(prior, (len(y_test), 1)))
    assert log_loss(y_test, model.predict_proba(X_test)) < baseline + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(2, KEYS))
def test_weights_choose_the_class_and_probabilities_are_those_of_the_data(key):
    X, y = steps(0, 600)
    X_test, y_test = steps(1, 2000)
    weighted = QUICK[key] | ({} if key == "optimal" else {"class_weight": "balanced"})
    model = make_estimator(key, "binary", weighted, random_state=0, device="cpu")
    model.fit(X, y)
    proba = model.predict_proba(X_test)
    # Balanced weights would bring the mean of the rare class towards a half.
    assert proba[:, 1].mean() == pytest.approx((y_test == "yes").mean(), abs=0.05)
    prior = [(y == label).mean() for label in model.classes_]
    baseline = log_loss(y_test, np.tile(prior, (len(y_test), 1)))
    assert log_loss(y_test, proba) < baseline
    if key != "optimal":
        most = model.classes_[proba.argmax(axis=1)]
        assert (model.predict(X_test) == "yes").sum() > (most == "yes").sum()


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in KEYS if key not in ("grande",)])
def test_a_leaf_predicts_the_class_of_its_weighted_rows_and_what_is_drawn(key):
    X, y = steps(2, 300)
    model = make_estimator(key, "binary", QUICK[key], random_state=0, device="cpu")
    tree = model.fit(X, y).tree_
    proba = model.predict_proba(X)
    assert (proba == tree.value[tree.apply(X)]).all()
    assert (model.predict(X) == tree.predict(X)).all()
    if key != "argmin":  # its leaves are trained
        weighted = tree.class_counts * tree.class_weights
        assert (tree.predicted_class == weighted.argmax(axis=1)).all()
    assert tree.shrinkage in STRENGTHS


def test_ensembles_predict_the_classes_that_their_trained_logits_chose():
    X, y = steps(3, 300)
    settings = QUICK["grande"] | {"class_weight": "balanced"}
    model = make_estimator("grande", "binary", settings, random_state=0).fit(X, y)
    trained = model.ensemble_.decision_function(X)  # calibrated, one logit
    weights = model.ensemble_.class_weights
    odds = np.log(weights[1] / weights[0])
    assert ((trained[:, 0] + odds > 0) == (model.predict(X) == "yes")).all()


@pytest.mark.parametrize("size", [1, 2, 5, 11])
def test_the_first_nodes_are_the_tree_that_is_grown_smaller(size):
    rng = np.random.default_rng(size)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    large = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y).tree_
    X = X.astype(np.float32)
    shape = encoded_tree(large, [Feature(str(j)) for j in range(X.shape[1])], None)
    node = node_at_size(shape, large.apply(X), size)
    assert len(np.unique(node)) == size
    if size > 1:
        small = DecisionTreeClassifier(max_leaf_nodes=size, random_state=0).fit(X, y)
        pairs = set(zip(node.tolist(), small.apply(X).tolist()))
        assert len(pairs) == size


def shrunk(X: pd.DataFrame, y: np.ndarray, tree: Tree) -> Tree:
    """A tree with these rows, its probabilities shrunk as they say."""
    path = unscored_path(tree.with_rows(X, y), 2)
    how = {"task": "binary", "seed": 0, "constraints": Constraints()}
    codes = np.searchsorted(tree.classes, y)
    return with_measured_shrinkage(path, Rows(X, codes), **how).tree


@pytest.mark.parametrize("n_leaves", [2, 16])
def test_noise_is_shrunk_away_and_a_clear_table_is_not(n_leaves):
    settings = {"tune": False, "max_leaf_nodes": n_leaves}
    model = make_estimator("cart", "multiclass", settings, random_state=0)
    X, y = noise(0, 300)
    assert model.fit(X, y).tree_.shrinkage > 100
    assert model.fit(X, (X["a"] > 0).astype(str)).tree_.shrinkage < 1


def test_a_tree_that_says_nothing_of_new_rows_says_so():
    X, y = noise(1, 300)
    for target, is_noise in ((y, True), (X["a"] > 0, False)):
        settings = {"tune": False, "max_leaf_nodes": 8}
        model = make_estimator("cart", "multiclass", settings, random_state=0)
        tree = model.fit(X, target).tree_
        assert (NOTHING_LEARNED in tree.notes) == is_noise
        frequencies = tree.class_counts[0] / tree.class_counts[0].sum()
        assert np.allclose(tree.predict_proba(X), frequencies, atol=0.01) == is_noise


def test_a_tree_that_greedy_trees_do_not_find_is_believed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 6)), columns=list("abcdef"))
    y = np.where((X["a"] > 0) == (X["b"] > 0), "same", "other")
    splits = ([0, 1, 1], [0.0] * 3, [False] * 3)
    value = [[0, 1], [1, 0], [1, 0], [0, 1]]
    tree = Tree.complete(
        [Feature(name) for name in X], *splits, value, classes=("other", "same")
    )
    found = shrunk(X, y, tree)
    assert found.predict_proba(X).max(axis=1).min() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_a_weighted_sum_counts_as_many_splits_as_it_weighs_columns(seed):
    tree = make_tree(np.random.default_rng(seed), 9, oblique=0.5)
    numbers = 0
    for node in np.flatnonzero(~tree.is_leaf):
        own = tree.weights[node]
        numbers += sum(weight != 0 for weight in own) if own.any() else 1
    assert greedy_size(tree) == numbers + 1
    assert greedy_size(make_tree(np.random.default_rng(seed), 9)) == 9


def test_a_table_too_small_for_folds_has_a_strength_of_one():
    X, _ = steps(0, 8)
    y = np.where(np.arange(8) > 3, "yes", "no")
    features = [Feature(name) for name in X]
    value = [[1, 0], [0, 1]]
    tree = Tree.complete(features, [0], [0.0], [False], value, classes=("no", "yes"))
    assert shrunk(X, y, tree).shrinkage == 1.0
