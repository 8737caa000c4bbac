"""The heaviest trees alone, against one row and one tree at a time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trees.make import make_table
from tests.trees.test_ensemble import make_ensemble
from treelab.evaluation.ensembles import (
    counts_to_try,
    predictions_of_heaviest,
    rows_decided_by_one,
    scores_of_heaviest,
    weight_that_agrees,
)
from treelab.evaluation.metrics import headline, scores
from treelab.trees.logits import class_probabilities

SEEDS = st.integers(0, 2**32 - 1)


def ensemble_and_rows(seed, n_classes, n_trees=7, n_rows=30):
    rng = np.random.default_rng(seed)
    ensemble = make_ensemble(rng, n_trees, 2, n_classes)
    X = make_table(rng, n_rows)
    y = rng.normal(size=n_rows)
    if n_classes:
        y = rng.choice(ensemble.classes, n_rows)
    return ensemble, X, y


def prediction_of(ensemble, value):
    """Label or value of one row's raw outputs."""
    if ensemble.classes is None:
        return value[0]
    proba = class_probabilities(value[None], len(ensemble.classes))[0]
    return ensemble.classes[int(proba.argmax())]


def test_no_more_trees_are_tried_than_may_decide():
    ensemble, X, _ = ensemble_and_rows(0, 2)
    limited = replace(ensemble, max_deciders=4)
    assert counts_to_try(limited) == (1, 2, 3, 4)
    found = predictions_of_heaviest(limited, X, [3, 4, 7])
    for count in (4, 7):
        np.testing.assert_array_equal(found[count], limited.predict(X))
    three = predictions_of_heaviest(ensemble, X, [3])[3]
    fewer = replace(limited, max_deciders=3).predict(X)
    np.testing.assert_array_equal(found[3], three)
    np.testing.assert_array_equal(found[3], fewer)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=SEEDS, n_classes=st.sampled_from([0, 2, 3]))
def test_the_heaviest_predict_as_their_rescaled_weights_say(seed, n_classes):
    ensemble, X, y = ensemble_and_rows(seed, n_classes)
    counts = counts_to_try(ensemble)
    assert counts == (1, 2, 3, 5, 7)
    found = predictions_of_heaviest(ensemble, X, counts)
    weights, leaves = ensemble.estimator_weights(X), ensemble.leaves(X)
    for count in counts[:-1]:
        for row in range(len(X)):
            order = np.argsort(-weights[row], kind="stable")[:count]
            own = weights[row, order] / weights[row, order].sum()
            value = own @ ensemble.leaf_value[order, leaves[row, order]]
            expected = prediction_of(ensemble, value)
            if n_classes:
                assert found[count][row] == expected
            else:
                assert found[count][row] == pytest.approx(expected)
    np.testing.assert_array_equal(found[7], ensemble.predict(X))
    metric = headline(ensemble.task)
    expected = [scores(ensemble.task, y, found[count])[metric] for count in counts]
    np.testing.assert_allclose(scores_of_heaviest(ensemble, X, y, counts), expected)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=SEEDS, n_classes=st.sampled_from([0, 3]), share=st.floats(0, 0.9))
def test_decided_rows_are_those_of_one_leaf_of_their_heaviest_tree(
    seed, n_classes, share
):
    ensemble, X, y = ensemble_and_rows(seed, n_classes)
    decided = rows_decided_by_one(ensemble, X, y, share=share)
    index, weight = ensemble.top_estimators(X)
    listed = np.sort(np.concatenate([d.rows for d in decided] or [[]]))
    np.testing.assert_array_equal(listed, np.flatnonzero(weight[:, 0] > share))
    sizes = [len(d.rows) for d in decided]
    assert sizes == sorted(sizes, reverse=True)
    for own in decided:
        assert (index[own.rows, 0] == own.estimator).all()
        assert own.weight == pytest.approx(weight[own.rows, 0].mean())
        tree = ensemble.estimator(own.estimator)
        (leaf,) = set(tree.apply(X.iloc[own.rows]).tolist())
        assert tree.is_leaf[leaf]
        predicted = tree.predict(X.iloc[own.rows])
        assert (predicted == own.prediction).all()
        if n_classes:
            assert own.n_right == sum(predicted == y[own.rows])
        else:
            error = np.abs(predicted - y[own.rows]).mean()
            assert own.mean_absolute_error == pytest.approx(error)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=SEEDS)
def test_agreement_is_the_weight_of_the_trees_that_predict_the_same(seed):
    ensemble, X, _ = ensemble_and_rows(seed, 3, n_rows=1)
    agrees = [
        ensemble.estimator(e).predict(X)[0] == ensemble.predict(X)[0]
        for e in range(ensemble.n_estimators)
    ]
    expected = (ensemble.estimator_weights(X)[0] * agrees).sum()
    assert weight_that_agrees(ensemble, X) == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_rows_that_one_tree_decides_count_by_weight(n_classes):
    ensemble, X, y = ensemble_and_rows(0, n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = rows_decided_by_one(ensemble, X, y, weight, share=0.2)
    repeated = rows_decided_by_one(ensemble, X.iloc[twice], y[twice], share=0.2)
    by_rule = {(own.estimator, own.rule): own for own in repeated}
    assert len(weighted) == len(by_rule) > 1
    for own in weighted:
        other = by_rule[own.estimator, own.rule]
        for name in ("weight", "accuracy", "mean_absolute_error"):
            assert getattr(own, name) == pytest.approx(getattr(other, name))


def test_impossible_counts_and_shares_are_refused():
    ensemble, X, y = ensemble_and_rows(0, 2)
    for count in (0, 8):
        with pytest.raises(ValueError, match="from 1 to 7"):
            predictions_of_heaviest(ensemble, X, [count])
    with pytest.raises(ValueError, match="below 1"):
        rows_decided_by_one(ensemble, X, y, share=1.0)
