import pytest
import torch

from tests.ops.reference import dense_decide, dense_route, dense_select
from treelab.ops.axis_trees import axis_leaves, axis_trees
from treelab.ops.decide import SOFT
from treelab.ops.threads import SMALL

BACKENDS = ["torch", "numba"]
# E, D, K, B, C, F; K < F is a subset of the columns for each tree
SHAPES = [
    (1, 1, 2, 3, 1, 2),
    (3, 3, 5, 17, 3, 5),
    (4, 4, 6, 33, 2, 9),
    (2, 2, 3, 9, 1, 40),
]


def make(n_trees, depth, n_offered, n_rows, n_outputs, n_features):
    rng = torch.Generator().manual_seed(depth)
    options = {"generator": rng, "dtype": torch.float64}
    x = torch.randn(n_rows, n_features, **options)
    shape = (n_trees, 2**depth - 1, n_offered)
    logits = torch.randn(shape, **options, requires_grad=True)
    threshold = torch.randn(shape, **options, requires_grad=True)
    leaf = torch.randn(n_trees, 2**depth, n_outputs, **options, requires_grad=True)
    columns = None
    if n_offered < n_features:
        order = torch.rand(n_trees, n_features, generator=rng).argsort(1)
        columns = order[:, :n_offered]
    weight = torch.randn(n_trees, n_outputs, n_rows, **options)
    return x, logits, threshold, leaf, columns, weight


def dense(x, logits, threshold, leaf, columns, transform, soft):
    margin = dense_select(logits, threshold, x, columns, transform)
    return dense_route(dense_decide(margin, soft), leaf)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("transform", ["entmax15", "softmax"])
@pytest.mark.parametrize("soft", SOFT)
def test_values_and_gradients_are_those_of_the_dense_formulation(
    shape, backend, transform, soft
):
    x, logits, threshold, leaf, columns, weight = make(*shape)
    parameters = (logits, threshold, leaf)
    fast = axis_trees(
        x, *parameters, columns=columns, transform=transform, soft=soft, backend=backend
    )
    slow = dense(x, *parameters, columns, transform, soft)
    torch.testing.assert_close(fast, slow)
    fast_gradients = torch.autograd.grad((fast * weight).sum(), parameters)
    slow_gradients = torch.autograd.grad((slow * weight).sum(), parameters)
    for fast_gradient, slow_gradient in zip(
        fast_gradients, slow_gradients, strict=True
    ):
        torch.testing.assert_close(fast_gradient, slow_gradient, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_leaf_of_a_row_is_the_one_whose_value_it_gets(backend):
    x, logits, threshold, _leaf, columns, _ = make(4, 4, 6, 33, 2, 9)
    names = torch.arange(16.0, dtype=x.dtype).expand(4, 16)[..., None]
    value = axis_trees(x, logits, threshold, names, columns=columns, backend=backend)
    found = axis_leaves(x, logits, threshold, columns=columns, backend=backend)
    assert found.tolist() == value[:, 0].long().tolist()


@pytest.mark.slow
def test_float32_gradients_agree_between_backends():
    x, logits, threshold, leaf, columns, weight = (
        t if t is None or t.dtype == torch.long else t.detach().float()
        for t in make(16, 5, 24, 256, 2, 30)
    )
    found = []
    for backend in BACKENDS:
        parameters = [t.clone().requires_grad_() for t in (logits, threshold, leaf)]
        out = axis_trees(
            x, *parameters, columns=columns, soft="softsign", backend=backend
        )
        found.append(torch.autograd.grad((out * weight).sum(), parameters))
    for ours, reference in zip(*found, strict=True):
        torch.testing.assert_close(ours, reference, atol=2e-4, rtol=1e-4)


def test_thresholds_and_leaves_pass_gradcheck_where_no_row_changes_side():
    x, logits, threshold, leaf, columns, _ = make(2, 3, 4, 9, 2, 6)
    assert torch.autograd.gradcheck(
        lambda value: axis_trees(
            x, logits.detach(), threshold.detach(), value, columns=columns
        ),
        leaf,
    )


def test_leaves_that_do_not_fit_are_refused():
    x, logits, threshold, leaf, _, _ = make(2, 2, 3, 5, 1, 3)
    with pytest.raises(ValueError, match="3 splits a tree want 4 leaves"):
        axis_trees(x, logits, threshold, leaf[:, :3])


def test_two_threads_compute_as_one():
    x, logits, threshold, leaf, columns, weight = make(64, 5, 6, 256, 2, 9)
    parameters = (logits, threshold, leaf)
    assert SMALL < 6 * 64 * 256 * 5  # else the kernels keep to one thread
    results = []
    before = torch.get_num_threads()
    try:
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            out = axis_trees(x, *parameters, columns=columns, backend="numba")
            gradients = torch.autograd.grad((out * weight).sum(), parameters)
            results.append((out, *gradients))
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(*results)
