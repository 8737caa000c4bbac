import pytest
import torch

from tests.ops.reference import dense_route, walk
from treelab.ops.route import reach, reached_leaf, route

SHAPES = [(1, 1, 1, 1), (3, 2, 3, 5), (2, 4, 1, 7), (2, 5, 3, 6)]  # E, D, C, B


def make(n_trees, depth, n_outputs, n_rows, *, hard, by_row):
    rng = torch.Generator().manual_seed(depth)
    left = torch.rand(n_trees, 2**depth - 1, n_rows, generator=rng, dtype=torch.float64)
    left = left.round() if hard else left
    shape = (n_trees, 2**depth, n_outputs) + ((n_rows,) if by_row else ())
    value = torch.randn(shape, generator=rng, dtype=torch.float64)
    return left.requires_grad_(), value.requires_grad_()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize(("hard", "shortcut"), [(0, 0), (1, 0), (1, 1)])
def test_values_and_gradients_are_those_of_the_sum_over_paths(
    shape, by_row, hard, shortcut
):
    left, value = make(*shape, hard=hard, by_row=by_row)
    fast = route(left, value, hard=bool(shortcut))
    slow = dense_route(left, value)
    torch.testing.assert_close(fast, slow)
    weight = torch.randn_like(slow)
    fast_gradients = torch.autograd.grad((fast * weight).sum(), (left, value))
    slow_gradients = torch.autograd.grad((slow * weight).sum(), (left, value))
    for fast_gradient, slow_gradient in zip(
        fast_gradients, slow_gradients, strict=True
    ):
        torch.testing.assert_close(fast_gradient, slow_gradient)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("by_row", [False, True])
def test_gradcheck_holds_for_soft_shares(shape, by_row):
    assert torch.autograd.gradcheck(
        route, make(*shape, hard=False, by_row=by_row), fast_mode=True
    )


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_hard_decisions_bring_up_the_leaf_found_by_walking(depth):
    rng = torch.Generator().manual_seed(depth)
    left = torch.randint(2, (2**depth - 1, 64), generator=rng)  # (N, B)
    expected = [walk(row, depth) for row in left.T.tolist()]
    assert reached_leaf(left[None])[0].tolist() == expected
    leaves = torch.arange(2.0**depth)[None, :, None]
    for hard in (False, True):
        value = route(left[None].float(), leaves, hard=hard)
        assert value[0, 0].tolist() == expected


@pytest.mark.parametrize("depth", [1, 3])
def test_the_shares_that_arrive_at_one_level_sum_to_one(depth):
    left, _ = make(2, depth, 1, 9, hard=False, by_row=False)
    splits, leaves = reach(left)
    for level in range(depth):
        of_level = splits[:, 2**level - 1 : 2 ** (level + 1) - 1].sum(1)
        torch.testing.assert_close(of_level, torch.ones_like(of_level))
    torch.testing.assert_close(leaves.sum(1), torch.ones_like(leaves[:, 0]))


@pytest.mark.parametrize(("n_splits", "n_leaves"), [(3, 3), (2, 3)])
def test_a_tree_that_is_not_complete_is_refused(n_splits, n_leaves):
    with pytest.raises(ValueError, match="leaves"):
        route(torch.zeros(1, n_splits, 4), torch.zeros(1, n_leaves, 1))
