"""Tuning, against the same search done slowly, and what it may not do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import f1_score

from tests.trees.make import shrunk_by_hand
from treelab import CartClassifier, CartRegressor
from treelab.data.builtin import BUILTIN
from treelab.evaluation.pruning import pooled_scores
from treelab.learners.common import tuned_tree as tuning
from treelab.learners.common.folds import repeated_folds
from treelab.learners.common.tuned_tree import Candidate
from treelab.training.checkpointer import Checkpointer
from treelab.trees.pruning import cut_at, prune_to_size, within_one_standard_error
from treelab.trees.tree import leaf_of


@pytest.fixture(scope="module")
def folds_drawn_once():
    """Not here: all that are drawn of a small table are compared."""


def noisy(task: str, n_rows: int = 120, *, seed: int = 0):
    """Rows of three columns, one of which says nothing."""
    rng = np.random.default_rng(seed)
    # Few values: none lies between a threshold and the midpoint that it moves to.
    X = (2 * rng.normal(size=(n_rows, 3))).round().clip(-3, 3) / 2
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    y = X["a"] + (X["b"] > 0) + rng.normal(0, 0.7, n_rows)
    if task != "regression":
        y = pd.Series(np.array(["few", "many", "none"])[np.digitize(y, [0.5, 2.3])])
    return X, y.to_numpy()


def pruned(candidate: Candidate, size: int, deep):
    """Cut a deep tree at the depth, and prune it."""
    tree = deep
    if candidate.max_depth is not None:
        tree = cut_at(tree, tree.level >= candidate.max_depth)
    return prune_to_size(tree, size)


def slow_predictions(candidate: Candidate, tree, X, y, X_held, search):
    """Refit the leaves of a tree one by one, and predict.

    Rows are matrices, as the trees have no categories.
    """
    leaf, predicted = leaf_of(tree, X), {}
    for node in np.unique(leaf):
        here = y[leaf == node]
        if search.greedy.classes is None:
            predicted[node] = here.mean()
            continue
        weights = search.predicting[candidate.weighting]
        votes = [
            weight * (here == label).sum()
            for label, weight in zip(search.greedy.classes, weights, strict=True)
        ]
        predicted[node] = search.greedy.classes[int(np.argmax(votes))]
    return np.array([predicted[node] for node in leaf_of(tree, X_held)])


@pytest.mark.parametrize(
    "task", [pytest.param("multiclass", marks=pytest.mark.slow), "regression"]
)
def test_scores_and_choice_are_those_of_a_slow_search(task, monkeypatch):
    monkeypatch.setattr(tuning, "DEPTHS", (2, 4))
    monkeypatch.setattr(tuning, "LEAF_SIZES", (2, 12))
    monkeypatch.setattr("treelab.learners.common.tuned_tree.POWERS", (0.0, 0.5, 1.0))
    seen = {}

    def recorded(sums, scored_as):
        seen["scores"] = pooled_scores(sums, scored_as)
        return seen["scores"]

    def searched(data, search, monitor):
        seen["search"] = search
        return tuning.cross_validate(data, search, monitor)

    monkeypatch.setattr(tuning, "pooled_scores", recorded)
    monkeypatch.setattr("treelab.learners.cart.estimators.cross_validate", searched)
    X, y = noisy(task)
    kind = CartRegressor if task == "regression" else CartClassifier
    model = kind(random_state=0, max_leaf_nodes=5).fit(X, y)
    scores, search = seen["scores"], seen["search"]
    codes = y if task == "regression" else np.unique(y, return_inverse=True)[1]
    repeats = repeated_folds(codes, seed=search.seed)
    folds = [held for of_repeat in repeats for held in of_repeat]
    deep = {
        (k, leaf_size): kind(tune=False, min_samples_leaf=leaf_size, random_state=0)
        .fit(X[~held], y[~held])
        .tree_
        for k, held in enumerate(folds)
        for leaf_size in (2, 12)
    }
    made = {}  # weights of classes change no tree
    truth, rows = np.concatenate([y[held] for held in folds]), X.to_numpy()
    for c, candidate in enumerate(search.candidates(len(y))):
        for s, size in enumerate(search.sizes.tolist()):
            predicted, around = [], 0.0
            for k, held in enumerate(folds):
                key = k, replace(candidate, weighting=0), size
                if key not in made:
                    grown = deep[k, candidate.min_samples_leaf]
                    made[key] = pruned(candidate, size, grown)
                tree = made[key]
                predicted.append(
                    slow_predictions(
                        candidate, tree, rows[~held], y[~held], rows[held], search
                    )
                )
                if task == "regression":
                    around += np.sum((y[held] - y[~held].mean()) ** 2)
            if task == "regression":
                error = np.sum((truth - np.concatenate(predicted)) ** 2)
                score = 1 - error / around
            else:
                score = f1_score(truth, np.concatenate(predicted), average="macro")
            assert scores[c, s].mean() == pytest.approx(score), (candidate, size)
    of_size = scores[scores.mean(-1).argmax(0), np.arange(len(search.sizes))]
    chosen, error = within_one_standard_error(of_size)
    assert model.best_params_["max_leaf_nodes"] == search.sizes[chosen]
    row = model.path_.scores.iloc[model.path_.chosen]
    assert row["score"] == pytest.approx(of_size[chosen].mean())
    assert row["standard_error"] == pytest.approx(error[chosen])


def test_every_tree_of_the_path_says_what_was_chosen_and_predicts_its_rows_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = CartClassifier(class_weight=None, random_state=0).fit(X, y)
    leaves = [tree.n_leaves for tree in model.path_.trees]
    assert leaves == sorted({*leaves})
    assert model.path_.tree is model.tree_ is model.model_
    for tree in model.path_.trees:
        assert tree.notes[0] == str(model.origin_)
        assert tree.notes[1].startswith("Tuned by 5-fold cross-validation: ")
        leaf = tree.apply(X)
        for node in np.unique(leaf):
            counts = np.bincount(y[leaf == node], minlength=3)
            assert tree.value[node] == pytest.approx(shrunk_by_hand(tree, node))
            assert (tree.predict(X)[leaf == node] == counts.argmax()).all()


@pytest.mark.parametrize("tune", [True, False])
@pytest.mark.parametrize("kind", [CartClassifier, CartRegressor])
def test_limits_hold_tuned_or_not(kind, tune):
    X, y = noisy("regression" if kind is CartRegressor else "multiclass", 400)
    limits = {"max_depth": 5, "min_samples_leaf": 7, "max_leaf_nodes": 6}
    model = kind(tune=tune, random_state=0, **limits).fit(X, y)
    for tree in model.path_.trees:
        assert tree.depth <= 5
        assert tree.n_leaves <= 6
        assert tree.n_rows[tree.is_leaf].min() >= 7
    assert model.best_params_["min_samples_leaf"] >= 7


@pytest.mark.slow
def test_weights_given_are_trained_with_and_auto_may_choose_any():
    X, y = load_breast_cancer(return_X_y=True)
    heavy = CartClassifier(class_weight={0: 1, 1: 50}, random_state=0).fit(X, y)
    light = CartClassifier(class_weight={0: 50, 1: 1}, random_state=0).fit(X, y)
    assert heavy.predict(X).mean() > light.predict(X).mean()
    ratio = [
        w / heavy.best_params_["class_weight"][0]
        for w in heavy.best_params_["class_weight"].values()
    ]
    assert ratio == pytest.approx([1, 50])
    none = CartClassifier(class_weight=None, random_state=0).fit(X, y)
    assert none.best_params_["class_weight"] == {0: 1, 1: 1}
    assert len(none.tree_.notes) == 2
    assert any("rows weighted by class" in note for note in heavy.tree_.notes)


@pytest.mark.slow
def test_auto_gives_a_rare_class_a_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = (X[:, 0] + 2 * rng.normal(size=800) > 2).astype(int)
    plain = CartClassifier(tune=False, max_depth=3, random_state=0).fit(X, y)
    tuned = CartClassifier(random_state=0).fit(X, y)
    assert tuned.best_params_["class_weight"][1] > 1
    assert tuned.predict(X).mean() > plain.predict(X).mean()


@pytest.mark.parametrize("n_rows", [2, 9])
def test_few_rows_are_not_tuned_and_it_says_so(n_rows):
    model = CartClassifier(random_state=0).fit(
        np.arange(n_rows)[:, None], [0, 1] * (n_rows // 2) + [0] * (n_rows % 2)
    )
    assert "Not tuned: there are fewer than 10 rows." in model.tree_.notes
    assert model.path_.scores["score"].isna().all()


def test_an_untuned_tree_says_whose_settings_it_has():
    X, y = load_iris(return_X_y=True)
    model = CartClassifier(tune=False, random_state=0).fit(X, y)
    assert "Not tuned: scikit-learn's tree with its defaults." in model.tree_.notes
    model = CartClassifier(max_depth=3, tune=False, random_state=0).fit(X, y)
    assert any("with the settings of this run" in note for note in model.tree_.notes)
    assert model.path_.tree is model.tree_
    assert model.path_.trees[0].n_leaves == 1


@pytest.mark.slow
def test_a_class_of_one_row_and_constant_columns_are_tuned_too():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = CartClassifier(random_state=0).fit(X, [0] * 20 + [1] * 19 + [2])
    assert model.predict_proba(X).shape == (40, 3)
    model = CartClassifier(random_state=0).fit(X, [0] * 39 + [1])
    assert model.tree_.n_leaves >= 1
    model = CartClassifier(random_state=0).fit(np.ones((40, 2)), [0, 1] * 20)
    assert model.tree_.n_leaves == 1
    model = CartRegressor(random_state=0).fit(X, np.ones(40))
    assert model.predict(X).tolist() == [1] * 40


@pytest.mark.slow
def test_categories_and_missing_values_are_encoded_in_each_fold():
    table = BUILTIN["mixed"]
    frame = table.load().dropna(subset=[table.target])
    y = frame.pop(table.target)
    model = CartClassifier(random_state=0).fit(frame, y)
    assert model.score(frame, y) > y.value_counts(normalize=True).max()


@pytest.mark.slow
def test_it_says_that_it_was_grown_and_not_trained():
    X, y = load_diabetes(return_X_y=True)
    model = CartRegressor(random_state=0).fit(X, y)
    assert (model.origin_.start, model.origin_.trained) == ("greedy", False)
    assert "not trained by gradient descent" in str(model)


@pytest.mark.slow
def test_tuned_trees_grow_on_validation_rows_too_as_folds_hold_rows_out():
    X, y = load_iris(return_X_y=True, as_frame=True)
    given = {"X_valid": X[1::2], "y_valid": y[1::2]}
    tuned = CartClassifier(random_state=0).fit(X[::2], y[::2], **given)
    assert tuned.tree_.n_rows[0] == len(X)
    assert tuned.history_["valid_loss"].isna().all()
    assert "held out of 5 folds" in str(tuned.origin_)
    again = CartClassifier(random_state=0).fit(
        pd.concat([X[::2], X[1::2]]), pd.concat([y[::2], y[1::2]])
    )
    assert str(again.tree_.to_dict()) == str(tuned.tree_.to_dict())
    plain = CartClassifier(tune=False, random_state=0).fit(X[::2], y[::2], **given)
    assert plain.tree_.n_rows[0] == len(X[::2])
    assert plain.history_["valid_loss"].notna().all()


@pytest.mark.slow
def test_a_fit_that_was_cut_off_goes_on_with_the_folds_that_were_done(
    tmp_path, monkeypatch
):
    X, y = noisy("regression")
    whole = CartRegressor(random_state=0).fit(X, y)
    n_done, fold_sums = 0, tuning._fold_sums

    def cut_off(*args):
        nonlocal n_done
        n_done += 1
        if n_done == 7:
            raise KeyboardInterrupt
        return fold_sums(*args)

    monkeypatch.setattr(tuning, "_fold_sums", cut_off)
    with pytest.raises(KeyboardInterrupt):
        CartRegressor(random_state=0).fit(
            X, y, callbacks=[Checkpointer(tmp_path, interval=0.0)]
        )
    again = CartRegressor(random_state=0).fit(
        X, y, callbacks=[Checkpointer(tmp_path, interval=0.0)]
    )
    assert n_done <= 16 + 1  # fifteen folds, one of them twice, one not written yet
    assert again.tree_.to_dict() == whole.tree_.to_dict()
