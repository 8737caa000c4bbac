import pytest
import torch

from treelab.learners.common.diverged import warn_if_diverged
from treelab.learners.common.schedule import CosineDecay
from treelab.training.loop import TrainResult


def test_rates_warm_up_and_then_fall_to_the_lowest_and_stay():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    decay = CosineDecay(optimizer, 100, warm_up=0.1, lowest=0.05)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(120):
        decay()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == pytest.approx(2.0)
    assert rates[10:101] == sorted(rates[10:101], reverse=True)
    assert rates[100] == rates[120] == pytest.approx(0.1)


def test_a_training_that_diverged_says_when_and_what_to_try():
    result = TrainResult(torch.zeros(1), torch.zeros(1), reason="nan", epochs=7)
    with pytest.warns(RuntimeWarning, match="epoch 7.*smaller learning_rate"):
        warn_if_diverged(result)
