"""The Rashomon set: which trees differ, and what each scores."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from treelab.evaluation.metrics import confusion_matrix, macro_f1
from treelab.evaluation.rashomon import (
    TreeFilter,
    column_use,
    gather,
    likeness,
    otherwise,
    passing,
    places,
    predictions,
    row_multiplicity,
)
from treelab.evaluation.rashomon_enumeration import RefittedScorer, splits_key
from treelab.learners.cart.estimators import CartClassifier
from treelab.trees.feature import Feature
from treelab.trees.pruning import ScoredTrees, SizePath, cost_complexity_path, cut_at
from treelab.trees.rashomon import RashomonSet
from treelab.trees.tree import Tree

FEATURES = tuple(Feature(name, fill=0.5) for name in "abc")
ONES = np.ones(2)


def table(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((n, 3)).round(2), columns=list("abc"))
    return X, (X["a"] + X["b"] + rng.normal(0, 0.1, n) > 1).map(str).to_numpy()


def tree(features, thresholds) -> Tree:
    """A complete tree of these splits; its leaves are not fitted."""
    n = len(features)
    return Tree.complete(
        FEATURES,
        np.array(features),
        np.array(thresholds, dtype=float),
        np.zeros(n, dtype=bool),
        np.full((n + 1, 2), 0.5),
        classes=("False", "True"),
    )


def fitted(own: Tree) -> Tree:
    own = own.with_rows(*table())
    assert own.class_counts is not None
    return replace(own, value=own.class_counts / own.n_rows[:, None])


def test_equal_trees_are_counted_once_and_empty_branches_do_not_make_a_tree_new():
    X, y = table()
    first = tree([0], [0.505])
    same = tree([0], [0.5049])  # no row lies between
    with_empty = tree([0, 1, 1], [0.505, 5.0, 5.0])
    other = tree([1], [0.5])
    found = gather(first, [same, with_empty, other], (X, y, None), ONES)
    assert sorted(own.columns for own in found.trees) == [("a",), ("b",)]
    assert found.tree.columns == ("a",)


@pytest.mark.parametrize("weight", [None, 0.1 + np.arange(120) % 7])
def test_a_score_is_that_of_leaves_fitted_without_the_fold(weight):
    X, y = table()
    own = tree([0, 1, 2], [0.5, 0.4, 0.6])
    codes = (y == "True").astype(int)
    scorer = RefittedScorer("binary", codes, weight, ONES)
    weight = np.ones(len(y)) if weight is None else weight
    leaf = own.apply(X)
    score, error = scorer.score(own, leaf)
    total = []
    for folds in scorer.folds:
        predicted = np.empty_like(codes)
        for fold in np.unique(folds):
            for place in np.unique(leaf):
                at = (folds != fold) & (leaf == place)
                mean = np.average(codes[at], weights=weight[at])
                predicted[(folds == fold) & (leaf == place)] = mean > 0.5
        total.append(confusion_matrix(codes, predicted, 2, weight))
    assert score == pytest.approx(macro_f1(np.sum(total, axis=0)))
    assert 0 < error < 0.1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_errors_have_costs_a_score_is_what_a_tree_saves(n_classes):
    X, y = table()
    own = tree([0, 1, 2], [0.5, 0.4, 0.6])
    codes = (y == "True").astype(int) + (X["c"].to_numpy() > 0.7) * (n_classes - 2)
    costs = np.array([[0, 1, 7], [5, 0, 1], [3, 2, 0.0]])[:n_classes, :n_classes]
    weight = 0.1 + np.arange(len(y)) % 7
    task = "binary" if n_classes == 2 else "multiclass"
    scorer = RefittedScorer(task, codes, weight, np.ones(n_classes), costs)
    leaf, cost, each = own.apply(X), 0.0, weight[:, None] * costs[codes]
    for folds in scorer.folds:
        for fold, place in {*zip(folds.tolist(), leaf.tolist())}:
            predicted = int(each[(folds != fold) & (leaf == place)].sum(0).argmin())
            cost += each[(folds == fold) & (leaf == place), predicted].sum()
    alone = len(scorer.folds) * each.sum(0).min()
    assert scorer.score(own, leaf)[0] == pytest.approx(1 - cost / alone)


def test_the_runs_tree_has_its_cross_validated_score_and_others_differ_from_it():
    X, y = table()
    estimator = CartClassifier(tune=False, max_leaf_nodes=6).fit(X, y)
    own = estimator.tree_
    path = SizePath(
        (own,),
        pd.DataFrame({"n_leaves": [6], "score": [0.7], "standard_error": [0.0]}),
        0,
    )
    found = gather(own, [tree([0, 1, 1], [0.5, 0.5, 0.3])], (X, y, None), ONES, path)
    assert found.score[found.chosen] == pytest.approx(0.7)
    assert found.tree is own
    assert found.chosen in found.within(0)
    assert (np.diff(found.score) <= 0).all()


def test_it_is_stored_and_read_again(tmp_path):
    X, y = table()
    found = gather(tree([0], [0.5]), [tree([1], [0.5])], (X, y, None), ONES)
    found.save(tmp_path / "set")
    again = RashomonSet.load(tmp_path / "set")
    assert (len(again), again.chosen) == (len(found), found.chosen)
    pd.testing.assert_frame_equal(again.scores, found.scores, check_dtype=False)
    for one, other in zip(again.trees, found.trees):
        assert (one.predict(X) == other.predict(X)).all()


def test_features_that_all_trees_share_are_stored_once_and_others_with_their_tree():
    more = (*FEATURES, Feature("d", fill=0.0))
    trees = (
        tree([0], [0.5]),
        tree([1], [0.5]),
        replace(tree([2], [0.5]), features=more),
    )
    scores = pd.DataFrame({"score": [0.9, 0.8, 0.7], "standard_error": [0.0] * 3})
    stored = ScoredTrees(trees, scores, 1).to_dict()
    own = [settings.get("features") for settings in stored["settings"]["trees"]]
    assert [None if names is None else len(names) for names in own] == [3, None, 4]
    again = ScoredTrees.unpack(*ScoredTrees(trees, scores, 1).pack())
    assert [one.features for one in again.trees] == [FEATURES, FEATURES, more]
    # One object, by which tables are read once for all of them.
    assert again.trees[1].features is again.trees[0].features


def test_likeness_is_the_fraction_of_rows_predicted_alike():
    X, _ = table()
    trees = [fitted(tree([j], [0.5])) for j in range(3)]
    predicted, value = predictions(trees, X)
    assert (np.array(trees[0].classes)[predicted[0]] == trees[0].predict(X)).all()
    alike = likeness(predicted, 2)
    assert alike[0, 1] == pytest.approx((predicted[0] == predicted[1]).mean())
    at = places(alike)
    apart = np.linalg.norm(at[:, None] - at[None], axis=-1)
    assert apart == pytest.approx(1 - alike, abs=0.05)  # three points lie in a plane
    assert column_use(trees[:2], list("abc")).to_dict() == {"a": 1, "b": 1, "c": 0}
    row = row_multiplicity(predicted[:, 0], value[:, 0], 0)
    assert row.n_trees == 3
    assert row.n_otherwise == (predicted[:, 0] != predicted[0, 0]).sum()
    assert row.lowest <= value[0, 0, predicted[0, 0]] <= row.highest
    assert otherwise(predicted, 0)[0] == pytest.approx(row.n_otherwise / 3)


def test_values_are_as_alike_as_they_are_near():
    predicted = np.array([[1.0, 2, 3], [1, 2, 3], [3, 2, 1]])
    alike = likeness(predicted, 0)
    assert alike[0, 1] == pytest.approx(1)
    assert alike[0, 2] == 0


def test_filters_look_at_columns_leaves_and_order():
    up, wide = fitted(tree([0], [0.5])), fitted(tree([0, 1, 2], [0.5, 0.4, 0.6]))
    trees = [up, wide]
    assert passing(trees, TreeFilter(without=("b",))).tolist() == [True, False]
    assert passing(trees, TreeFilter(most_leaves=2)).tolist() == [True, False]
    assert passing([up], TreeFilter(monotone=(("a", "up"),))).tolist() == [True]
    assert passing([up], TreeFilter(monotone=(("a", "down"),))).tolist() == [False]
    assert passing([up], TreeFilter()).tolist() == [True]


def test_of_too_many_trees_the_best_are_retained_and_the_own_one():
    X, y = table()
    own = fitted(tree([0], [0.5]))
    others = [tree([j], [at]) for at in np.arange(0.3, 0.7, 0.03) for j in (2, 1, 0)]
    every = gather(own, others, (X, y, None), ONES)
    few = gather(own, others, (X, y, None), ONES, most=4)
    assert len(every) > len(few) == 4
    expected = np.sort(np.append(np.delete(every.score, every.chosen)[:3], 0))[1:]
    others_left = np.delete(few.score, few.chosen)
    assert np.sort(others_left).tolist() == expected.tolist()
    assert few.score[few.chosen] == every.score[every.chosen]


def test_good_trees_are_looked_at_with_one_split_less():
    X, y = table()
    own = fitted(tree([0, 1, 1], [0.5, 0.7, 0.3]))
    found = gather(own, [], (X, y, None), ONES)
    assert found.n_candidates == 3  # and those in which one of two splits is a leaf


def test_a_pruned_tree_has_the_key_of_the_nodes_that_are_cut():
    own = fitted(tree([0, 1, 2], [0.5, 0.3, 0.7]))
    path = cost_complexity_path(cut_at(own, np.zeros(own.n_nodes, dtype=bool)))
    keys = [splits_key(path.tree, path.step <= step) for step in range(len(path))]
    assert keys == [splits_key(smaller) for smaller in path]
    assert len(set(keys)) == len(path) > 2


def test_trees_of_a_set_know_what_the_rows_leave_free_at_each_split():
    X, y = table()
    others = [fitted(tree([0, 1, 1], [0.4, 0.6, 0.5])), fitted(tree([1], [0.5]))]
    found = gather(fitted(tree([0, 1, 2], [0.5, 0.3, 0.7])), others, (X, y, None), ONES)
    for one in found.trees:
        again = replace(one, between=None, missing_rows=None).with_rows(X, y)
        np.testing.assert_array_equal(one.between, again.between)
