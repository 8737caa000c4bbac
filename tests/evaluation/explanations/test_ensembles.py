"""What columns change in an ensemble's prediction."""

from dataclasses import replace

import numpy as np
import pytest

from tests.pages.stores import ensemble, table
from treelab.data.split import DataSplit
from treelab.evaluation.explanations import (
    contributions,
    decision_value,
    ensemble_contributions,
    path_contributions,
)
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature


def model_and_rows(classes, target):
    frame = table(60)
    X = frame[["radius", "texture $x$", "colour"]]
    y = frame[target]
    return ensemble(classes, target, DataSplit(X, y, X, y, X, y), 9), X


@pytest.mark.parametrize(
    ("classes", "target"),
    [(None, "weight"), ((False, True), "ripe"), (("rough", "fine", "small"), "kind")],
)
def test_base_and_changes_are_the_prediction(classes, target):
    model, X = model_and_rows(classes, target)
    for place in range(4):
        row = X.iloc[[place]]
        for output in range(len(classes or (None,))):
            found = ensemble_contributions(model, row, output)
            raw = model.decision_function(row)[0]
            assert found.prediction == pytest.approx(
                float(decision_value(model, raw, output))
            )
            assert set(found.changes) <= set(X.columns)


def test_trees_of_one_leaf_change_nothing():
    none, leaf = np.zeros((3, 0)), np.full((3, 1, 1), 2.0)
    model = WeightedTrees((Feature("x"),), none, none, none, leaf, np.zeros((3, 1)))
    found = contributions(model, np.ones((1, 1)))
    assert (found.base, found.changes) == (2, {})


def test_changes_are_those_of_single_trees_by_their_weights():
    model, X = model_and_rows(("rough", "fine", "small"), "kind")
    rng = np.random.default_rng(0)
    value = rng.dirichlet(np.ones(3), size=model.leaf_value.shape[:2])
    model = replace(model, leaf_value=value, leaf_output="probabilities")
    row = X.iloc[[3]]
    found = ensemble_contributions(model, row, 1)
    slow: dict[str, float] = {}
    for e, weight in enumerate(model.estimator_weights(row)[0]):
        for name, change in path_contributions(
            model.estimator(e), row, 1
        ).changes.items():
            slow[name] = slow.get(name, 0.0) + weight * change
    assert found.changes == pytest.approx({k: v for k, v in slow.items() if v})
