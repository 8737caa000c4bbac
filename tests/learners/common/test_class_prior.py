import numpy as np
import pytest
from sklearn.metrics import f1_score

from treelab.learners.common.base import POWERS, best_weight_power


def log_proba(second):
    return np.log(np.stack([1 - second, second], 1))


def test_predictions_shift_to_a_rare_class_that_is_seldom_the_likelier_one():
    rng = np.random.default_rng(0)
    proba = rng.choice([0.02, 0.4], size=4000, p=[0.8, 0.2])
    target = (rng.random(4000) < proba).astype(int)
    balanced = np.log(len(target) / (2 * np.bincount(target)))
    power = best_weight_power(log_proba(proba), target, balanced)
    predicted = (log_proba(proba) + power * balanced).argmax(1)
    assert predicted.sum() == (proba == 0.4).sum()


def test_balanced_classes_are_left_as_they_are():
    rng = np.random.default_rng(0)
    proba = rng.random(1000)
    target = (rng.random(1000) < proba).astype(int)
    assert best_weight_power(log_proba(proba), target, np.zeros(2)) == 0


@pytest.mark.slow
def test_the_power_of_few_rows_is_less_jumpy_than_the_best_of_each_sample():
    rng = np.random.default_rng(0)
    bagged, best = [], []
    for _ in range(30):
        proba = rng.beta(1, 4, size=100)
        target = (rng.random(100) < proba).astype(int)
        balanced = np.log(100 / (2 * np.bincount(target, minlength=2)))
        bagged.append(best_weight_power(log_proba(proba), target, balanced))
        scores = []
        for power in POWERS:
            predicted = (log_proba(proba) + power * balanced).argmax(1)
            scores.append(f1_score(target, predicted, average="macro"))
        best.append(POWERS[np.argmax(scores)])
    assert np.std(bagged) < 0.8 * np.std(best)
