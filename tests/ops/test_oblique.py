import numpy as np
import pytest
import torch

from treelab.ops.oblique import hard_leaf, oblique_margin


def splits(n_trees, depth, n_features, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n_trees, 2**depth - 1)
    return rng.normal(size=(*shape, n_features)), rng.normal(size=shape)


@pytest.mark.parametrize("own_rows", [False, True])
def test_margins_are_threshold_less_weighted_sum(own_rows):
    weights, threshold = (torch.tensor(a) for a in splits(3, 2, 4))
    x = torch.randn(3, 4, 7, dtype=torch.float64)
    margin = oblique_margin(x if own_rows else x[0], weights, threshold)
    for e in range(3):
        rows = x[e if own_rows else 0]
        expected = threshold[e][:, None] - weights[e] @ rows
        assert torch.allclose(margin[e], expected)


@pytest.mark.parametrize("own_rows", [False, True])
def test_margins_have_the_right_gradient(own_rows):
    weights, threshold = (torch.tensor(a, requires_grad=True) for a in splits(2, 2, 3))
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x, w, t: oblique_margin(x if own_rows else x[0], w, t),
        (x, weights, threshold),
    )


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
