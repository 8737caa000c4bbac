import pytest
import torch

from treelab.bench import dense_axis_trees
from treelab.ops.axis_trees import axis_trees


@pytest.mark.slow
def test_the_yardstick_computes_what_the_operator_computes():
    rng = torch.Generator().manual_seed(0)
    shape = (3, 7, 4)
    logits = torch.randn(shape, generator=rng, requires_grad=True)
    threshold = torch.randn(shape, generator=rng, requires_grad=True)
    leaf = torch.randn(3, 8, 2, generator=rng, requires_grad=True)
    x = torch.randn(19, 6, generator=rng)
    columns = torch.rand(3, 6, generator=rng).argsort(1)[:, :4]
    parameters = (logits, threshold, leaf)
    ours = axis_trees(x, *parameters, columns=columns, soft="softsign")
    dense = dense_axis_trees(x, *parameters, columns, "softsign")
    torch.testing.assert_close(ours, dense)
    for mine, theirs in zip(
        torch.autograd.grad(ours.square().sum(), parameters),
        torch.autograd.grad(dense.square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=1e-4)
