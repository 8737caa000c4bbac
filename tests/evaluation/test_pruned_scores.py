"""Scores along a cost-complexity path, against building each tree."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treelab.evaluation.metrics import headline, scores
from treelab.evaluation.pruning import cost_sums, pruned_depths, pruned_scores
from treelab.trees.feature import Feature
from treelab.trees.pruning import cost_complexity_path
from treelab.trees.tree import Tree, rows_through


def grown(task: str, seed: int):
    """A greedy tree on noisy rows, with other rows to score it on."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = X["a"] + X["b"] ** 2 + rng.normal(size=400)
    if task != "regression":
        y = pd.Series(np.array(["lo", "mid", "hi"])[np.digitize(y, [0.3, 1.5])])
    model = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    fitted = (
        model(max_depth=7, random_state=seed).fit(X[:250].to_numpy(), y[:250]).tree_
    )
    leaf = fitted.children_left < 0
    tree = Tree(
        tuple(Feature(name) for name in X),
        fitted.children_left,
        fitted.children_right,
        np.where(leaf, -1, fitted.feature),
        np.where(leaf, np.nan, fitted.threshold),
        np.zeros(len(leaf), bool),
        fitted.value[:, 0, :],
        np.zeros(len(leaf), int),
        np.full(len(leaf), np.nan),
        classes=None if task == "regression" else ("hi", "lo", "mid"),
    )
    return tree.with_rows(X[:250], y[:250]), X[250:], y[250:]


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scores_and_depths_are_those_of_each_tree_built(task, seed):
    tree, X, y = grown(task, seed)
    path = cost_complexity_path(tree)
    built = [scores(task, y, each.predict(X))[headline(task)] for each in path]
    assert len(built) > 10
    assert pruned_scores(path, X, y).tolist() == pytest.approx(built)
    assert pruned_depths(path).tolist() == [each.depth for each in path]


@pytest.mark.parametrize("seed", [0, 1])
def test_costs_of_errors_are_those_of_each_tree_built(seed):
    tree, X, y = grown("multiclass", seed)
    path = cost_complexity_path(tree)
    costs = np.array([[0, 1, 5.0], [2, 0, 1], [7, 1, 0]])
    code = pd.Categorical(y, categories=list(tree.classes)).codes
    counts = rows_through(tree, tree.apply(X), code.astype(int), 3)[:, None]
    sums = cost_sums(path, counts, tree.predicted_class, costs)
    for step, each in enumerate(path):
        predicted = each.predicted_class[each.apply(X)]
        assert sums[step, 0, 0, 0] == pytest.approx(costs[code, predicted].sum())
    root = tree.predicted_class[0]
    assert (sums[:, 0, 1, 0] == costs[code, root].sum()).all()


@pytest.mark.parametrize("names", [("new",), ("new", "newer")])
def test_classes_that_only_the_rows_hold_count_against_the_score(names):
    tree, X, y = grown("multiclass", 0)
    path = cost_complexity_path(tree)
    y = y.copy()
    y[:20] = np.resize(names, 20)
    built = [scores("multiclass", y, t.predict(X))["macro_f1"] for t in path]
    assert pruned_scores(path, X, y).tolist() == pytest.approx(built)


def test_linear_leaves_answer_until_they_are_cut():
    tree = Tree.complete(
        (Feature("x", fill=0.0),),
        [0],
        [5.0],
        [True],
        [[2.0], [8.0]],
        leaf_weights=[[1.0], [0.0]],
        leaf_bias=[[0.0], [8.0]],
    )
    X = pd.DataFrame({"x": np.arange(10.0)})
    y = np.where(X["x"] <= 5, X["x"], 8)
    path = cost_complexity_path(tree.with_rows(X, y))
    assert pruned_scores(path, X, y).tolist() == pytest.approx([1, 0])
