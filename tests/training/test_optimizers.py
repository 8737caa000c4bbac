"""The optimizers step as torch's do, and load no compiler for it."""

import sys

import pytest
import torch

from treelab.training import optimizers
from treelab.training.optimizers import CutOnPlateau, QHAdam


def trained(kind: type, fused: bool) -> tuple[torch.Tensor, dict]:
    """Weights after a few steps, and what another optimizer has read of the state."""
    weight = torch.linspace(-1, 1, 5, requires_grad=True)
    optimizer = kind([{"params": [weight], "lr": 0.1}], fused=fused)
    for _ in range(3):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()
    another = kind([weight])
    another.load_state_dict(optimizer.state_dict())
    return weight, another.state_dict()["state"][0]


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_steps_are_those_of_torch_and_load_no_compiler(monkeypatch, name, fused):
    expected, state = trained(getattr(torch.optim, name), fused)
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # to import it fails
    weight, own = trained(getattr(optimizers, name), fused)
    assert torch.equal(weight, expected)
    assert weight.requires_grad
    assert {key: value.tolist() for key, value in own.items()} == {
        key: value.tolist() for key, value in state.items()
    }


def walk(optimizer, parameter, target, steps):
    """Minimise a quadratic and return every position."""
    seen = []
    for _ in range(steps):
        optimizer.zero_grad()
        (parameter - target).square().sum().backward()
        optimizer.step()
        seen.append(parameter.detach().clone())
    return torch.stack(seen)


def test_without_the_quasi_hyperbolic_part_it_is_adam():
    start, target = torch.randn(3, 4), torch.randn(3, 4)
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    betas = (0.9, 0.999)
    qh = QHAdam([ours], torch.full((3,), 0.1), betas=betas, nus=(1.0, 1.0))
    adam = torch.optim.Adam([theirs], lr=0.1, betas=betas)
    torch.testing.assert_close(
        walk(qh, ours, target, 20), walk(adam, theirs, target, 20)
    )


def test_with_no_momentum_the_step_is_the_sign_of_the_gradient():
    parameter = torch.tensor([[3.0], [-2.0]], requires_grad=True)
    qh = QHAdam([parameter], torch.tensor([0.5, 0.25]), nus=(0.0, 0.0))
    walk(qh, parameter, torch.zeros(2, 1), 1)
    torch.testing.assert_close(parameter.detach(), torch.tensor([[2.5], [-1.75]]))


def test_each_candidate_moves_as_if_alone():
    start, target = torch.randn(2, 5), torch.randn(2, 5)
    rates = torch.tensor([0.1, 0.001])
    both = start.clone().requires_grad_()
    together = walk(QHAdam([both], rates.clone()), both, target, 15)
    for k in range(2):
        one = start[k : k + 1].clone().requires_grad_()
        alone = walk(QHAdam([one], rates[k : k + 1]), one, target[k : k + 1], 15)
        torch.testing.assert_close(together[:, k], alone[:, 0])


def test_a_rate_is_cut_when_its_own_loss_stays_and_nobody_elses():
    rate = torch.tensor([1.0, 1.0])
    cut = CutOnPlateau(rate, patience=2)
    for losses in ([3.0, 3.0], [2.0, 3.0], [1.0, 3.0]):
        cut(torch.tensor(losses))
    torch.testing.assert_close(rate, torch.tensor([1.0, 0.1]))
    for losses in ([1.0, 3.0], [1.0, 3.0]):
        cut(torch.tensor(losses))
    torch.testing.assert_close(rate, torch.tensor([0.1, 0.01]))


def test_a_loss_that_is_not_a_number_is_no_improvement():
    rate = torch.tensor([1.0])
    cut = CutOnPlateau(rate, patience=1)
    cut(torch.tensor([torch.nan]))
    torch.testing.assert_close(rate, torch.tensor([0.1]))
