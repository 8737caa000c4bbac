"""The heaviest trees of an ensemble are found as plain sums over all rows find them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.pages.stores import ensemble, table
from treelab.data.problem import make_problem
from treelab.evaluation import ensembles as estimator_weights
from treelab.evaluation.ensembles import (
    are_equal,
    heaviest_estimators,
    mean_estimator_weights,
)


def model_and_rows():
    """A hand-made ensemble and its test rows."""
    frame = table()
    problem = make_problem(frame, "kind", columns=["radius", "texture $x$", "colour"])
    split = problem.split(frame)
    classes = tuple(split.y_train.value_counts().index.tolist())
    return ensemble(classes, "kind", split), split.X_test


@pytest.mark.parametrize("block", [1, 7, 2_000])
def test_the_mean_does_not_depend_on_the_blocks(block, monkeypatch):
    monkeypatch.setattr(estimator_weights, "_BLOCK", block)
    model, X = model_and_rows()
    expected = model.estimator_weights(X).mean(axis=0)
    assert mean_estimator_weights(model, X) == pytest.approx(expected)
    assert mean_estimator_weights(model, X).sum() == pytest.approx(1)
    assert not mean_estimator_weights(model, X[:0]).any()


def test_the_heaviest_come_first():
    model, X = model_and_rows()
    index, weight = heaviest_estimators(model, X, 5)
    mean = mean_estimator_weights(model, X)
    assert weight.tolist() == sorted(mean, reverse=True)[:5]
    assert mean[index].tolist() == weight.tolist()


def test_equal_weights_are_told_from_different_ones():
    assert are_equal(np.full(3, 1 / 3))
    assert not are_equal(np.array([0.5, 0.3, 0.2]))


def test_trees_decide_that_have_weight_on_some_row():
    model, X = model_and_rows()
    sparse = replace(model, leaf_weight=9 * model.leaf_weight, weighting="entmax15")
    weights = sparse.estimator_weights(X)
    expected = [e for e, own in enumerate(weights.T) if any(w > 0 for w in own)]
    assert np.flatnonzero(mean_estimator_weights(sparse, X)).tolist() == expected
    assert (mean_estimator_weights(model, X) > 0).all()
