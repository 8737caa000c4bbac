"""Sparse estimator weights are those of the entmax package and of the exported model.

The package sorts; ours finds the threshold by Newton's method.
"""

import numpy as np
import pytest
import torch
from entmax import entmax15

from treelab.learners.grande.weighting import entropy, tree_weights, weighted_prediction
from treelab.trees import logits
from treelab.trees.logits import WEIGHTINGS


@pytest.mark.parametrize("spread", [0.0, 0.05, 1.0, 10.0])
@pytest.mark.parametrize("shape", [(1, 7), (5, 1), (300, 20), (2, 40, 6)])
def test_weights_and_gradient_are_those_of_the_sorting_algorithm(shape, spread):
    rng = torch.Generator().manual_seed(1)
    scores = spread * torch.randn(shape, generator=rng, dtype=torch.float64)
    incoming = torch.randn(shape, generator=rng, dtype=torch.float64)
    found = []
    for transform in (lambda s: tree_weights(s, "entmax15"), lambda s: entmax15(s, -2)):
        own = scores.clone().requires_grad_()
        weights = transform(own)
        (gradient,) = torch.autograd.grad(weights, own, incoming)
        found.append((weights.detach(), gradient))
    for ours, theirs in zip(*found):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


def test_its_gradient_is_that_of_small_differences():
    rng = torch.Generator().manual_seed(2)
    scores = torch.randn(2, 6, 3, generator=rng, dtype=torch.float64)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: tree_weights(s, "entmax15"), scores)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_of_few_deciders_the_others_have_neither_weight_nor_gradient(weighting):
    rng = torch.Generator().manual_seed(4)
    scores = torch.randn(2, 6, 3, generator=rng, dtype=torch.float64)
    scores.requires_grad_()

    def weigh(s):
        return tree_weights(s, weighting, max_deciders=2)

    assert torch.autograd.gradcheck(weigh, scores)
    weights = weigh(scores)
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    behind = scores.argsort(-2, descending=True).argsort(-2) >= 2
    assert (weights[behind] == 0).all()
    assert (gradient[behind] == 0).all()
    both = scores.detach().topk(2, dim=-2)
    torch.testing.assert_close(
        weights.gather(-2, both.indices), tree_weights(both.values, weighting)
    )
    everyone = tree_weights(scores, weighting)
    torch.testing.assert_close(tree_weights(scores, weighting, 6), everyone)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("spread", [0.1, 3.0, 1e4])
@pytest.mark.parametrize("max_deciders", [None, 1, 7])
def test_the_exported_weights_are_the_trained_ones(weighting, spread, max_deciders):
    scores = spread * torch.randn(50, 30, generator=torch.Generator().manual_seed(3))
    unscaled = logits.unscaled_weights(scores.double().numpy(), weighting, max_deciders)
    trained = tree_weights(scores, weighting, max_deciders)
    np.testing.assert_allclose(unscaled / unscaled.sum(0), trained, atol=2e-6)
    torch.testing.assert_close(trained.sum(0), torch.ones(30))


def test_a_tree_far_behind_has_no_weight_at_all():
    weights = tree_weights(torch.tensor([[3.0], [0.9], [2.5]]), "entmax15")[:, 0]
    assert weights[1] == 0
    assert weights[0] > weights[2] > 0


def test_an_unknown_weighting_is_refused():
    with pytest.raises(ValueError, match="sparsemax"):
        tree_weights(torch.zeros(2, 2), "sparsemax")


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_prediction_is_the_mean_weighted_by_a_softmax_over_the_trees(n_outputs):
    rng = torch.Generator().manual_seed(n_outputs)
    tree_output = torch.randn(5, n_outputs, 7, generator=rng)  # (E, C, B)
    leaf_weight = torch.randn(5, 7, generator=rng)
    predicted, _ = weighted_prediction(tree_output, leaf_weight)
    for row in range(7):
        raw = [float(w.exp()) for w in leaf_weight[:, row]]
        for output in range(n_outputs):
            values = tree_output[:, output, row].tolist()
            expected = sum(w * v for w, v in zip(raw, values)) / sum(raw)
            assert float(predicted[output, row]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("max_deciders", [None, 1, 3])
def test_trees_that_are_not_active_take_no_part(weighting, max_deciders):
    rng = torch.Generator().manual_seed(0)
    tree_output = torch.randn(4, 2, 6, generator=rng)
    leaf_weight = torch.randn(4, 6, generator=rng)
    active = torch.tensor([True, False, True, True])[:, None]
    stays = [0, 2, 3]
    how = {"weighting": weighting, "max_deciders": max_deciders}
    output, weights = weighted_prediction(tree_output, leaf_weight, active, **how)
    expected = weighted_prediction(tree_output[stays], leaf_weight[stays], **how)
    torch.testing.assert_close((output, weights[stays]), expected)
    assert (weights[1] == 0).all()


@pytest.mark.parametrize("n_trees", [1, 2, 7])
def test_the_entropy_of_equal_weights_is_the_logarithm_of_the_number_of_trees(n_trees):
    weights = torch.zeros(9, 3)
    weights[:n_trees] = 1 / n_trees
    torch.testing.assert_close(entropy(weights).exp(), torch.full((3,), float(n_trees)))


def test_the_entropy_is_renyis_and_its_gradient_is_finite_at_zero_weights():
    weights = torch.tensor([[[0.5], [0.3], [0.2], [0.0]]] * 2, requires_grad=True)
    found = entropy(weights)
    assert found.shape == (2, 1)
    assert found[0, 0].item() == pytest.approx(-np.log(0.25 + 0.09 + 0.04))
    (gradient,) = torch.autograd.grad(found.sum(), weights)
    assert gradient[0, 3] == 0
    assert torch.isfinite(gradient).all()
