"""The one factor of log-odds, against a grid of all of them."""

import numpy as np
import pytest
from scipy.special import log_softmax

from treelab.learners.grande.fit import SCALES, measured_scale


@pytest.mark.parametrize("sure", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_undoes_how_much_too_sure_logits_are(sure, seed):
    rng = np.random.default_rng(seed)
    prior = np.log([0.6, 0.3, 0.1])
    odds = rng.normal(size=(20_000, 3))
    chance = np.exp(log_softmax(odds + prior, axis=1))
    target = (chance.cumsum(axis=1) < rng.random((len(odds), 1))).sum(axis=1)
    assert measured_scale(sure * odds, target, prior) == pytest.approx(
        1 / sure, rel=0.05
    )


@pytest.mark.parametrize("seed", range(5))
def test_no_factor_of_a_grid_is_better(seed):
    rng = np.random.default_rng(seed)
    prior, odds = np.log([0.5, 0.5]), rng.normal(size=(40, 2))
    target = rng.integers(2, size=40)

    def loss(scale: float) -> float:
        return -log_softmax(scale * odds + prior, axis=1)[range(40), target].mean()

    found = measured_scale(odds, target, prior)
    assert loss(found) <= min(map(loss, np.geomspace(*SCALES, 200))) + 1e-6
