import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from treelab.data.builtin import BUILTIN
from treelab.data.encoding.table_encoder import to_float32
from treelab.learners.cart.estimators import CartClassifier
from treelab.learners.gradtree.estimators import GradTreeClassifier, GradTreeRegressor

QUICK = {"max_depth": 4, "n_restarts": 4, "max_steps": 120, "random_state": 0}


CHECKED = {"max_depth": 2, "n_restarts": 2, "max_steps": 30, "random_state": 0}


@parametrize_with_checks([GradTreeClassifier(**CHECKED), GradTreeRegressor(**CHECKED)])
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def table(key):
    builtin = BUILTIN[key]
    frame = builtin.load()
    return builtin.task, frame.drop(columns=builtin.target), frame[builtin.target]


class Recording:
    """A learner that saves the tensors of what it exported last."""

    def _export(self, table, objective, batch, tree, weighting):
        self.exported = (table, objective, batch, tree, weighting)
        return super()._export(table, objective, batch, tree, weighting)


class RecordingClassifier(Recording, GradTreeClassifier):
    pass


class RecordingRegressor(Recording, GradTreeRegressor):
    pass


@pytest.mark.parametrize("key", sorted(BUILTIN))
def test_the_exported_tree_sends_every_training_row_where_the_tensors_did(key):
    task, X, y = table(key)
    learner = RecordingRegressor if task == "regression" else RecordingClassifier
    plain = {"merge_leaves": False, "distilled_trees": False}
    fitted = learner(**QUICK, **({} if task == "regression" else plain)).fit(X, y)
    folded, objective, batch, chosen, weighting = fitted.exported
    data = folded.data
    encoded = torch.as_tensor(to_float32(data.encoder.transform(data.frame)))
    leaf = batch.leaves(encoded)[chosen]
    value = batch.refitted_values(chosen, encoded, weighting)
    value = fitted._leaf_values(objective, value)
    tree = fitted.tree_
    exported = tree.value[tree.apply(data.frame)]
    np.testing.assert_allclose(exported, value[leaf.numpy()], atol=1e-9)
    if task != "regression":
        np.testing.assert_allclose(exported.sum(axis=1), 1, rtol=1e-12)


def test_it_finds_the_xor_at_the_depth_at_which_cart_cannot():
    _, X, y = table("greedy_trap")
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    cart = CartClassifier(2, tune=False, random_state=0).fit(X, y).score(X_test, y_test)
    ours = GradTreeClassifier(2, random_state=0).fit(X, y).score(X_test, y_test)
    assert ours >= cart + 0.15


@pytest.mark.parametrize("selection", ["cv", "holdout"])
def test_no_fold_and_depth_is_worse_than_its_greedy_starts(selection):
    _, X, y = table("breast_cancer")
    fitted = GradTreeClassifier(**QUICK, selection=selection).fit(X, y)
    untrained = GradTreeClassifier(
        **{**QUICK, "max_steps": 1},
        selection=selection,
        learning_rate_index=1e-12,
        learning_rate_values=1e-12,
        learning_rate_leaf=1e-12,
    ).fit(X, y)
    assert fitted.selection_ == selection
    better = fitted.candidates_["valid_loss"] <= (
        untrained.candidates_["valid_loss"] + 1e-6
    )
    assert better.all()


def test_the_same_seed_gives_the_same_tree():
    _, X, y = table("mixed")
    trees = [GradTreeClassifier(**QUICK).fit(X, y).tree_ for _ in range(2)]
    assert trees[0].to_dict() == trees[1].to_dict()


def test_depths_are_searched_only_where_that_is_asked():
    _, X, y = table("wine")
    searched = GradTreeClassifier(**QUICK).fit(X, y)
    fixed = GradTreeClassifier(**QUICK, search_depth=False).fit(X, y)
    assert set(searched.candidates_["depth"]) == {2, 4}
    assert set(fixed.candidates_["depth"]) == {4}
    assert fixed.candidates_["chosen"].sum() == 1


def test_a_callback_stops_it_and_the_best_tree_so_far_is_kept():
    _, X, y = table("breast_cancer")
    heard = []

    def stop_at_third(progress):
        if math.isfinite(progress.valid_loss):  # others come in mid-epoch
            heard.append(progress)
        return len(heard) == 3

    fitted = GradTreeClassifier(**{**QUICK, "max_steps": 5000}).fit(
        X, y, callbacks=[stop_at_third]
    )
    assert len(heard) == 3
    assert len(fitted.history_) == 3
    assert fitted.score(X, y) > 0.9


def test_a_snapshot_is_a_tree_in_the_units_of_the_table():
    _, X, y = table("diabetes")
    trees = []
    GradTreeRegressor(**{**QUICK, "max_steps": 40}).fit(
        X, y, callbacks=[lambda p: trees.append(p.snapshot())]
    )
    assert trees[0].n_rows[0] == len(X)
    assert y.min() <= trees[0].predict(X).mean() <= y.max()


def test_validation_rows_that_are_given_take_part_in_the_selection():
    _, X, y = table("breast_cancer")
    X, X_valid, y, y_valid = train_test_split(X, y, random_state=0)
    fitted = GradTreeClassifier(**QUICK).fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert fitted.tree_.n_rows[0] == len(X) + len(X_valid)
    fitted = GradTreeClassifier(**QUICK, selection="holdout").fit(
        X, y, X_valid=X_valid, y_valid=y_valid
    )
    assert fitted.tree_.n_rows[0] == len(X)


@pytest.mark.parametrize("rate", [1e37])
def test_steps_far_too_large_leave_the_greedy_start(rate):
    _, X, y = table("breast_cancer")
    fitted = GradTreeClassifier(
        **QUICK, learning_rate_leaf=rate, learning_rate_values=rate
    ).fit(X, y)
    assert fitted.score(X, y) > 0.85  # the greedy start, which was finite


def test_more_classes_than_leaves_still_train():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = pd.cut(X["a"], 6, labels=list("abcdef")).astype(str)
    fitted = GradTreeClassifier(**{**QUICK, "max_depth": 1}).fit(X, y)
    assert fitted.tree_.n_leaves == 2
    assert set(fitted.predict(X)) <= set("abcdef")


def test_fewer_rows_than_a_batch_train():
    _, X, y = table("iris")
    assert GradTreeClassifier(**QUICK, batch_size=4096).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 40),
        ("n_restarts", 0),
        ("selection", "bootstrap"),
        ("loss", "hinge"),
        ("decision", "tanh"),
        ("selector", "argmax"),
        ("learning_rate_leaf", 0.0),
        ("max_steps", 0),
        ("batch_size", 1.5),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    _, X, y = table("iris")
    with pytest.raises(ValueError, match=setting):
        GradTreeClassifier(**{setting: value}).fit(X, y)


def test_merged_leaves_predict_the_same_classes_with_a_smaller_tree():
    _, X, y = table("mixed")
    merged = GradTreeClassifier(**QUICK).fit(X, y)
    whole = GradTreeClassifier(**QUICK, merge_leaves=False).fit(X, y)
    assert merged.tree_.n_leaves < whole.tree_.n_leaves
    np.testing.assert_array_equal(merged.predict(X), whole.predict(X))


def test_rare_classes_are_weighted_where_that_scores_better_and_the_tree_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(rng.random(600) < 0.1 + 0.25 * (X[:, 0] > 0.5), "ill", "well")
    fitted = GradTreeClassifier(**QUICK).fit(X, y)
    assert "ill" in fitted.predict(X)
    assert "ill" in fitted.tree_.notes[0]
    even = GradTreeClassifier(**QUICK, class_weight=None).fit(X, y)
    assert even.tree_.notes == ()


def test_a_table_of_thousands_of_columns_trains_on_subsets_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5000))
    y = (X[:, 4321] > 0).astype(int)
    fitted = GradTreeClassifier(**CHECKED).fit(X, y)
    assert fitted.score(X, y) > 0.95
