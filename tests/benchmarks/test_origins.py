"""``benchmarks origins``: what a learner says of its tree, held against its start."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import origins


@pytest.mark.slow
def test_a_true_origin_is_found_true_and_a_false_one_is_not(table, monkeypatch):
    rows = np.arange(len(table.load()[1]))
    train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
    found = origins.check_origin("gradtree", table, train, test, 0)
    assert found["trained"]
    assert found["is_true"]
    assert 0 <= found["changed"] <= found["splits"]
    assert found["macro_f1"] > 0.8

    real = origins.make_estimator

    def boasting(*args, **kwargs):
        learner = real(*args, **kwargs)
        fit = learner.fit

        def fit_and_boast(*args, **kwargs):
            fit(*args, **kwargs)
            own = learner.origin_
            other = own.n_splits if own.n_changed == 0 else 0
            learner.origin_ = replace(own, n_changed=other)
            return learner

        learner.fit = fit_and_boast
        return learner

    monkeypatch.setattr(origins, "make_estimator", boasting)
    assert not origins.check_origin("gradtree", table, train, test, 0)["is_true"]
