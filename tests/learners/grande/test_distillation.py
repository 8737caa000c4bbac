"""Targets that follow the initial trees' predictions of rows held out."""

import numpy as np
import pytest

from treelab.learners.common.target_scale import TargetScale
from treelab.learners.grande.distillation import distilled_targets
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.grande.objective import ClassObjective, RegressionObjective

SMALL = {"n_estimators": 128, "depth": 4, "max_epochs": 20, "random_state": 0}


def classes(n_classes: int) -> ClassObjective:
    return ClassObjective(class_weights=np.ones((n_classes, 1)))


def noisy_table(n_rows: int, flipped: float, seed: int):
    """Classes by the sign of one of six columns, but for a fraction of the rows."""
    random = np.random.RandomState(seed)
    x = random.normal(size=(n_rows, 6))
    return x, (x[:, 0] > 0) ^ (random.rand(n_rows) < flipped)


def test_classes_are_mixed_with_better_predictions():
    y = np.array([0, 1, 2, 1] * 10)
    initial = 0.7 * np.eye(3)[y] + 0.1
    trained = np.full((40, 3), 1 / 3)
    target = distilled_targets(classes(3), y, initial, trained, 0.5)
    np.testing.assert_allclose(target, 0.85 * np.eye(3)[y] + 0.05, rtol=1e-6)
    assert target.dtype == np.float32


def test_numbers_are_mixed_in_their_unit_and_standardised():
    y = np.linspace(10, 30, 50)
    objective = RegressionObjective(TargetScale.of(y))
    initial, trained = y[:, None] + 2, y[:, None] - 5
    target = distilled_targets(objective, y, initial, trained, 0.25)
    np.testing.assert_allclose(target, objective.encode(y + 0.5), rtol=1e-5)


@pytest.mark.parametrize("better", [0, 3, 10])
def test_labels_stay_where_the_gain_is_not_clear(better):
    """Of 20 rows each is predicted better or worse by as much."""
    y = np.zeros(20, dtype=int)
    wins = np.arange(20) < better
    initial = np.where(wins[:, None], [[0.9, 0.1]], [[0.6, 0.4]])
    trained = np.where(wins[:, None], [[0.6, 0.4]], [[0.9, 0.1]])
    assert distilled_targets(classes(2), y, initial, trained, 0.5) is None


def test_rows_count_by_their_class_weight():
    """Few rows of the heavy class, on which trained trees are better, decide."""
    y = np.repeat([0, 1], [80, 20])
    good, bad = np.eye(2)[y], 1 - np.eye(2)[y]
    light = (y == 0)[:, None]
    predicted = np.where(light, good, bad), np.where(light, bad, good)
    assert distilled_targets(classes(2), y, *predicted, 0.5) is not None
    heavy = ClassObjective(class_weights=np.array([[1.0], [20.0]]))
    assert distilled_targets(heavy, y, *predicted, 0.5) is None


def test_a_classifier_of_noisy_classes_follows_its_initial_trees():
    x, y = noisy_table(800, 0.4, seed=0)
    distilled = GrandeClassifier(**SMALL).fit(x, y)
    assert any("50% of the loss followed" in note for note in distilled.model_.notes)
    plain = GrandeClassifier(**SMALL, distillation=0.0).fit(x, y)
    assert not any("followed" in note for note in plain.model_.notes)
    new, truth = noisy_table(4000, 0.0, seed=1)
    loss = [
        np.mean((model.predict_proba(new)[:, 1] - (0.4 + 0.2 * truth)) ** 2)
        for model in (distilled, plain)
    ]
    assert loss[0] < loss[1]


def test_a_classifier_of_clear_classes_follows_labels():
    model = GrandeClassifier(**SMALL).fit(*noisy_table(400, 0.0, seed=0))
    assert not any("followed" in note for note in model.model_.notes)


def test_a_regressor_follows_its_initial_trees_where_numbers_are_noise():
    random = np.random.RandomState(0)
    x = random.normal(size=(400, 6))
    y = x[:, 0] + random.normal(scale=5, size=400)
    model = GrandeRegressor(**SMALL).fit(x, y)
    assert any("followed" in note for note in model.model_.notes)
    assert np.isfinite(model.predict(x)).all()
