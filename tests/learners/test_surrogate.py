"""A tree that imitates any model with predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treelab

QUICK = {"tune": False, "max_leaf_nodes": 4}


class Rule:
    """Nothing but a predict: a step in x0, noise where x1 is large."""

    def predict(self, X):
        x = np.asarray(X)
        noise = np.random.default_rng(0).random(len(x)) < 0.5
        return np.where((x[:, 1] > 0.8) & noise, x[:, 0] <= 0, x[:, 0] > 0)


def rows(n_rows: int = 400) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, (n_rows, 3))


def test_any_object_with_predict_is_imitated_and_its_errors_are_found():
    X = rows(1000)
    found = treelab.surrogate(Rule(), X, learner="cart", settings=QUICK)
    assert found.imitation.fidelity["n_rows"] == 200
    assert found.imitation.fidelity["accuracy"] > 0.85
    assert not found.imitation.against_truth
    root = found.residual_tree_
    assert root.columns[0] == "x1"  # where the noise is
    assert found.residual_scores["balanced_accuracy"] > 0.6
    assert "a residual tree of" in str(found)


def test_a_pipeline_of_scikit_learn_is_imitated_beside_the_truth():
    X = pd.DataFrame(rows(), columns=["u", "v", "w"])
    y = np.where(X["u"] * X["v"] > 0, "up", "down")
    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(StandardScaler(), forest).fit(X[:200], y[:200])
    found = treelab.surrogate(model, X, y, settings=QUICK)
    assert found.imitation.task == "binary"
    scores = found.imitation.against_truth["macro_f1"]
    assert scores.first >= scores.second
    assert found.tree_.columns <= ("u", "v", "w")
    assert set(found.predict(X)) <= {"up", "down"}


@pytest.mark.slow
def test_rows_weigh_in_both_trees_and_in_all_scores():
    X = rows(1000)
    weight = np.where(X[:, 1] > 0.8, 20.0, 1.0)  # where nothing can be learned
    y = Rule().predict(X)
    found = treelab.surrogate(Rule(), X, y, weight, settings=QUICK)
    alike = treelab.surrogate(Rule(), X, y, settings=QUICK)
    assert found.tree_.weight[0] > found.tree_.n_rows[0]
    fidelity = found.imitation.fidelity["accuracy"]
    assert fidelity < alike.imitation.fidelity["accuracy"] - 0.1
    assert found.imitation.against_truth["accuracy"].second == pytest.approx(fidelity)
    with pytest.raises(ValueError, match="above 0"):
        treelab.surrogate(Rule(), X, sample_weight=0 * weight + (X[:, 0] > 0))


def test_numbers_are_imitated_too():
    class Plane:
        def predict(self, X):
            return 3 * np.asarray(X)[:, 0]

    found = treelab.surrogate(Plane(), rows(200), settings=QUICK)
    assert found.imitation.task == "regression"
    assert found.imitation.fidelity["r2"] > 0.8


def test_a_model_that_always_predicts_the_same_is_refused():
    class Constant:
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="same for every row"):
        treelab.surrogate(Constant(), rows(30))
