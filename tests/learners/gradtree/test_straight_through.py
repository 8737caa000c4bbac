"""The paper's recipe: hard trees by straight-through gradients."""

import numpy as np
import pytest
import torch

from treelab.data.builtin import BUILTIN
from treelab.learners.common.spec import read_settings
from treelab.learners.gradtree import straight_through
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.learners.gradtree.settings import SPEC
from treelab.trees.logits import class_probabilities

PAPER = {
    "recipe": "paper",
    "max_depth": 3,
    "n_restarts": 3,
    "max_epochs": 100,
    "random_state": 0,
}


def table(key):
    builtin = BUILTIN[key]
    frame = builtin.load()
    return frame.drop(columns=builtin.target), frame[builtin.target]


@pytest.fixture
def recorded(monkeypatch):
    """What ``train_straight_through`` worked with and returned."""
    seen = {"rows": 0}
    network, fitted = straight_through.StraightThroughTrees, straight_through.train

    class Recording(network):
        def __init__(self, *args):
            super().__init__(*args)
            seen["trees"] = self

    def train(*args, **more):
        seen["result"] = fitted(*args, **more)
        return seen["result"]

    monkeypatch.setattr(straight_through, "StraightThroughTrees", Recording)
    monkeypatch.setattr(straight_through, "train", train)
    return seen


@pytest.mark.parametrize("key", ["wine", "breast_cancer"])
def test_leaves_are_those_that_trained(key, recorded):
    X, y = table(key)
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    trees, best = recorded["trees"], recorded["result"].best
    n_classes = len(fitted.classes_)
    value = trees.leaf_value[best].detach().double().numpy()
    trained = class_probabilities(value, n_classes)
    predicted = fitted.tree_.predicted_class[fitted.tree_.is_leaf]
    assert set(predicted) <= set(trained.argmax(axis=1))
    assert fitted.score(X, y) > 0.8
    assert fitted.origin_.start == "random"
    assert fitted.origin_.trained
    assert str(fitted.origin_).startswith("Began as random splits; training changed")


def test_the_restart_with_the_lowest_validation_loss_is_chosen(recorded):
    X, y = table("diabetes")
    GradTreeRegressor(**PAPER).fit(X, y)
    loss = recorded["trees"].valid_loss()
    assert recorded["result"].best == int(torch.argmin(loss))
    assert len(loss) == PAPER["n_restarts"]


def test_rows_given_to_validate_on_choose_it_and_are_not_trained_on(recorded):
    X, y = table("wine")
    rows = np.arange(len(X))
    valid = rows % 4 == 0
    GradTreeClassifier(**PAPER).fit(
        X[~valid], y[~valid], X_valid=X[valid], y_valid=y[valid]
    )
    assert len(recorded["trees"].x) == (~valid).sum()
    assert len(recorded["trees"].x_valid) == valid.sum()


def test_a_rare_class_is_oversampled_by_smote_and_counted_as_it_is(recorded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 1.2, "ill", "well")
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    target = recorded["trees"].target
    assert (target == 0).sum() == (target == 1).sum()
    assert fitted.tree_.n_rows[0] == len(X)
    assert (fitted.predict(X[y == "ill"]) == "ill").mean() > 0.9


def test_even_classes_are_not_oversampled(recorded):
    X, y = table("iris")
    GradTreeClassifier(**PAPER).fit(X, y)
    assert len(recorded["trees"].target) <= len(X)


def test_the_path_is_the_tree_alone_without_a_score():
    X, y = table("iris")
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    assert [tree.n_leaves for tree in fitted.path_.trees] == [fitted.tree_.n_leaves]
    assert fitted.path_.scores["score"].isna().all()


def test_unless_set_settings_are_the_papers():
    read = read_settings(GradTreeClassifier(recipe="paper"))
    for name, value in SPEC.paper_settings.items():
        assert getattr(read, name) == value
    assert read_settings(GradTreeClassifier()).max_depth == 10
