"""Losses against scikit-learn's metrics, and constants against a search."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    d2_pinball_score,
    d2_tweedie_score,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    mean_tweedie_deviance,
    r2_score,
)

from tests.trees.make import make_table, make_tree
from treelab.trees.losses import LOSSES, Loss, as_loss
from treelab.trees.tree import node_constants

PARAMETERS = {"quantile": 0.8, "huber": 0.7, "tweedie": 1.3}
EVERY = [Loss(name, PARAMETERS.get(name, 0.0)) for name in LOSSES]
THEIRS = {
    "squared_error": mean_squared_error,
    "absolute_error": mean_absolute_error,
    "quantile": lambda *rows, **own: mean_pinball_loss(*rows, alpha=0.8, **own),
    "poisson": lambda *rows, **own: mean_tweedie_deviance(*rows, power=1, **own),
    "gamma": lambda *rows, **own: mean_tweedie_deviance(*rows, power=2, **own),
    "tweedie": lambda *rows, **own: mean_tweedie_deviance(*rows, power=1.3, **own),
}


def rows(seed: int = 0, n_rows: int = 50) -> tuple[np.ndarray, ...]:
    """Predictions, targets and weights above 0."""
    rng = np.random.default_rng(seed)
    return tuple(rng.exponential(size=n_rows) + 0.01 for _ in range(3))


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_losses_are_scikit_learns(loss):
    predicted, y, weight = rows()
    ours = np.average(loss.rows(predicted, y), weights=weight)
    if loss.name == "huber":
        theirs = torch.nn.functional.huber_loss(
            torch.tensor(predicted), torch.tensor(y), reduction="none", delta=0.7
        )
        assert ours == pytest.approx(np.average(theirs.numpy(), weights=weight))
        return
    theirs = THEIRS[loss.name](y, predicted, sample_weight=weight)
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_a_right_prediction_costs_nothing_and_no_other_costs_less(loss):
    _, y, _ = rows()
    np.testing.assert_allclose(loss.rows(y, y), 0, atol=1e-9)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert (loss.rows(factor * y, y) > 0).all()


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_the_unit_of_a_target_counts_by_its_power(loss):
    predicted, y, _ = rows()
    np.testing.assert_allclose(
        loss.scaled(8.0).rows(8 * predicted, 8 * y),
        8.0**loss.power * loss.rows(predicted, y),
    )


@pytest.mark.parametrize("factor", [1.1, 1e-10, 1e100, 3.0])
def test_a_loss_in_another_unit_and_back_is_the_same_to_the_last_digit(factor):
    loss = Loss("huber", 1.3).scaled(1.0)
    assert Loss("huber", 1.3 * factor).scaled(1 / factor) == loss
    assert loss.parameter == pytest.approx(1.3, rel=1e-7)


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_gradients_are_those_of_differences(loss):
    predicted, y, _ = rows(n_rows=12)
    at = torch.tensor(predicted, requires_grad=True)
    target = torch.tensor(y)
    assert torch.autograd.gradcheck(
        lambda raw: loss.excess(raw, target, torch.log), (at,)
    )
    (gradient,) = torch.autograd.grad(
        loss.excess(at, target, torch.log).sum(), at, retain_graph=True
    )
    step = 1e-6
    slow = loss.rows(predicted + step, y) - loss.rows(predicted - step, y)
    np.testing.assert_allclose(gradient.numpy(), slow / (2 * step), atol=1e-4)


values = st.floats(0.125, 128, width=32)
groups = st.lists(
    st.tuples(st.integers(0, 3), values, st.sampled_from([0.5, 1.0, 2.0, 3.5])),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize("loss", EVERY, ids=str)
@settings(max_examples=40)
@given(groups)
def test_no_constant_costs_a_group_less(loss, given_rows):
    group, y, weight = (np.array(own) for own in zip(*given_rows))
    found = loss.constants(group, y.astype(float), weight.astype(float), 4)
    for number in range(4):
        own = group == number
        if not own.any():
            assert np.isnan(found[number])
            continue
        tried = np.concatenate(
            [y[own], np.linspace(y[own].min(), y[own].max(), 50), found[[number]]]
        )
        costs = loss.rows(tried[:, None], y[own].astype(float)) @ weight[own]
        assert costs[-1] <= costs.min() + 1e-7 * max(1.0, costs.min())


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_a_row_of_weight_two_counts_as_two(loss):
    _, y, _ = rows()
    times = np.arange(len(y)) % 3 + 1
    none = np.zeros(len(y), dtype=int)
    weighted = loss.constants(none, y, times.astype(float), 1)
    again = loss.constants(none.repeat(times), y.repeat(times), np.ones(times.sum()), 1)
    np.testing.assert_allclose(weighted, again)


def test_scores_are_scikit_learns():
    predicted, y, weight = rows()
    own = {"sample_weight": weight}
    found = {loss.name: loss.score(predicted, y, weight) for loss in EVERY}
    assert found["squared_error"] == pytest.approx(r2_score(y, predicted, **own))
    deviance = d2_tweedie_score(y, predicted, power=1, **own)
    assert found["poisson"] == pytest.approx(deviance)
    pinball = Loss("quantile", 0.8).score(predicted, y)
    assert pinball == pytest.approx(d2_pinball_score(y, predicted, alpha=0.8), abs=0.02)


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_every_node_has_the_constant_of_its_rows(loss):
    rng = np.random.default_rng(3)
    tree, table = make_tree(rng, 6, n_classes=0), make_table(rng, 80)
    y, weight = rng.exponential(size=80) + 0.1, rng.integers(1, 4, 80).astype(float)
    passed, leaf = tree.decision_path(table), tree.apply(table)
    value, cost = node_constants(tree, leaf, y, weight, loss)
    for node in range(tree.n_nodes):
        own = passed[:, node]
        if not own.any():
            assert value[node] == tree.value[node]
            continue
        alone = np.zeros(own.sum(), dtype=int), y[own], weight[own]
        expected = loss.constants(*alone, 1)[0]
        assert value[node, 0] == pytest.approx(expected)
        slow = np.average(loss.rows(expected + 0 * y[own], y[own]), weights=weight[own])
        assert cost[node] == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("poisson", [1.0, -2.0], "at least 0, but y holds -2 in row 1, counted from 0"),
        ("gamma", [0.0, 1.0], "above 0, but y holds 0 in row 0"),
        ("tweedie", [0.0, 0.0], "needs a target above 0"),
    ],
)
def test_targets_that_a_loss_does_not_know_are_refused(name, y, words):
    with pytest.raises(ValueError, match=words):
        Loss(name, PARAMETERS.get(name, 0.0)).check_target(np.array(y), "y")


def test_losses_are_read_back_and_others_refused():
    assert as_loss({"name": "quantile", "parameter": 0.9}) == Loss("quantile", 0.9)
    for wrong in ({"name": "best"}, {"name": "quantile", "parameter": 1.0}, {"a": 1}):
        with pytest.raises(ValueError, match=r"loss|parameter"):
            as_loss(wrong)


@pytest.mark.parametrize("name", ["poisson", "tweedie"])
def test_a_group_without_a_claim_has_a_rate_of_exactly_zero(name):
    rng = np.random.default_rng(0)
    y = np.append(np.zeros(50), rng.poisson(0.5, 50))
    loss = Loss(name, PARAMETERS.get(name, 0.0))
    found = loss.constants(np.repeat([0, 1], 50), y, rng.random(100), 2)
    assert found[0] == 0 < found[1]
