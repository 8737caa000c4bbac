"""GET and GET-Linear by another loss: leaves, soft training, and what they predict."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss

from tests.slow_params import slow_after
from treelab import GetRegressor
from treelab.learners.get.network import GetNetwork
from treelab.learners.get.settings import GetSettings
from treelab.learners.get.trees import HardTrees, Rows, leaf_constants, leaf_models
from treelab.ops.oblique import hard_leaf
from treelab.trees.losses import LOSSES, Loss

PARAMETERS = {"quantile": 0.8, "huber": 0.7, "tweedie": 1.3}
EVERY = [Loss(name, PARAMETERS.get(name, 0.0)) for name in LOSSES]
OTHERS = [loss for loss in EVERY if not loss.is_squared]
quick = partial(GetRegressor, n_starts=3, n_steps=100, random_state=0, device="cpu")


def rows(loss: Loss, n_rows: int = 200, **more) -> Rows:
    """Amounts above 0 that rise with the first column, in weighted rows."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n_rows, 4))
    y = (0.2 + x[:, 0]) * rng.exponential(size=n_rows) + 0.01
    return Rows(x, y, rng.uniform(0.5, 2, n_rows), 0, loss_of_rows=loss, **more)


def splits(depth: int = 3, n_trees: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Random sums of columns, and thresholds about their middle."""
    rng = np.random.default_rng(1)
    weights = rng.uniform(size=(n_trees, 2**depth - 1, 4))
    return weights, weights.sum(2) * rng.uniform(0.3, 0.7, weights.shape[:2])


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_the_soft_loss_is_the_sum_over_leaves_of_reach_times_loss(loss, linear):
    own = rows(loss, linear=linear)
    trees = HardTrees.fit(*splits(), own)
    network = GetNetwork(trees, np.full(2, 5.0), own, own, GetSettings())
    found = network.batch_loss(torch.arange(len(own.y))).detach().numpy()
    margin = trees.threshold[..., None] - trees.weights @ own.x.T
    left = 1 / (1 + np.exp(-5.0 * margin))  # (E, N, n)
    for e, slow in enumerate(found):
        losses = np.zeros(len(own.y))
        for leaf in range(8):
            node, reach = leaf + 7, np.ones(len(own.y))
            while node > 0:
                above = (node - 1) // 2
                reach = reach * (left[e, above] if node % 2 else 1 - left[e, above])
                node = above
            predicted = trees.constants[e, leaf, 0] + 0 * own.y
            if linear:
                bias, *slopes = trees.models[e, leaf]
                predicted = np.maximum(bias + own.x @ slopes, 1e-3)
                if not loss.is_positive:
                    predicted = bias + own.x @ slopes
            losses += reach * loss.rows(predicted, own.y)
        expected = np.average(losses, weights=own.weight)
        assert slow == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_a_leaf_predicts_what_costs_its_rows_and_one_of_its_parents_least(loss):
    own = rows(loss)
    weights, threshold = splits(depth=2)
    leaf = hard_leaf(own.x, weights, threshold)
    found = leaf_constants(leaf, own, 4)[..., 0]
    for e in range(2):
        top = loss.constants(0 * leaf[e], own.y, own.weight, 1)[0]
        for node in range(4):
            value = top
            for at in (leaf[e] // 2 == node // 2, leaf[e] == node):
                y, weight = np.append(own.y[at], value), np.append(own.weight[at], 1)
                value = loss.constants(np.zeros(len(y), dtype=int), y, weight, 1)[0]
            assert found[e, node] == pytest.approx(value)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_rows", [60, 1000])
def test_a_linear_leaf_is_linear_quantile_regression(n_rows, level):
    own = rows(Loss("quantile", level), n_rows, linear=True)
    leaf, constant = np.zeros(n_rows, dtype=int), np.quantile(own.y, [level])
    (bias, *slopes) = leaf_models(leaf, constant, own)[0]
    exact = QuantileRegressor(quantile=level, alpha=0, solver="highs")
    exact.fit(own.x, own.y, own.weight)
    ours, least, flat = (
        mean_pinball_loss(own.y, each, alpha=level, sample_weight=own.weight)
        for each in (
            bias + own.x @ slopes,
            exact.predict(own.x),
            constant[0] + 0 * own.y,
        )
    )
    assert least <= ours + 1e-12
    assert ours - least < 0.05 * (flat - least)


@pytest.mark.parametrize("loss", OTHERS, ids=str)
def test_a_linear_leaf_costs_its_rows_no_more_than_its_constant(loss):
    own = rows(loss, 60, linear=True)
    trees = HardTrees.fit(*splits(depth=4, n_trees=5), own)
    linear = loss.rows(trees.predict(own.x)[..., 0], own.y) * own.weight
    flat = HardTrees(trees.weights, trees.threshold, trees.constants)
    constant = loss.rows(flat.predict(own.x)[..., 0], own.y) * own.weight
    for leaf, *both in zip(hard_leaf(own.x, *splits(4, 5)), linear, constant):
        costs = [np.bincount(leaf, each, 16) for each in both]
        assert (costs[0] <= costs[1] + 1e-9).all()
    if loss.is_positive:
        assert trees.predict(own.x).min() > 0


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["constant", "linear"])
@pytest.mark.parametrize("loss", slow_after(2, [loss.name for loss in OTHERS]))
def test_every_loss_is_below_that_of_the_best_constant_on_test_rows(loss, leaves):
    X, y = make_friedman1(900, n_features=8, noise=1.0, random_state=0)
    more = {"quantile": 0.8} if loss == "quantile" else {}
    model = quick(loss=loss, leaves=leaves, max_depth=3, **more)
    model.fit(X[:450], y[:450])
    assert model.score(X[450:], y[450:]) > 0.3
    assert model.tree_.loss.name == loss
    assert model.path_.scores["score"].iloc[model.path_.chosen] > 0.3
    assert f"trained and pruned by {model.tree_.loss}" in " ".join(model.tree_.notes)


@pytest.mark.slow
def test_linear_leaves_predict_quantiles_better_than_one_linear_model():
    X, y = make_friedman1(1200, n_features=5, noise=1.0, random_state=0)
    model = quick(loss="quantile", quantile=0.9, leaves="linear").fit(X[:800], y[:800])
    linear = QuantileRegressor(quantile=0.9, alpha=0).fit(X[:800], y[:800])
    ours, theirs = (
        mean_pinball_loss(y[800:], each.predict(X[800:]), alpha=0.9)
        for each in (model, linear)
    )
    assert ours < 0.8 * theirs
    assert 0.75 < (y[800:] <= model.predict(X[800:])).mean() < 0.97


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["absolute_error", "gamma"])
def test_the_unit_of_the_target_changes_nothing(loss):
    X, y = (part[:150] for part in load_diabetes(return_X_y=True))
    few = partial(quick, n_steps=20, max_depth=3)
    found = [
        few(loss=loss, leaves="linear").fit(X, unit * y).predict(X) / unit
        for unit in (1.0, 2.0**20)
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)
