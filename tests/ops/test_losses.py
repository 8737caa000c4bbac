"""Class losses against formulas written out row by row."""

import numpy as np
import pytest
import torch

from treelab.ops.losses import LOSSES, class_loss


def by_hand(kind, shares, code):
    """Loss of one row of a class from its shares (n_classes,)."""
    if kind == "brier":
        return sum((p - (j == code)) ** 2 for j, p in enumerate(shares))
    of_class = {
        "cross_entropy": lambda p: -np.log(p),
        "focal": lambda p: -((1 - p) ** 2) * np.log(p),
        "poly": lambda p: -np.log(p) + 1 - p,
    }[kind]
    return of_class(shares[code])


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("n_outputs", [1, 2, 4])
def test_losses_are_their_formulas_with_their_gradients(kind, n_outputs):
    rng = np.random.default_rng(n_outputs)
    n_classes = max(2, n_outputs)
    output = torch.tensor(rng.normal(size=(3, n_outputs, 5)), requires_grad=True)
    codes = rng.integers(n_classes, size=5)
    target = torch.tensor(codes)
    loss = class_loss(output, target, kind=kind).detach()
    logits = output.detach().numpy()
    if n_outputs == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for tree in range(3):
        for row in range(5):
            expected = by_hand(kind, shares[tree, :, row], codes[row])
            assert float(loss[tree, row]) == pytest.approx(expected)
    assert torch.autograd.gradcheck(
        lambda output: class_loss(output, target, kind=kind), output
    )


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="loss must be one of"):
        class_loss(torch.zeros(1, 2, 3), torch.zeros(3, dtype=torch.long), kind="hinge")


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_the_focal_loss_has_a_slope_where_a_class_is_certain(gamma):
    logit = torch.tensor([[20.0, 200.0, -200.0]], requires_grad=True)
    target = torch.tensor([1, 1, 0])
    loss = class_loss(logit, target, kind="focal", focal_gamma=gamma)
    loss.sum().backward()
    assert logit.grad.abs().max() < 1e-3
