"""Straight-through training: its best step is retained, and the paper's recipe."""

import numpy as np
import pytest
import torch

from treelab.data.builtin import BUILTIN
from treelab.data.split import some_rows
from treelab.learners.common.objective import ClassObjective
from treelab.learners.common.settings import read_settings
from treelab.learners.gradtree import estimators
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor
from treelab.learners.gradtree.network import HardTrees, Judge, Rows, train_trees
from treelab.learners.gradtree.settings import SPEC, GradTreeSettings
from treelab.learners.gradtree.starts import random_starts
from treelab.training.events import Monitor
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


def network(seed=0, **settings):
    """Six random trees on rows of which two columns matter, and their errors."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    y = ((x[:, 0] > 0) & (x[:, 1] > 0)).astype(int)

    judge = Judge(y, np.ones(len(y)), 2, lambda counts: counts.argmax(1))
    return HardTrees(
        random_starts(6, 2, 4, 1, torch.Generator().manual_seed(seed)),
        Rows(x, x, y, np.ones(len(y)), judge.errors),
        ClassObjective(class_weights=np.ones(2)),
        GradTreeSettings(**settings),
    )


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_no_tree_ends_with_more_error_than_at_any_step(rate):
    trees, reports, errors = network(), [], []
    of_leaves = trees.errors
    trees.errors = lambda leaves: errors.append(of_leaves(leaves)) or errors[-1]
    settings = GradTreeSettings(
        n_steps=60, learning_rate_index=rate, learning_rate_values=rate
    )
    monitor = Monitor(60, [lambda report: reports.append(report)])
    result = train_trees(trees, settings, monitor, torch.Generator().manual_seed(0))
    error = trees.valid_loss()
    torch.testing.assert_close(error, result.best_loss.to(error))
    assert len(errors) > 5
    np.testing.assert_allclose(error, np.min(errors, axis=0), atol=1e-6)
    assert reports[0].epoch == 0
    assert error.min() < 0.3


def test_each_tree_gets_the_gradient_of_its_own_loss():
    trees = network()
    rows = torch.arange(100)
    trees.batch_loss(rows).sum().backward()
    together = trees.logits.grad.clone()
    trees.zero_grad()
    trees.batch_loss(rows)[2].backward()
    torch.testing.assert_close(trees.logits.grad[2], together[2])
    assert not trees.logits.grad[[0, 1, 3, 4, 5]].any()


@pytest.fixture
def recorded(monkeypatch):
    """The network that a fit trained and what came of it."""
    seen = {}

    class Recording(HardTrees):
        def __init__(self, *args):
            super().__init__(*args)
            seen["trees"] = self

    def train(*args):
        seen["result"] = train_trees(*args)
        return seen["result"]

    monkeypatch.setattr(estimators, "HardTrees", Recording)
    monkeypatch.setattr(estimators, "train_trees", train)
    return seen


@pytest.mark.parametrize("key", ["wine", "breast_cancer"])
def test_leaves_of_the_papers_recipe_are_those_that_trained(key, recorded):
    X, y = table(key)
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    trees, best = recorded["trees"], int(recorded["result"].best_loss.argmin())
    value = trees.leaf_value[best].detach().double().numpy()
    trained = class_probabilities(value, len(fitted.classes_))
    predicted = fitted.tree_.predicted_class[fitted.tree_.is_leaf]
    assert set(predicted) <= set(trained.argmax(axis=1))
    assert fitted.score(X, y) > 0.8
    assert fitted.origin_.start == "random"
    assert fitted.origin_.trained
    assert str(fitted.origin_).startswith("Began as random splits; training changed")


def test_the_restart_with_the_lowest_validation_loss_is_chosen(recorded):
    X, y = table("diabetes")
    fitted = GradTreeRegressor(**PAPER).fit(X, y)
    loss = recorded["trees"].valid_loss()
    assert int(recorded["result"].best_loss.argmin()) == int(torch.argmin(loss))
    assert len(loss) == PAPER["n_restarts"]
    assert fitted.history_["valid_loss"].min() >= float(loss.min()) - 1e-6


def test_rows_given_to_validate_on_choose_it_and_are_not_trained_on(recorded):
    X, y = table("wine")
    valid = np.arange(len(X)) % 4 == 0
    GradTreeClassifier(**PAPER).fit(
        X[~valid], y[~valid], X_valid=X[valid], y_valid=y[valid]
    )
    assert len(recorded["trees"].x) == (~valid).sum()
    assert len(recorded["trees"].valid[0]) == valid.sum()


def test_a_rare_class_weighs_as_much_and_is_counted_as_it_is(recorded):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 1.2, "ill", "well")
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    trees = recorded["trees"]
    weight = [trees.weight[0, trees.target == code].sum() for code in (0, 1)]
    assert weight[0] == pytest.approx(float(weight[1]), rel=1e-4)
    assert fitted.tree_.n_rows[0] == len(X)
    assert (fitted.predict(X[y == "ill"]) == "ill").mean() > 0.9


def test_the_path_is_the_tree_alone_without_a_score():
    X, y = table("iris")
    fitted = GradTreeClassifier(**PAPER).fit(X, y)
    assert [tree.n_leaves for tree in fitted.path_.trees] == [fitted.tree_.n_leaves]
    assert fitted.path_.scores["score"].isna().all()


def test_unless_set_settings_are_the_papers():
    read = read_settings(GradTreeClassifier(recipe="paper"))
    for name, value in SPEC.paper_settings.items():
        assert getattr(read, name) == value
    assert read_settings(GradTreeClassifier()).start == "greedy"


def test_trees_are_judged_by_rows_that_lack_the_last_class(monkeypatch):
    monkeypatch.setattr("treelab.learners.gradtree.estimators.JUDGED_ROWS", 60)
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    y[np.setdiff1d(np.arange(200), some_rows(200, 60))[[3, 50]]] = "rare"
    quick = {"n_steps": 4, "n_restarts": 2, "max_leaf_nodes": 4, "random_state": 0}
    assert GradTreeClassifier(**quick).fit(X, y).score(X, y) > 0.9
