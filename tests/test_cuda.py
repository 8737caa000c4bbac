"""The same work on every device: a GPU learns and answers as the CPU does."""

import warnings

import numpy as np
import pytest
import torch

from tests.slow_params import slow_after
from treelab.learners.argmin.clustering import ArgminTreeClusterer
from treelab.learners.registry import make_estimator
from treelab.ops.activity import preference_program, ridge_program, traversal
from treelab.ops.axis_trees import axis_trees
from treelab.ops.oblique import oblique_margin, soft_route
from treelab.training.gradients import Gradients

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.cuda,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU"),
        ],
    ),
]
QUICK = {
    "gradtree": {"max_leaf_nodes": 16, "n_restarts": 4, "n_steps": 60},
    "grande": {"n_estimators": 32, "depth": 3, "max_epochs": 5},
    "get": {"max_depth": 3, "n_steps": 150},
    "argmin": {"depth": 2, "max_epochs": 30},
}


def table(n_rows=300):
    """Two numbers and a column of noise; the first two settle the target."""
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    return X, X[:, 0] + (X[:, 1] > 0)


def gradients(function, device, *tensors):
    """What a function answers on a device, and the gradient of its sum of squares."""
    leaves = [
        t.to(device).detach().requires_grad_(t.is_floating_point()) for t in tensors
    ]
    answer = function(*leaves)
    answer.square().sum().backward()
    found = [answer.detach(), *[leaf.grad for leaf in leaves if leaf.grad is not None]]
    return [part.cpu().double() for part in found]


def operators():
    """Each operator with tensors that fit it."""
    rng = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(shape, generator=rng)

    x, logits, threshold = normal(64, 6), normal(5, 7, 6), normal(5, 7, 6)
    weights, bounds = normal(5, 7, 6), normal(5, 7)
    scores = normal(3, 7, 40)
    yield (
        "axis",
        lambda i, t, v: axis_trees(x.to(i), i, t, v),
        (logits, threshold, normal(5, 8, 2)),
    )
    yield (
        "oblique",
        lambda w, t, v: soft_route(
            oblique_margin(x.T.to(w), w, t), 10.0 + w.new_zeros(5, 1, 1), v
        ),
        (weights, bounds, normal(5, 8, 1)),
    )
    strength, preference = (
        torch.tensor([0.1, 1.0, 10.0]),
        torch.rand(3, 15, generator=rng),
    )
    yield (
        "ridge",
        lambda s, own: traversal(s, ridge_program(s, own))[1],
        (scores, strength),
    )
    yield (
        "preference",
        lambda s, own: traversal(s, preference_program(own))[1],
        (scores, preference),
    )


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator", list(operators()), ids=lambda case: case[0])
def test_an_operator_and_its_gradient_are_those_of_double_precision(operator, device):
    _, function, tensors = operator
    exact = gradients(function, "cpu", *[t.double() for t in tensors])
    for ours, theirs in zip(gradients(function, device, *tensors), exact, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("task", ["binary", "regression"])
@pytest.mark.parametrize("key", slow_after(2, QUICK))
def test_a_learner_learns_there_and_answers_without_the_device(key, task, device):
    X, y = table()
    target = y if task == "regression" else np.where(y > y.mean(), "more", "less")
    learner = make_estimator(key, task, QUICK[key], random_state=0, device=device)
    learner.fit(X, target)
    assert learner.score(X, target) > (0.5 if task == "regression" else 0.75)


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("key", ["gradtree", "grande", "get", "argmin"])
def test_a_captured_step_has_the_gradients_of_the_step_as_written(
    key, device, monkeypatch
):
    replay, steps = Gradients._replay, []

    def checked(self, graph, rows):
        drawn = [generator.get_state() for generator in self.generators]
        loss = replay(self, graph, rows)
        for generator, state in zip(self.generators, drawn):
            generator.set_state(state)
        trained = [p for p in self._parameters() if p.requires_grad]
        ours = [p.grad.clone() for p in trained]
        exact = self._as_written(rows)
        theirs = [p.grad for p in trained]
        torch.testing.assert_close(loss, exact, rtol=1e-3, atol=1e-4)
        for own, other in zip(ours, theirs, strict=True):
            largest = float(other.abs().max())
            torch.testing.assert_close(own, other, rtol=1e-2, atol=1e-3 * largest)
        steps.append(len(rows))
        return loss

    monkeypatch.setattr(Gradients, "_replay", checked)
    X, y = table()
    learner = make_estimator(key, "regression", QUICK[key], random_state=0)
    if key == "grande":
        learner.set_params(max_epochs=40, max_deciders=8, dropout=0.1)
    learner.set_params(device=device).fit(X, y)
    assert len(steps) > 20


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("key", ["gradtree", "grande"])
def test_a_loss_that_is_no_number_ends_the_training_with_a_word(key, device):
    X, y = table()
    learner = make_estimator(key, "binary", QUICK[key], random_state=0, device=device)
    learner.set_params(learning_rate_leaf=1e38)
    if key == "grande":
        learner.set_params(learning_rate_weights=1e38)
    warnings.simplefilter("error", RuntimeWarning)  # pytest puts the filters back
    with pytest.raises((FloatingPointError, RuntimeWarning), match="learning_rate"):
        learner.fit(X, np.where(y > y.mean(), "more", "less"))


@pytest.mark.parametrize("device", DEVICES)
def test_clusters_are_found_there(device):
    X, _ = table()
    clusterer = ArgminTreeClusterer(
        depth=2, max_epochs=20, random_state=0, device=device
    ).fit(X)
    assert len(clusterer.labels_) == len(X)
