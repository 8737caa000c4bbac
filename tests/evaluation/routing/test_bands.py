"""Bands of a number target."""

import numpy as np

from treelab.evaluation.routing import target_bands


def test_thirds_of_the_training_values_make_the_bands():
    band, borders = target_bands(np.arange(301.0), [0, 100, 101, 200, 250])
    assert borders == (100, 200)
    assert band.tolist() == ["low", "low", "middle", "middle", "high"]
