import pytest
import torch

from tests.ops.reference import dense_decide
from treelab.ops.decide import SOFT, decide


def margins():
    # No margin at +-2, where entmoid's second derivative jumps.
    return torch.linspace(-7, 7, 41, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("soft", SOFT)
@pytest.mark.parametrize("hard", [True, False])
def test_values_and_gradients_are_the_papers(soft, hard):
    margin = margins()
    fast = decide(margin, soft=soft, hard=hard)
    slow = dense_decide(margin, soft, hard)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(
        torch.autograd.grad(fast.sum(), margin)[0],
        torch.autograd.grad(slow.sum(), margin)[0],
    )


@pytest.mark.parametrize("soft", SOFT)
def test_gradcheck_holds_for_soft_decisions(soft):
    margin = margins()
    assert torch.autograd.gradcheck(lambda z: decide(z, soft=soft, hard=False), margin)


@pytest.mark.parametrize("soft", SOFT)
def test_hard_decisions_are_zero_or_one_and_a_tie_goes_left(soft):
    margin = torch.tensor([-1e-30, 0.0, 1e-30, -5.0, 5.0])
    assert decide(margin, soft=soft).tolist() == [0, 1, 1, 0, 1]


def test_an_unknown_soft_decision_is_refused():
    with pytest.raises(ValueError, match="tanh"):
        decide(torch.zeros(1), soft="tanh")
