"""Curves of one class, against scikit-learn's and against counting."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from treelab.evaluation.comparison import calibration, class_curves


def rows(seed: int, n_rows: int = 300, n_values: int = 20):
    """Labels, and probabilities with the ties that leaves make."""
    rng = np.random.default_rng(seed)
    probability = rng.integers(0, n_values + 1, n_rows) / n_values
    return rng.random(n_rows) < 0.2 + 0.6 * probability, probability


@pytest.mark.parametrize("seed", range(3))
def test_areas_are_scikit_learns(seed):
    is_class, probability = rows(seed)
    found = class_curves(is_class, probability)
    assert found.roc_area == pytest.approx(roc_auc_score(is_class, probability))
    assert found.average_precision == pytest.approx(
        average_precision_score(is_class, probability)
    )
    assert found.brier == pytest.approx(brier_score_loss(is_class, probability))


@pytest.mark.parametrize("seed", range(3))
def test_each_point_is_what_counting_at_its_threshold_gives(seed):
    is_class, probability = rows(seed)
    found = class_curves(is_class, probability)
    for x, y, threshold in found.roc.itertuples(index=False):
        predicted = probability >= threshold
        assert x == pytest.approx(predicted[~is_class].mean())
        assert y == pytest.approx(predicted[is_class].mean())
    for x, y, threshold in found.precision_recall[:-1].itertuples(index=False):
        predicted = probability >= threshold
        assert x == pytest.approx(recall_score(is_class, predicted))
        assert y == pytest.approx(precision_score(is_class, predicted))


@pytest.mark.parametrize("n_values", [3, 20, 997])
def test_calibration_is_scikit_learns(n_values):
    is_class, probability = rows(0, n_values=n_values)
    found = calibration(is_class, probability)
    observed, predicted = calibration_curve(is_class, probability, n_bins=10)
    assert found["observed"].to_numpy() == pytest.approx(observed)
    assert found["predicted"].to_numpy() == pytest.approx(predicted)
    assert found["rows"].sum() == len(is_class)


def test_one_class_alone_has_no_curve():
    with pytest.raises(ValueError, match="rows of another one"):
        class_curves(np.ones(5, bool), np.linspace(0, 1, 5))


def test_a_bin_in_which_no_row_weighs_anything_is_left_out():
    found = calibration(np.array([True, False]), np.array([0.9, 0.1]), np.eye(2)[0])
    assert found.to_numpy().tolist() == [[0.9, 1.0, 1.0]]
