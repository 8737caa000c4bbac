"""Several targets at once, and several quantiles of one that never cross."""

from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.tree import DecisionTreeRegressor

import treelab
from treelab.data.encoding import first_component
from treelab.figures.viewer.payload import tree_payload
from treelab.learners.registry import LEARNERS
from treelab.trees.losses import Loss
from treelab.trees.tree import Tree

LEVELS = (0.1, 0.5, 0.9)
QUICK = {
    "cart": partial(treelab.CartRegressor, random_state=0),
    "gradtree": partial(
        treelab.GradTreeRegressor, n_restarts=2, n_steps=10, random_state=0
    ),
    "get": partial(
        treelab.GetRegressor, n_starts=3, n_steps=60, trained_depth=3, random_state=0
    ),
}


def table(n=300, seed=0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two targets of very different size, each with a column of its own."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    X["kind"] = rng.choice(["x", "y", "z"], n)
    large = 1000 * (X["a"] > 0) + 300 * (X["kind"] == "x") + rng.normal(0, 100, n)
    small = 0.001 * (X["b"] > 0.5) + rng.normal(0, 0.0002, n)
    return X, pd.DataFrame({"large": large, "small": small})


def standardised(y: pd.DataFrame) -> np.ndarray:
    return ((y - y.mean()) / y.std(ddof=0)).to_numpy()


@pytest.mark.parametrize("n_leaves", [2, 5, 12])
def test_untuned_cart_is_scikit_learns_tree_of_the_standardised_targets(n_leaves):
    X, y = table()
    X = X[["a", "b"]]
    model = treelab.CartRegressor(
        tune=False, max_leaf_nodes=n_leaves, interval=None, random_state=0
    ).fit(X, y)
    grown = DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0)
    grown.fit(X, standardised(y))
    leaf = grown.apply(X)
    assert model.tree_.n_leaves == n_leaves
    assert len({*zip(leaf, model.tree_.apply(X))}) == n_leaves
    np.testing.assert_allclose(model.predict(X), y.groupby(leaf).transform("mean"))


@pytest.mark.slow
@pytest.mark.parametrize("learner", QUICK)
def test_both_targets_are_learned_whatever_their_size(learner):
    X, y = table()
    model = QUICK[learner]().fit(X, y)
    assert model.predict(X).shape == (300, 2)
    assert model.n_outputs_ == 2
    assert model.tree_.outputs == ("large", "small")
    assert min(r2_score(y, model.predict(X), multioutput="raw_values")) > 0.6
    assert np.isclose(model.score(X, y), r2_score(y, model.predict(X)))
    larger = QUICK[learner]().fit(X, y * [1, 2.0**20])
    np.testing.assert_allclose(larger.predict(X), model.predict(X) * [1, 2.0**20])


def test_targets_of_a_table_are_matched_by_their_names():
    X, y = table()
    turned = y[["small", "large"]]
    model = QUICK["cart"](max_leaf_nodes=9).fit(X, y, X_valid=X, y_valid=y)
    again = QUICK["cart"](max_leaf_nodes=9).fit(X, y, X_valid=X, y_valid=turned)
    assert model.score(X, turned) == model.score(X, y) > 0.7
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cart", "gradtree"])
def test_leaves_hold_the_weighted_means_of_their_rows(learner):
    X, y = table()
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = QUICK[learner]().fit(X, y, sample_weight=weight)
    leaf = model.tree_.apply(X)
    for own in np.unique(leaf):
        mean = np.average(y[leaf == own], axis=0, weights=weight[leaf == own])
        np.testing.assert_allclose(model.tree_.value[own], mean)
    root = np.average(y, axis=0, weights=weight)
    np.testing.assert_allclose(model.tree_.value[0], root)
    assert np.isclose(model.tree_.impurity[0], 1)  # a fraction of each variance


def test_whole_weights_are_repeated_rows():
    X, y = table(100)
    times = np.random.default_rng(1).integers(1, 4, len(X))
    plain = treelab.CartRegressor(tune=False, max_leaf_nodes=6, random_state=0)
    weighted = plain.fit(X[["a", "b"]], y, sample_weight=times).predict(X[["a", "b"]])
    rows = np.repeat(np.arange(100), times)
    repeated = plain.fit(X[["a", "b"]].iloc[rows], y.iloc[rows])
    np.testing.assert_allclose(repeated.predict(X[["a", "b"]]), weighted)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["absolute_error", "huber", "poisson", "quantile"])
@pytest.mark.parametrize("learner", ["cart", "gradtree"])
def test_leaves_hold_the_best_constant_of_each_target(learner, loss):
    X, y = table(150)
    y = y.clip(lower=1e-5)
    model = QUICK[learner](loss=loss).fit(X, y)
    leaf = model.tree_.apply(X)
    rows = leaf == leaf[0]
    for j, name in enumerate(y):
        own = model.tree_.loss.of_output(j)
        best = own.constants(
            np.zeros(rows.sum(), int), y[name].to_numpy()[rows], np.ones(rows.sum()), 1
        )
        np.testing.assert_allclose(model.predict(X)[0, j], best[0], rtol=1e-5)
    assert 0.2 < model.score(X, y) <= 1


@pytest.mark.slow
def test_get_trains_every_loss_on_several_targets():
    X, y = table(150)
    for loss in ("absolute_error", "poisson"):
        model = QUICK["get"](loss=loss).fit(X, y.clip(lower=1e-5))
        assert model.score(X, y.clip(lower=1e-5)) > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("learner", QUICK)
def test_quantiles_of_one_tree_rise_with_their_levels(learner):
    X, y = table()
    model = QUICK[learner](loss="quantile", quantile=LEVELS).fit(X, y["large"])
    predicted = model.predict(X)
    assert model.tree_.outputs == ("quantile 0.1", "quantile 0.5", "quantile 0.9")
    assert (np.diff(predicted, axis=1) >= 0).all()
    assert (np.diff(model.tree_.value, axis=1) >= 0).all()
    each = [
        d2_pinball_score(y["large"], own, alpha=level)
        for level, own in zip(LEVELS, predicted.T)
    ]
    assert np.isclose(model.score(X, y["large"]), np.mean(each))
    assert model.score(X, y["large"]) > 0.4
    np.testing.assert_array_equal(model.predict_interval(X), predicted[:, [0, 2]])
    assert model.tree_.interval_fraction == 0.8
    inside = (y["large"] >= predicted[:, 0]) & (y["large"] <= predicted[:, 2])
    assert 0.7 < inside.mean() < 0.95


def test_quantiles_whose_leaves_stay_as_trained_do_not_cross_either():
    X, y = table(200)
    model = treelab.GradTreeRegressor(
        n_restarts=2,
        random_state=0,
        recipe="paper",
        loss="quantile",
        quantile=(0.4, 0.5, 0.6),
        max_epochs=3,
        max_depth=3,
    )
    assert (np.diff(model.fit(X, y["large"]).predict(X), axis=1) >= 0).all()


@settings(max_examples=50)
@given(
    y=st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    levels=st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5, unique=True).map(
        sorted
    ),
    seed=st.integers(0, 1000),
)
def test_best_constants_of_levels_cost_least_and_never_cross(y, levels, seed):
    y, loss = np.array(y, dtype=float), Loss("quantile", tuple(levels))
    weight = np.random.default_rng(seed).exponential(size=len(y))
    several = np.repeat(y[:, None], len(levels), axis=1)
    group = np.zeros(len(y), dtype=int)
    (found,) = loss.constants(group, several, weight, 1)
    assert (np.diff(found) >= 0).all()
    for level, own in zip(levels, found):
        costs = [
            weight @ np.where(y > c, level * (y - c), (1 - level) * (c - y))
            for c in [own, *y]
        ]
        assert costs[0] <= min(costs) + 1e-9


@pytest.mark.slow
def test_a_tree_of_one_level_in_a_sequence_predicts_that_quantile():
    X, y = table(100)
    one = treelab.CartRegressor(loss="quantile", quantile=[0.9], random_state=0)
    other = treelab.CartRegressor(loss="quantile", quantile=0.9, random_state=0)
    found = one.fit(X, y["large"]).predict(X)
    np.testing.assert_array_equal(found, other.fit(X, y["large"]).predict(X))


def test_what_does_not_apply_is_refused_in_a_sentence():
    X, y = table(60)
    cart = treelab.CartRegressor
    with pytest.raises(ValueError, match="one target, got 2 columns as y"):
        cart(loss="quantile", quantile=LEVELS).fit(X, y)
    with pytest.raises(ValueError, match="quantile must be a number"):
        cart(loss="quantile", quantile=(0.9, 0.1)).fit(X, y["large"])
    with pytest.raises(ValueError, match="finite number > 0"):
        cart(loss="quantile", quantile=(0.0, 0.1)).fit(X, y["large"])
    with pytest.raises(ValueError, match="monotone is an order of one prediction"):
        cart(constraints={"monotone": {"a": "up"}}).fit(X, y)
    with pytest.raises(ValueError, match="function of one target"):
        cart(loss=lambda raw, y: (raw - y) ** 2).fit(X, y)
    with pytest.raises(ValueError, match='leaves="linear" predicts one number'):
        treelab.GetRegressor(leaves="linear").fit(X, y)
    with pytest.raises(ValueError, match="GrandeRegressor predicts one quantile"):
        treelab.GrandeRegressor(loss="quantile", quantile=LEVELS).fit(X, y["large"])
    with pytest.raises(ValueError, match="two columns that are called 'large'"):
        cart().fit(X, y.set_axis(["large", "large"], axis=1))
    with pytest.raises(ValueError, match="as many columns as y, 2, got 1"):
        cart().fit(X, y, X_valid=X, y_valid=y["large"])
    with pytest.raises(ValueError, match="knows no interval; predict one of them"):
        cart().fit(X, y).predict_interval(X)
    missing = y.copy()
    missing.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN, first in row 3"):
        cart().fit(X, missing)


@pytest.mark.parametrize("key", [*LEARNERS])
def test_every_other_learner_says_that_it_predicts_one_target(key):
    X, y = table(60)
    spec, labels = LEARNERS[key], (y > y.median()).astype(int)
    for path, target in ((spec.classifier, labels), (spec.regressor, y)):
        if path is None or (path == spec.regressor and key in QUICK):
            continue
        module, _, name = path.partition(":")
        model = getattr(import_module(module), name)()
        with pytest.raises(ValueError, match="this learner predicts one target"):
            model.fit(X, target)


@pytest.mark.slow
def test_a_saved_tree_of_several_outputs_predicts_alike(tmp_path):
    X, y = table(100)
    fitted = [treelab.CartRegressor(random_state=0).fit(X, y).tree_]
    quantiles = treelab.CartRegressor(loss="quantile", quantile=LEVELS, random_state=0)
    fitted.append(quantiles.fit(X, y["large"]).tree_)
    for place, tree in enumerate(fitted):
        tree.save(tmp_path / f"{place}.treelab")
        for again in (
            treelab.load(tmp_path / f"{place}.treelab"),
            Tree.from_dict(tree.to_dict()),
        ):
            assert again.outputs == tree.outputs
            assert again.levels == tree.levels
            np.testing.assert_array_equal(again.predict(X), tree.predict(X))


def test_a_tree_of_several_outputs_is_drawn_without_rows():
    X, y = table(100)
    tree = treelab.CartRegressor(random_state=0).fit(X, y).tree_
    nodes = tree_payload(tree)["trees"][0]["nodes"]
    assert len(nodes) == tree.n_nodes


@pytest.mark.slow
def test_who_needs_one_number_a_row_says_so():
    X, y = table(100)
    several = treelab.CartRegressor(random_state=0).fit(X, y)
    one = treelab.CartRegressor(random_state=0).fit(X, y["small"])
    with pytest.raises(ValueError, match="predicts 2 numbers for each row"):
        treelab.compare(one, several, X, y["small"])
    with pytest.raises(ValueError, match="predicts 2 numbers for each row"):
        treelab.surrogate(several, X)


@pytest.mark.parametrize(
    ("levels", "words"),
    [((0.9, 0.1), "several in ascending order, but 0.1"), ((0.0, 0.5), "number > 0")],
)
def test_levels_of_quantiles_ascend_between_0_and_1(levels, words):
    X, y = table(100)
    learner = treelab.CartRegressor(loss="quantile", quantile=levels)
    with pytest.raises(ValueError, match=words):
        learner.fit(X, y["small"])


def test_one_output_of_several_is_a_tree_of_its_own():
    X, y = table(100)
    tree = treelab.CartRegressor(random_state=0).fit(X, y).tree_
    small = tree.of_output("small")
    assert small.target == "small"
    np.testing.assert_array_equal(small.predict(X), tree.predict(X)[:, 1])


def test_categories_and_folds_go_by_what_targets_share():
    rng = np.random.default_rng(0)
    one = rng.normal(size=50)
    assert (first_component(one) == one).all()
    assert (first_component(np.stack([one, one], axis=1)) == one).all()
    shared = first_component(np.stack([1e6 * one, -1e-6 * one], axis=1))
    assert np.isclose(abs(np.corrcoef(shared, one)[0, 1]), 1)
