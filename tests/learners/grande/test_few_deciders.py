"""Few trees decide a row: by entmax, by concentration and by the entropy penalty."""

import numpy as np
import pytest
import torch

from tests.learners.grande.test_estimators import QUICK, RecordingClassifier, table
from treelab.learners.grande.estimators import GrandeClassifier


@pytest.mark.slow
def test_entmax_lets_few_trees_decide_and_leaves_the_others_out():
    _, X, y = table("breast_cancer")
    settings = QUICK | {"n_estimators": 128, "max_epochs": 20}
    few = GrandeClassifier(**settings).fit(X, y)
    fewer = GrandeClassifier(**settings, concentration=6.0).fit(X, y)
    many = GrandeClassifier(**settings, weighting="softmax").fit(X, y)
    counts = [
        np.median(m.ensemble_.n_estimators_for_share(X, 0.9))
        for m in (fewer, few, many)
    ]
    assert counts[0] < counts[1] < counts[2]
    assert (few.ensemble_.estimator_weights(X) == 0).mean() > 0.5
    assert few.ensemble_.estimator_weights(X).any(axis=0).all()
    assert fewer.ensemble_.n_estimators < many.ensemble_.n_estimators == 128
    assert f"{fewer.ensemble_.n_estimators} of 128 trees" in fewer.ensemble_.notes[1]
    assert fewer.origin_.n_splits == fewer.ensemble_.feature.size


def test_the_entropy_of_each_rows_weights_is_added_to_its_loss():
    _, X, y = table("breast_cancer")
    network, *_ = RecordingClassifier(**QUICK).fit(X, y).exported
    rows = torch.arange(50)
    losses = []
    for penalty in (0.0, 0.01):
        network.entropy_penalty = penalty
        losses.append(network.batch_loss(rows).item())
    _, weights = network.with_weights(network.rows.x[rows])
    effective = 1 / weights[0].detach().square().sum(0)  # number of trees, (B,)
    added = 0.01 * effective.log().mean().item()
    assert losses[1] - losses[0] == pytest.approx(added, rel=1e-3)


@pytest.mark.slow
def test_the_higher_the_entropy_penalty_the_fewer_trees_decide():
    _, X, y = table("breast_cancer")
    # One epoch of many steps: all penalties train equally long.
    settings = QUICK | {"n_estimators": 128, "max_epochs": 1, "batch_size": 4}
    counts = []
    for penalty in (0.0, 0.02, 0.1, 0.3):
        ensemble = (
            GrandeClassifier(**settings, entropy_penalty=penalty).fit(X, y).model_
        )
        counts.append(ensemble.n_estimators_for_share(X, 0.9).mean())
    assert counts[0] > counts[1] > counts[2] > counts[3]
