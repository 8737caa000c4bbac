"""Learning rates of GRANDE, scaled by the length of the training."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from treelab.learners.grande.estimators import GrandeClassifier
from treelab.learners.grande.fit import MOST_SCALED, learning_rate_scale, plan_of
from treelab.learners.grande.settings import SPEC, GrandeSettings

SMALL = {"n_estimators": 8, "depth": 2, "max_epochs": 4, "batch_size": 32}
RATES = ("index", "values", "leaf", "weights")


def most_steps(settings, n_rows):
    plan, n_steps = plan_of(settings, n_rows)
    return plan.max_epochs * n_steps


@given(meant_for=st.integers(1, 10**6), n_steps=st.integers(1, 10**6))
def test_noise_of_all_steps_is_that_of_the_steps_meant(meant_for, n_steps):
    scale = learning_rate_scale(meant_for, n_steps)
    if scale < MOST_SCALED:
        assert scale * np.sqrt(n_steps) == pytest.approx(np.sqrt(meant_for))
    else:
        assert MOST_SCALED**2 * n_steps <= meant_for * (1 + 1e-9)


def test_no_steps_meant_leaves_rates_as_they_are():
    assert learning_rate_scale(None, 7) == 1
    assert SPEC.paper_settings["learning_rate_steps"] is None


def test_small_table_has_higher_rates_than_a_large_one():
    settings = GrandeSettings()
    scales = []
    for n_rows in (400, 2_000, 40_000):
        n_steps = most_steps(settings, n_rows)
        scales.append(learning_rate_scale(settings.learning_rate_steps, n_steps))
    assert scales == sorted(scales, reverse=True)
    assert scales[0] > 1 > scales[2]


@pytest.mark.slow
def test_scaled_rates_are_what_trains():
    X, y = load_iris(return_X_y=True)
    n_steps = most_steps(GrandeSettings(**SMALL), len(X))

    def fitted(factor: float, meant_for: int | None) -> np.ndarray:
        rates = {f"learning_rate_{of}": 0.02 * factor for of in RATES}
        learner = GrandeClassifier(
            **SMALL, **rates, learning_rate_steps=meant_for, random_state=0
        )
        return learner.fit(X, y).predict_proba(X)

    as_they_are = fitted(1.0, None)
    np.testing.assert_array_equal(fitted(1.0, n_steps), as_they_are)
    np.testing.assert_array_equal(fitted(0.5, 4 * n_steps), as_they_are)
    assert np.abs(fitted(1.0, 4 * n_steps) - as_they_are).max() > 1e-4
