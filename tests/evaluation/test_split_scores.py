"""Scores of several trees on the same rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.figures.small_trees import number_tree
from treelab.data.problem import Problem
from treelab.data.split import DataSplit
from treelab.evaluation.metrics import (
    BASELINE,
    log_loss_words,
    split_scores,
    total_words,
)
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.losses import Loss


@pytest.mark.slow
def test_log_losses_stand_beside_those_of_the_class_frequencies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    frame["y"] = np.where(frame["x"] + rng.normal(size=200) > 0, "yes", "no")
    problem = Problem("id", "t", "y", ("x",), task="binary", seed=0)
    split = problem.split(frame)
    tree = CartClassifier(random_state=0).fit(split.X_train, split.y_train).tree_
    found = split_scores(tree, "binary", split)["test"]
    share = split.y_train.value_counts(normalize=True)
    assert found[BASELINE] == pytest.approx(-np.log(share[split.y_test]).mean())
    words = f"log loss {found['log_loss']:.3g}, class frequencies alone "
    assert log_loss_words(found) == words + f"{found[BASELINE]:.3g}"
    worse = found | {"log_loss": 2.0}
    assert "worse than the class frequencies" in log_loss_words(worse)
    assert log_loss_words({"r2": 1.0}) == ""


def chances_called_worse(sure: float, right: float, n_tables: int = 60) -> int:
    """How many tables say so of a stump as ``sure`` of each half, if so often right."""
    tree, X, _ = number_tree()
    value = [[0.5, 0.5], [1 - sure, sure], [sure, 1 - sure]]
    tree = replace(tree, value=np.array(value), classes=("no", "yes"))
    half, rng, said = np.arange(40) < 20, np.random.default_rng(0), 0
    y = pd.Series(np.where(half, "yes", "no"))
    for _ in range(n_tables):
        truth = pd.Series(np.where(half == (rng.random(40) < right), "yes", "no"))
        split = DataSplit(X, y, X[:0], y[:0], X.set_axis(range(40, 80)), truth)
        found = split_scores(tree, "binary", split)["test"]
        said += "worse than the class frequencies" in log_loss_words(found)
    return said


def test_probabilities_are_called_worse_where_chance_seldom_makes_them_so():
    # Right in 55 of 100 rows, probabilities of 0.6 are as good as none: by chance they
    # lose on every second table.
    assert chances_called_worse(sure=0.6, right=0.55) <= 3
    assert chances_called_worse(sure=0.95, right=0.5) >= 50


def test_only_mean_rates_add_up_to_a_total():
    tree, X, y = number_tree()
    y, weight = pd.Series(y), pd.Series(np.linspace(1, 2, len(X)))
    split = DataSplit(X, y, X, y, X, y, weight=weight, is_rate=True)
    assert split_scores(tree, "regression", split)["test"]["total"] == weight @ y
    values = np.repeat(tree.value, 2, axis=1)
    two = {"outputs": ("low", "high"), "loss": Loss("quantile", (0.1, 0.9))}
    quantiles = replace(tree, value=values, **two)
    assert "total" not in split_scores(quantiles, "regression", split)["test"]


def test_amounts_of_weighted_rows_say_so():
    found = {"predicted_total": 71.0, "total": 81.5}
    assert total_words(found, "claims") == "71.0 claims predicted, 81.5 observed"
    said = total_words(found, "claims", "weight")
    assert said == "71.0 claims predicted, 81.5 observed, weighted by weight"
