"""Contributions of columns: sums that hold, Shapley values by brute force."""

from dataclasses import replace
from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import RandomForestRegressor

from tests.figures.small_trees import oblique_tree
from tests.pages import stores
from tests.trees.make import make_table, make_target, make_tree
from treelab.data.problem import make_problem
from treelab.evaluation.explanations import (
    LINEAR_LEAF,
    because_sentence,
    decision_value,
    path_contributions,
    shapley_contributions,
)
from treelab.trees.adapters import from_lightgbm, from_sklearn, from_xgboost
from treelab.trees.feature import Feature
from treelab.trees.tree import Tree


def value_of(tree, row, followed, node=0):
    """Mean prediction where the row is followed at splits of some columns."""
    if tree.is_leaf[node]:
        return tree.value[node]
    left, right = int(tree.left[node]), int(tree.right[node])
    if tree.features[tree.feature[node]].column in followed:
        goes_left = tree.margin(row)[0, node] >= 0
        return value_of(tree, row, followed, left if goes_left else right)
    n_left, n_right = n_rows(tree, left), n_rows(tree, right)
    values = [value_of(tree, row, followed, child) for child in (left, right)]
    return (n_left * values[0] + n_right * values[1]) / (n_left + n_right)


def n_rows(tree, node):
    """Rows below a node; a leaf without any counts as next to none."""
    if tree.is_leaf[node]:
        return max(tree.n_rows[node], 1e-9)
    return n_rows(tree, tree.left[node]) + n_rows(tree, tree.right[node])


def brute_force(tree, row, output):
    """Shapley value of each column, over all subsets of the others."""
    columns, found = tree.columns, {}
    for column in columns:
        others = [own for own in columns if own != column]
        found[column] = 0.0
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size)
            weight /= factorial(len(columns))
            for some in combinations(others, size):
                gain = value_of(tree, row, {*some, column}) - value_of(tree, row, some)
                found[column] += weight * gain[output]
    return found


def small_tree(seed, n_leaves=7, **options):
    rng = np.random.default_rng(seed)
    tree = make_tree(rng, n_leaves, infinite=0.0, **options)
    X = make_table(rng, 80)
    return tree.with_rows(X, make_target(rng, tree, 80)), make_table(rng, 3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_classes", [0, 3])
def test_shapley_values_are_those_of_brute_force(seed, n_classes):
    tree, rows = small_tree(seed, n_classes=n_classes)
    output = n_classes // 2
    row = rows.iloc[[0]]
    found = shapley_contributions(tree, row, output)
    slow = brute_force(tree, row, output)
    for column in tree.columns:
        assert found.changes.get(column, 0.0) == pytest.approx(slow[column], abs=1e-6)
    assert found.base == pytest.approx(value_of(tree, row, set())[output])


OBJECTIVES = {
    "reg:squarederror": "regression",
    "binary:logistic": "binary",
    "multi:softprob": "multiclass",
}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("program", ["xgboost", "lightgbm"])
def test_without_a_table_they_go_by_the_rows_that_the_models_file_counts(
    program, objective
):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    X.loc[::7, "a"] = np.nan
    y = X["a"].fillna(1) * 2 + X["b"] * X["c"]
    n_classes = {"reg:squarederror": 0, "binary:logistic": 2}.get(objective, 3)
    if n_classes:
        y = np.digitize(y, [0, 2][: n_classes - 1])
    settings = {"num_class": n_classes} if n_classes > 2 else {}
    if program == "xgboost":
        data = xgboost.DMatrix(X, y)
        settings |= {"objective": objective, "max_depth": 3}
        booster = xgboost.train(settings, data, 4)
        read, theirs = from_xgboost(booster), booster.predict(data, pred_contribs=True)
    else:
        settings |= {"objective": OBJECTIVES[objective], "verbose": -1, "num_leaves": 6}
        booster = lightgbm.train(settings, lightgbm.Dataset(X, y), 4)
        read, theirs = from_lightgbm(booster), booster.predict(X, pred_contrib=True)
    theirs = np.asarray(theirs).reshape(len(X), -1, X.shape[1] + 1)
    if n_classes > 2:  # ours are against the mean of the classes
        theirs = theirs - theirs.mean(axis=1, keepdims=True)
    output = int(n_classes > 0)
    for place in (0, 3):
        found = shapley_contributions(read.to_weighted_trees(), X.iloc[[place]], output)
        wanted = theirs[place, min(output, theirs.shape[1] - 1)]
        own = [found.changes.get(column, 0.0) for column in X]
        assert [*own, found.base] == pytest.approx(wanted, abs=1e-5)


def test_trees_of_a_bootstrapped_forest_go_by_what_their_rows_weigh():
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 7})
    y = (X["a"] > 15).astype(int) + X["b"]
    forest = RandomForestRegressor(1, max_depth=3, random_state=0).fit(X, y)
    tree = from_sklearn(forest)[0]
    found = shapley_contributions(tree, X.iloc[[0]])
    assert found.base == pytest.approx(forest[0].tree_.value[0, 0, 0])


@pytest.mark.parametrize("explain", [path_contributions, shapley_contributions])
@pytest.mark.parametrize("seed", range(4))
def test_contributions_add_up_to_the_prediction(explain, seed):
    tree, rows = small_tree(seed, 20)
    for place in range(len(rows)):
        row = rows.iloc[[place]]
        found = explain(tree, row, 1)
        assert found.prediction == pytest.approx(
            tree.predict_proba(row)[0, 1], abs=1e-6
        )
        sizes = np.abs(list(found.changes.values()))
        assert (np.diff(sizes) <= 0).all()
        assert set(found.changes) <= set(tree.columns)


def test_along_the_path_a_stump_has_one_contribution():
    tree, rows = small_tree(1, 2)
    found = path_contributions(tree, rows.iloc[[0]])
    assert len(found.changes) == 1
    assert shapley_contributions(tree, rows.iloc[[0]]).changes == pytest.approx(
        found.changes, abs=1e-6
    )


def test_a_single_linear_leaf_does_not_predict_the_same_for_every_row():
    leaf, rows = small_tree(4, 1, n_classes=0, linear=True)
    rows = rows.fillna({"width": 0.5, "age": 0.5, "bmi": 0.5})
    first, second = (because_sentence(leaf, rows.iloc[[i]]) for i in (0, 1))
    assert first != second


def test_weighted_sums_and_linear_leaves_have_a_contribution_of_their_own():
    tree, X, _ = oblique_tree()
    (name,) = path_contributions(tree, X.iloc[[0]], 1).changes
    assert "<texture>" in name
    assert "radius" in name
    with pytest.raises(ValueError, match="Shapley values need"):
        shapley_contributions(tree, X.iloc[[0]])
    linear, rows = small_tree(3, 5, n_classes=0, linear=True, oblique=0.5)
    row = rows.iloc[[1]].fillna({"width": 0.5, "age": 0.5, "bmi": 0.5})
    found = path_contributions(linear, row)
    assert found.prediction == pytest.approx(linear.predict(row)[0])
    assert found.base == linear.value[0, 0]  # the mean of the rows, as the tree has it
    leaf = linear.path(row)[-1]
    weights, usual = linear.leaf_weights[leaf], [own.fill for own in linear.features]
    at_usual = linear.leaf_bias[leaf, 0] + weights @ usual
    assert found.changes[LINEAR_LEAF] == pytest.approx(at_usual - linear.value[leaf, 0])
    for j in (0, 1):  # width and age, which no split of the path tests alone
        by_leaf = weights[j] * (row.iloc[0, j] - usual[j])
        assert found.changes.get(row.columns[j], 0.0) == pytest.approx(by_leaf)


def test_a_prediction_is_above_below_or_at_the_mean():
    tree = Tree.complete(
        [Feature("a"), Feature("b")], [0, 1, 1], [0.5] * 3, [False] * 3, [[1], [2]] * 2
    )
    X = pd.DataFrame({"a": [0.0, 0, 1, 1], "b": [0.0, 1, 0, 1]})
    for values in ([1, 2, 3, 2], [0.1, 0.2, 0.3, 0.2]):
        leaves = tree.value.copy()
        leaves[tree.is_leaf, 0] = values
        own = replace(tree, value=leaves).with_rows(X, values)
        words = [because_sentence(own, X.iloc[[i]]).split()[0] for i in range(4)]
        assert words == ["Below", "At", "Above", "At"]


def test_both_halves_of_an_exclusive_or_get_their_share():
    half = Tree.complete(
        [Feature("a"), Feature("b")],
        [0, 1, 1],
        [0.5] * 3,
        [False] * 3,
        [[1.0, 0], [0, 1], [0, 1], [1, 0]],
        classes=("no", "yes"),
    )
    X = pd.DataFrame({"a": [0.0, 0, 1, 1], "b": [0.0, 1, 0, 1]})
    tree = half.with_rows(X, ["no", "yes", "yes", "no"])
    row = X.iloc[[1]]
    assert path_contributions(tree, row, 1).changes == {"b": 0.5}
    assert shapley_contributions(tree, row, 1).changes == pytest.approx(
        {"a": 0.25, "b": 0.25}
    )


@pytest.mark.parametrize("target", ["kind", "weight"])
def test_an_ensembles_shapley_values_are_the_weighted_ones_of_its_trees(target):
    model, X = weighted_trees(target)
    for place in range(3):
        row = X.iloc[[place]]
        weight = model.estimator_weights(row)[0]
        found = shapley_contributions(model, row, 0)
        wanted = dict.fromkeys(model.columns, 0.0)
        for own, single in zip(weight, single_trees(model, 0)):
            for column, change in brute_force(single, row, 0).items():
                wanted[column] += own * change
        for column, change in wanted.items():
            assert found.changes.get(column, 0.0) == pytest.approx(change, abs=1e-9)
        raw = model.decision_function(row)[0]
        assert found.prediction == pytest.approx(decision_value(model, raw, 0))


def test_a_base_that_each_row_weighs_anew_is_not_called_the_mean_prediction():
    model, X = weighted_trees("weight")
    predicted = model.predict(X)
    rows = [X.iloc[[i]] for i in range(len(X))]
    found = [shapley_contributions(model, row) for row in rows]
    assert np.ptp([own.base for own in found]) > 0
    alike = replace(model, leaf_weight=np.zeros_like(model.leaf_weight))
    bases = [shapley_contributions(alike, row).base for row in rows]
    assert np.ptp(bases) == pytest.approx(0)
    for row, own, value in zip(rows, found, predicted):
        side = "Above" if value > own.base else "Below"
        said = because_sentence(model, row)
        assert said.startswith(f"{side} the trees' weighted mean of ")
        assert " the mean prediction of " in because_sentence(alike, row)


def weighted_trees(target: str):
    """Hand-made trees of an ensemble, and rows."""
    frame = stores.table()
    problem = make_problem(
        frame, target, table_id="", columns=["radius", "texture $x$", "colour"]
    )
    split = problem.split(frame)
    classes = stores.KINDS if target == "kind" else None
    return stores.ensemble(classes, target, split, 12), split.X_test


def single_trees(model, output: int):
    """Each tree of an ensemble, complete, its leaves being what is explained."""
    value = decision_value(model, model.leaf_value, output)
    for e in range(model.n_estimators):
        tree = Tree.complete(
            model.features,
            model.feature[e],
            model.threshold[e],
            model.missing_left[e],
            value[e][:, None],
        )
        yield replace(tree, n_rows=model.n_rows[e])
