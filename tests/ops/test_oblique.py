import numpy as np
import pytest
import torch

from treelab.ops.oblique import hard_leaf, oblique_margin, soft_route
from treelab.ops.route import route


def splits(n_trees, depth, n_features, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n_trees, 2**depth - 1)
    return rng.normal(size=(*shape, n_features)), rng.normal(size=shape)


def test_margins_are_threshold_less_weighted_sum():
    weights, threshold = (torch.tensor(a) for a in splits(3, 2, 4))
    x = torch.randn(4, 7, dtype=torch.float64)
    margin = oblique_margin(x, weights, threshold)
    for e in range(3):
        expected = threshold[e][:, None] - weights[e] @ x
        assert torch.allclose(margin[e], expected)


def test_margins_have_the_right_gradient():
    weights, threshold = (torch.tensor(a, requires_grad=True) for a in splits(2, 2, 3))
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(oblique_margin, (x, weights, threshold))


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_the_walk_ends_at_the_leaf_that_the_margins_name(depth):
    weights, threshold = splits(2, depth, 5, seed=depth)
    x = np.random.default_rng(9).normal(size=(50, 5))
    leaf = hard_leaf(x, weights, threshold)
    for e in range(2):
        for b in range(50):
            node = 0
            while node < 2**depth - 1:
                goes_left = weights[e, node] @ x[b] <= threshold[e, node]
                node = 2 * node + 1 if goes_left else 2 * node + 2
            assert leaf[e, b] == node - (2**depth - 1)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("slopes", [(1.0, 4.0), (150.0,), (20.0,) * 9])
@pytest.mark.parametrize(("depth", "n_rows"), [(0, 3), (1, 5), (3, 256), (6, 1100)])
def test_soft_routes_are_routes_after_a_scaled_sigmoid(
    depth, n_rows, slopes, n_outputs
):
    rng = torch.Generator().manual_seed(depth)
    n_trees, draw = len(slopes), {"generator": rng, "dtype": torch.float64}
    margin = torch.randn(n_trees, 2**depth - 1, n_rows, **draw).requires_grad_()
    leaf = torch.randn(n_trees, 2**depth, n_outputs, **draw).requires_grad_()
    scale = torch.tensor(slopes)[:, None, None]
    upstream = torch.randn(n_trees, n_outputs, n_rows, **draw)
    found, expected = (
        [value, *torch.autograd.grad(value, (margin, leaf), upstream)]
        for value in (
            soft_route(margin, scale, leaf),
            route(torch.sigmoid(scale * margin), leaf),
        )
    )
    for ours, theirs in zip(found, expected):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-9)
    told = soft_route(margin.float(), scale, leaf.float())
    torch.testing.assert_close(told, expected[0].float(), atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("depth", [1, 3])
def test_soft_routes_have_the_gradient_of_finite_differences(depth):
    rng = torch.Generator().manual_seed(depth)
    draw = {"generator": rng, "dtype": torch.float64}
    margin = torch.randn(2, 2**depth - 1, 5, **draw).requires_grad_()
    leaf = torch.randn(2, 2**depth, 2, **draw).requires_grad_()
    scale = torch.tensor([2.0, 5.0], dtype=torch.float64)[:, None, None]
    assert torch.autograd.gradcheck(
        lambda margin, leaf: soft_route(margin, scale, leaf), (margin, leaf)
    )


def test_an_incomplete_tree_is_refused():
    with pytest.raises(ValueError, match="leaves"):
        soft_route(torch.zeros(1, 2, 4), torch.ones(1, 1, 1), torch.zeros(1, 3, 1))
