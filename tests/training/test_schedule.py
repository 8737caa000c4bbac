import pytest
import torch

from treelab.training.loop import cosine_decay


def test_rates_warm_up_and_then_fall_to_the_lowest_and_stay():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    scheduler = cosine_decay(optimizer, 100, warm_up=0.1, lowest=0.05)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(120):
        optimizer.step()
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates[0] == pytest.approx(0.2)
    assert max(rates) == pytest.approx(2.0)
    assert rates[10:101] == sorted(rates[10:101], reverse=True)
    assert rates[100] == rates[120] == pytest.approx(0.1)
