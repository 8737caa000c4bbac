"""Tables that tell nothing of the target: trees say so, and split nothing."""

import numpy as np
import pandas as pd
import pytest

from treelab.learners.cart.estimators import CartClassifier, CartRegressor
from treelab.learners.common.tuned_tree import NO_SPLIT, chosen_size
from treelab.learners.gradtree.estimators import GradTreeRegressor

LEARNERS = {
    "cart": CartRegressor(random_state=0),
    "restarts": CartRegressor(n_restarts=4, random_state=0),
    "gradtree": GradTreeRegressor(n_steps=3, n_restarts=3, random_state=0),
}


def noise(seed=0, n_rows=120):
    """Numbers and a category that the target does not hang on."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4))).add_prefix("x")
    X["region"] = rng.choice(["north", "south", "west"], n_rows)
    return X, rng


@pytest.mark.parametrize("learner", LEARNERS)
def test_where_no_split_scores_higher_the_tree_is_one_leaf_and_says_so(learner):
    X, rng = noise()
    y = 7 + rng.normal(size=len(X))
    model = LEARNERS[learner].fit(X, y)
    assert model.tree_.n_leaves == 1
    assert NO_SPLIT in model.tree_.notes
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert len(model.path_.trees) > 1  # larger ones are there to be looked at
    assert NO_SPLIT not in model.path_.trees[-1].notes
    assert model.path_.scores["score"].max() == pytest.approx(0)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_split_that_tells_is_kept(learner):
    X, rng = noise()
    y = 2.0 * (X["x0"] > 0) + rng.normal(size=len(X))
    model = LEARNERS[learner].fit(X, y)
    assert model.tree_.n_leaves >= 2
    assert NO_SPLIT not in model.tree_.notes
    assert model.path_.trees[0].n_leaves == 1  # the root is on the path, at 0
    assert model.path_.scores["score"][0] == pytest.approx(0)


def test_counts_of_noise_have_one_rate():
    X, rng = noise(seed=1)
    y = rng.poisson(0.5, len(X))
    model = CartRegressor(loss="poisson", random_state=0).fit(X, y)
    assert model.tree_.n_leaves == 1
    np.testing.assert_allclose(model.predict(X), y.mean())


def test_classes_of_noise_are_split_only_where_macro_f1_is_higher():
    X, rng = noise(seed=2)
    y = rng.choice(["no", "yes"], len(X), p=[0.9, 0.1])
    model = CartClassifier(random_state=0).fit(X, y)
    scores = model.path_.scores["score"]
    assert (model.tree_.n_leaves == 1) == (scores.idxmax() == 0)


def test_one_leaf_is_chosen_only_where_nothing_scores_higher():
    folds = np.random.default_rng(0).normal(size=20) * 1e-3
    one, two, more = np.zeros(20), folds - folds.mean(), folds - folds.mean() + 0.1
    assert chosen_size(np.stack([one, two - 0.01, two]))[0] == 0
    assert chosen_size(np.stack([one, two - 0.01, two + 0.001]))[0] == 2
    assert chosen_size(np.stack([one, more, more[::-1] + 1e-6]))[0] == 1
