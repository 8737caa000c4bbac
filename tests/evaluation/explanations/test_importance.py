"""What matters overall."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.figures.small_trees import number_tree, oblique_tree, stump_and_more
from tests.trees.make import make_table, make_target, make_tree
from treelab.evaluation import importance
from treelab.evaluation.importance import (
    by_column,
    ensemble_importances,
    impurity_importances,
    n_shuffles,
    permutation_importances,
    shuffled_words,
)
from treelab.trees.adapters.scikit_learn import from_sklearn
from treelab.trees.ensemble import WeightedTrees
from treelab.trees.feature import Feature


def test_a_shuffled_column_that_decides_matters_and_an_unread_one_does_not():
    tree, X, y = stump_and_more()
    found = permutation_importances(tree, X.assign(idle="x"), y, "multiclass")
    assert found["column"].tolist() == ["radius", "texture", "idle"]
    assert found["importance"].iloc[0] > found["importance"].iloc[1] > 0
    assert found.iloc[2].tolist() == ["idle", 0, 0, False]
    again = permutation_importances(tree, X.assign(idle="x"), y, "multiclass")
    assert again.equals(found)


def test_numbers_are_scored_by_r2_and_many_rows_by_a_sample(monkeypatch):
    tree, X, _ = number_tree()
    monkeypatch.setattr(importance, "MOST_ROWS", 20)
    found = permutation_importances(tree, X, tree.predict(X), "regression")
    assert found["importance"][0] > 0.5


def test_impurity_importances_are_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=300) > 0).astype(int)
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    found = impurity_importances(from_sklearn(fitted)).set_index("column")["importance"]
    expected = {f"x{k}": v for k, v in enumerate(fitted.feature_importances_) if v}
    assert (found / found.sum()).to_dict() == pytest.approx(expected)


def test_a_weighted_sum_shares_its_gain():
    tree, X, y = oblique_tree()
    found = impurity_importances(tree.with_rows(X, y))
    assert found["column"].tolist() == ["radius", "<texture>"]
    assert found["importance"].sum() == pytest.approx(1)
    assert found["importance"][0] == pytest.approx(11.5 / 17.1)


def test_together_they_are_what_the_tree_removes():
    rng = np.random.default_rng(4)
    tree, X = make_tree(rng, 9, oblique=0.4), make_table(rng, 200)
    tree = tree.with_rows(X, make_target(rng, tree, 200))
    left = (tree.n_rows * np.nan_to_num(tree.impurity))[tree.is_leaf].sum()
    removed = 1 - left / (tree.n_rows[0] * tree.impurity[0])
    assert impurity_importances(tree)["importance"].sum() == pytest.approx(removed)
    unknown = replace(tree, impurity=np.full(tree.n_nodes, np.nan))
    with pytest.raises(ValueError, match="with rows and impurities"):
        impurity_importances(unknown)


def test_a_tree_of_means_has_the_importances_of_its_impurity_and_trees_are_weighted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 2 * (X[:, 1] > 0) + 0.1 * rng.normal(size=200)
    feature = np.array([[1, 0, 0], [2, 2, 1], [0, 0, 0]])
    splits = np.array([[0.0, -0.3, 0.4], [0.5, 0.2, 0.0], [9.0, 9.0, 9.0]])
    ensemble = WeightedTrees(
        tuple(Feature(f"x{j}") for j in range(3)),
        feature=feature,
        threshold=splits,
        missing_left=np.zeros((3, 3), dtype=bool),
        leaf_value=np.zeros((3, 4, 1)),
        leaf_weight=np.zeros((3, 4)),
    )
    leaf = ensemble.leaves(X)
    means = [[y[of == k].mean() if (of == k).any() else 0 for k in range(4)]
             for of in leaf.T]  # fmt: skip
    ensemble = replace(ensemble, leaf_value=np.array(means)[:, :, None]).with_rows(X)
    weights = np.array([0.7, 0.2, 0.1])
    expected = np.zeros(3)
    for number, weight in enumerate(weights):
        tree = ensemble.estimator(number, X, y)
        alone = by_column(["x0", "x1", "x2"], impurity_importances(tree))
        expected += weight * alone
    assert (ensemble_importances(ensemble, weights)) == pytest.approx(expected)
    assert expected.sum() == pytest.approx(0.9)  # the third tree decides nothing


def test_a_shift_of_all_logits_is_of_no_importance():
    shape = np.array([[[1.0, 1.0], [5.0, 5.0]], [[1.0, 0.0], [0.0, 1.0]]])  # (E, L, C)
    ensemble = WeightedTrees(
        (Feature("a"), Feature("b")),
        feature=[[0], [1]],
        threshold=[[0.0], [0.0]],
        missing_left=[[False], [False]],
        leaf_value=shape,
        leaf_weight=np.zeros((2, 2)),
        classes=("no", "yes"),
        n_rows=[[9, 4, 5], [9, 3, 6]],
    )
    assert ensemble_importances(ensemble, np.array([0.5, 0.5])).tolist() == [0, 0.5]


def test_a_column_does_not_matter_clearly_where_shuffles_score_as_well():
    rng = np.random.default_rng(12)  # noise of which t alone calls a column clear
    X = pd.DataFrame(rng.normal(size=(190, 4)), columns=list("abcd"))
    y = np.where(rng.random(190) < 0.12, "yes", "no")
    fitted = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)
    tree = from_sklearn(fitted.fit(X[:150], y[:150]))
    found = permutation_importances(tree, X[150:], y[150:], "binary")
    assert (found["importance"] > 3 * found["std"]).any()
    words = shuffled_words(found, "macro F1")
    assert words.endswith("; 0 of 4 features clearly matter.")


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "least"), [(40, 20), (60, 24), (300, 29)])
def test_a_column_that_decides_matters_and_noise_seldom_however_few_rows(n_rows, least):
    false = decisive = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(150 + n_rows, 4)), columns=list("abcd"))
        noise = rng.random(150 + n_rows) < 0.12
        own = X["a"] + 0.5 * rng.normal(size=len(X)) > 0
        for y, name in ((noise, ""), (own, "a")):
            y = np.where(y, "yes", "no")
            fitted = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)
            tree = from_sklearn(fitted.fit(X[:150], y[:150]))
            found = permutation_importances(tree, X[150:], y[150:], "binary")
            clear = set(found.loc[found["clear"], "column"])
            false += bool(clear - {name})
            decisive += "a" in clear and bool(name)
    assert false <= 4  # of 60: 3 by chance
    assert decisive >= least


def test_what_a_shuffle_costs_is_what_shuffling_rows_costs():
    tree, X, y = stump_and_more()
    found = permutation_importances(tree, X, y, "multiclass").set_index("column")
    rng, falls = np.random.default_rng(1), []
    y = np.asarray(y)
    whole = f1_score(y, tree.predict(X), average="macro")
    for _ in range(200):
        shuffled = X.assign(radius=rng.permutation(X["radius"].to_numpy()))
        falls.append(whole - f1_score(y, tree.predict(shuffled), average="macro"))
    error = np.std(falls) * np.sqrt(1 / len(falls) + 1 / n_shuffles(len(X)))
    own = found.loc["radius", "importance"]
    assert own == pytest.approx(np.mean(falls), abs=3 * error)


@pytest.mark.slow
def test_noise_that_a_tree_reads_seldom_matters_clearly():
    false = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
        y = X["a"].to_numpy() + 0.7 * rng.normal(size=400)
        fitted = DecisionTreeRegressor(max_leaf_nodes=24, random_state=0)
        tree = from_sklearn(fitted.fit(X[:200], y[:200]))
        found = permutation_importances(tree, X[200:], y[200:], "regression")
        words = shuffled_words(found, "R²")
        assert words.startswith("without a R² falls most")
        false += "; 1 of 6 features clearly matters." not in words
    assert false <= 3
