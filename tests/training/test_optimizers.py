"""The optimizers step as torch's do, and load no compiler for it."""

import sys

import pytest
import torch

from treelab.training import optimizers


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
