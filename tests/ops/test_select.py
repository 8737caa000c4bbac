import pytest
import torch

from tests.ops.reference import dense_select
from treelab.ops.select import chosen_split, select

SHAPES = [(1, 1, 2, 3, None), (3, 7, 5, 11, None), (2, 3, 12, 6, 9), (2, 15, 40, 8, 4)]


def make(n_trees, n_splits, n_features, n_rows, n_columns, dtype=torch.float64):
    rng = torch.Generator().manual_seed(n_features)
    x = torch.randn(n_rows, n_features, generator=rng, dtype=dtype)
    width = n_columns or n_features
    shape = (n_trees, n_splits, width)
    logits = torch.randn(shape, generator=rng, dtype=dtype, requires_grad=True)
    threshold = torch.randn(shape, generator=rng, dtype=dtype, requires_grad=True)
    columns = None
    if n_columns:
        order = torch.rand(n_trees, n_features, generator=rng).argsort(1)
        columns = order[:, :n_columns]
    weight = torch.randn(n_trees, n_splits, n_rows, generator=rng, dtype=dtype)
    return logits, threshold, x, columns, weight


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transform", ["entmax15", "softmax"])
def test_values_and_gradients_are_those_of_the_dense_formulation(shape, transform):
    logits, threshold, x, columns, weight = make(*shape)
    x.requires_grad_()
    inputs = (logits, threshold, x)
    fast = select(logits, threshold, x, columns=columns, transform=transform)
    slow = dense_select(logits, threshold, x, columns, transform)
    torch.testing.assert_close(fast, slow)
    fast_gradients = torch.autograd.grad((fast * weight).sum(), inputs)
    slow_gradients = torch.autograd.grad((slow * weight).sum(), inputs)
    for fast_gradient, slow_gradient in zip(
        fast_gradients, slow_gradients, strict=True
    ):
        torch.testing.assert_close(fast_gradient, slow_gradient, atol=1e-9, rtol=1e-7)


def test_gradcheck_holds_for_thresholds_and_rows():
    logits, threshold, x, columns, _ = make(2, 3, 6, 4, 4)
    x.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda t, rows: select(logits.detach(), t, rows, columns=columns),
        (threshold, x),
    )


def test_a_value_equal_to_its_threshold_has_margin_zero():
    threshold = torch.full((1, 1, 1), 0.1)
    x = torch.full((1, 1), 0.1)
    assert select(torch.zeros(1, 1, 1), threshold, x).item() == 0.0


def test_the_chosen_split_speaks_of_columns_of_the_table():
    logits = torch.tensor([[[0.0, 2.0]]])
    threshold = torch.tensor([[[5.0, 7.0]]])
    _, feature, value = chosen_split(logits, threshold, torch.tensor([[3, 1]]))
    assert (feature.item(), value.item()) == (1, 7.0)


@pytest.mark.parametrize(
    ("width", "transform", "message"),
    [(3, "entmax15", "offered"), (2, "sparsemax", "softmax")],
)
def test_what_does_not_fit_is_refused(width, transform, message):
    logits = torch.zeros(1, 1, width)
    with pytest.raises(ValueError, match=message):
        select(logits, logits, torch.zeros(4, 2), transform=transform)


@pytest.mark.parametrize("transform", ["entmax15", "softmax"])
def test_logits_that_are_no_number_have_such_a_gradient_and_no_error(transform):
    logits = torch.full((1, 1, 3), torch.nan, requires_grad=True)
    margin = select(logits, torch.zeros(1, 1, 3), torch.ones(2, 3), transform=transform)
    margin.sum().backward()
    assert logits.grad.isnan().all()
