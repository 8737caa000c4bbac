"""Node activity against slow code, a conic solver and finite differences."""

import numpy as np
import pytest
import torch

from tests.ops.activity_reference import (
    conic,
    pooled,
    preference_activity,
    ridge_activity,
)
from treelab.ops.activity import (
    activity_of_splits,
    known_traversal,
    path_scores,
    preference_program,
    ridge_program,
    traversal,
    traverse,
)


def random_scores(depth, n_rows, n_trees, seed, scale=1.0):
    rng = torch.Generator().manual_seed(seed)
    score = torch.randn(
        n_trees, 2**depth - 1, n_rows, generator=rng, dtype=torch.float64
    )
    return path_scores(scale * score), rng


def without_ties(q):
    """Scores moved apart: where two activities just touch there is no derivative."""
    rng = torch.Generator().manual_seed(0)
    return q + 0.05 * torch.rand(q.shape, generator=rng, dtype=q.dtype)


def seeds(n):
    """Seeds of which the first alone runs every time."""
    return [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, n))]


def ridge_arrays(q, strength):
    """Scores, preferences and penalty of the ridge program, as arrays."""
    return q.numpy() + 0.5, np.zeros(q.shape[0]), float(strength)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_path_score_is_the_weakest_decision_on_the_path(depth):
    rng = torch.Generator().manual_seed(depth)
    score = torch.randn(2, 2**depth - 1, 7, generator=rng)
    q = path_scores(score)
    for node in range(2 ** (depth + 1) - 1):
        weakest, t = torch.ones(2, 7), node
        while t > 0:
            parent = (t - 1) // 2
            sign = 1 if t % 2 == 1 else -1
            weakest = torch.minimum(weakest, sign * score[:, parent])
            t = parent
        assert torch.equal(q[:, node], weakest)


def test_splits_of_no_complete_tree_are_refused():
    with pytest.raises(ValueError, match=r"2\*\*depth - 1 splits, got 4"):
        path_scores(torch.zeros(1, 4, 3))


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("strength", [0.1, 3.0, 30.0])
def test_ridge_activity_agrees_with_a_conic_solver(depth, strength, seed):
    q, _ = random_scores(depth, 20, 2, seed)
    a = ridge_activity(q, torch.full((2,), strength, dtype=torch.float64))
    for tree in range(2):
        np.testing.assert_allclose(
            a[tree], conic(*ridge_arrays(q[tree], strength)), atol=1e-5
        )


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_preference_activity_agrees_with_a_conic_solver(depth, seed):
    q, rng = random_scores(depth, 10, 2, seed)
    eta = 4 * torch.rand(q.shape[:2], generator=rng, dtype=torch.float64) - 2
    a = preference_activity(q, eta)
    for tree in range(2):
        expected = conic(q[tree].numpy(), eta[tree].numpy(), 1.0)
        np.testing.assert_allclose(a[tree], expected, atol=1e-5)


@pytest.mark.parametrize("strength", [0.0, 1.0, 50.0])
def test_trees_and_strengths_in_one_batch_do_not_touch_each_other(strength):
    q, _ = random_scores(4, 30, 5, seed=1)
    strengths = torch.tensor([0.0, 2.0, strength, 10.0, 400.0], dtype=torch.float64)
    together = ridge_activity(q, strengths)
    alone = ridge_activity(q[2:3], strengths[2:3])
    assert torch.equal(together[2:3], alone)


def test_without_a_penalty_the_smallest_minimiser_is_taken():
    q, _ = random_scores(3, 6, 1, seed=3, scale=0.3)
    a = ridge_activity(q, torch.zeros(1, dtype=torch.float64))
    expected = pooled(q[0].numpy() + 0.5, np.zeros(15), 0.0)
    np.testing.assert_allclose(a[0], expected, atol=1e-12)
    nobody = torch.full((1, 15, 6), -1.0, dtype=torch.float64)
    assert not ridge_activity(nobody, torch.zeros(1, dtype=torch.float64)).any()


@pytest.mark.parametrize("depth", range(1, 11))
def test_activity_is_in_range_and_never_above_the_parents(depth):
    q, _ = random_scores(depth, 50, 2, seed=depth, scale=0.5)
    a = ridge_activity(q.float(), torch.tensor([0.5, 20.0]))
    child = torch.arange(1, a.shape[1])
    assert ((a >= 0) & (a <= 1)).all()
    assert (a[:, child] <= a[:, (child - 1) // 2] + 2e-6).all()
    assert (traverse(q.float(), a) <= a[..., None]).all()


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("strength", [0.3, 4.0, 12.0])
def test_ridge_jacobian_is_that_of_finite_differences(depth, strength, seed):
    q = without_ties(random_scores(depth, 6, 2, seed)[0])
    strengths = torch.full((2,), strength, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        ridge_activity, (q.requires_grad_(), strengths.requires_grad_())
    )


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_preference_jacobian_is_that_of_finite_differences(depth, seed):
    q, rng = random_scores(depth, 6, 2, seed)
    q = without_ties(q)
    eta = 2 * torch.rand(q.shape[:2], generator=rng, dtype=torch.float64) - 1
    assert torch.autograd.gradcheck(
        preference_activity, (q.requires_grad_(), eta.requires_grad_())
    )


@pytest.mark.parametrize("strength", [0.3, 4.0])
def test_traversal_passes_its_gradient_to_the_split_scores(strength):
    rng = torch.Generator().manual_seed(5)
    score = torch.randn(1, 7, 8, generator=rng, dtype=torch.float64)
    strengths = torch.tensor([strength], dtype=torch.float64)

    def traversal(score):
        q = path_scores(score)
        return traverse(q, ridge_activity(q, strengths))

    assert torch.autograd.gradcheck(traversal, (score.requires_grad_(),))


def test_stronger_pruning_leaves_fewer_active_nodes():
    q, _ = random_scores(5, 40, 1, seed=0, scale=0.4)
    strengths = torch.tensor([0.0, 1.0, 10.0, 100.0, 1000.0], dtype=torch.float64)
    a = ridge_activity(q.expand(5, -1, -1), strengths)
    total = a.sum(1)
    assert (total.diff() < 0).all()


@pytest.mark.parametrize("depth", [1, 3, 5])
@pytest.mark.parametrize("form", ["ridge", "preference"])
def test_the_fused_traversal_is_its_parts_forward_and_backward(form, depth):
    rng = torch.Generator().manual_seed(depth)
    score = torch.randn(3, 2**depth - 1, 40, generator=rng, dtype=torch.float64)
    if form == "ridge":
        setting = torch.tensor([0.7, 5.1, 50.3], dtype=torch.float64)
        program, alone = ridge_program, ridge_activity
    else:
        shape = (3, 2 ** (depth + 1) - 1)
        setting = 4 * torch.rand(shape, generator=rng, dtype=torch.float64) - 2
        alone = preference_activity

        def program(_, preference):
            return preference_program(preference)

    results = []
    for one_kernel in (True, False):
        inputs = score.clone().requires_grad_(), setting.clone().requires_grad_()
        if one_kernel:
            z, a = traversal(inputs[0], program(*inputs))
        else:
            q = path_scores(inputs[0])
            a = alone(q, inputs[1])
            z = traverse(q, a)
        known = torch.linspace(-1, 1, z.numel(), dtype=z.dtype).view_as(z)
        ((z * known).sum() + a.square().sum()).backward()
        results.append((z.detach(), a.detach(), *(i.grad for i in inputs)))
    for one, other in zip(*results):
        torch.testing.assert_close(one, other)
    a = activity_of_splits(score, program(score, setting))
    torch.testing.assert_close(a, results[0][1], atol=0, rtol=0)
    z = known_traversal(score, results[0][1])
    torch.testing.assert_close(z, results[0][0])
