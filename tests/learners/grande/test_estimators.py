import warnings

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.learners.drawn_rows import of_drawn_rows
from tests.slow_params import slow_after
from treelab.data.builtin import BUILTIN
from treelab.data.encoding import to_float32
from treelab.learners.grande.estimators import GrandeClassifier, GrandeRegressor
from treelab.learners.grande.fit import AS_TRAINED
from treelab.learners.grande.settings import SPEC
from treelab.learners.grande.weighting import tree_weights
from treelab.ops.axis_trees import axis_trees
from treelab.runs.jobs.fit import model_size
from treelab.trees.logits import WEIGHTINGS
from treelab.trees.tree import Tree

FAST_RATES = {
    "learning_rate_index": 0.05,
    "learning_rate_values": 0.05,
    "learning_rate_leaf": 0.1,
    "learning_rate_weights": 0.05,
}
QUICK = {"n_estimators": 16, "depth": 3, "max_epochs": 40, "random_state": 0}
QUICK |= FAST_RATES | {"learning_rate_steps": None, "batch_size": 64}


CHECKED = QUICK | {"n_estimators": 8, "depth": 2, "max_epochs": 10}
BRIEF = QUICK | {"max_epochs": 3}  # for what holds however long it trains


@pytest.mark.slow
@parametrize_with_checks(
    [GrandeClassifier(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [GrandeRegressor(**CHECKED)], expected_failed_checks=of_drawn_rows
)
def test_scikit_learns_checks_of_the_regressor(estimator, check):
    check(estimator)


def table(key):
    builtin = BUILTIN[key]
    frame = builtin.load()
    return builtin.task, frame.drop(columns=builtin.target), frame[builtin.target]


class Recording:
    """A learner that remembers the first network it exported, and the last."""

    def _export(self, network, data, calibration=AS_TRAINED):
        self.exported = (network, data, calibration)
        if not hasattr(self, "on_folds"):
            self.on_folds = network
        return super()._export(network, data, calibration)


class RecordingClassifier(Recording, GrandeClassifier):
    pass


class RecordingRegressor(Recording, GrandeRegressor):
    pass


@torch.no_grad()
def of_all_trees(network, x):
    """Raw outputs (C, B) of the trees under one weighting."""
    columns = network.columns
    reached = axis_trees(
        x,
        network.logits.flatten(0, 1),
        network.threshold.flatten(0, 1),
        network.leaves(),
        columns=None if columns is None else columns.flatten(0, 1),
    ).double()  # (E, C + 1, B)
    estimator_weights = tree_weights(
        reached[:, -1], network.settings.weighting, network.max_deciders
    )
    return (estimator_weights[:, None] * reached[:, :-1]).sum(0).numpy()


# Two classes, a number, three classes.
FIRST = ("breast_cancer", "diabetes", "wine")
BUILTIN_TABLES = [*FIRST, *sorted({*BUILTIN} - {*FIRST})]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("key", slow_after(3, BUILTIN_TABLES))
def test_the_exported_ensemble_predicts_as_the_tensors_did_on_training_rows(
    key, weighting
):
    task, X, y = table(key)
    learner = RecordingRegressor if task == "regression" else RecordingClassifier
    settings = BRIEF | {"weighting": weighting}
    fitted = learner(**settings).fit(X, y)
    network, data, calibration = fitted.exported
    encoded = torch.as_tensor(to_float32(data.encoder.transform(X)))
    output = of_all_trees(network, encoded)  # (C, B)
    ensemble = fitted.ensemble_
    if task == "regression":
        predicted = ensemble.predict(X)
        expected = y.mean() + y.std(ddof=0) * output[0]
    else:
        predicted = ensemble.predict_proba(X)
        logits = calibration.scale * output + calibration.shift[:, None]
        if len(logits) == 1:
            logits = np.stack([0 * logits[0], logits[0]])
        shifted = np.exp(logits - logits.max(0))
        expected = (shifted / shifted.sum(0)).T
    np.testing.assert_allclose(predicted, expected, rtol=2e-5, atol=1e-6)


def test_the_estimator_weights_of_a_row_sum_to_one():
    _, X, y = table("wine")
    fitted = GrandeClassifier(**BRIEF, weighting="softmax", max_deciders=None).fit(X, y)
    weights = fitted.ensemble_.estimator_weights(X)
    assert weights.shape == (len(X), 16)
    assert (weights > 0).all()
    np.testing.assert_allclose(weights.sum(1), 1)
    estimator, top = fitted.ensemble_.top_estimators(X, 3)
    assert (np.diff(top, axis=1) <= 0).all()
    np.testing.assert_allclose(weights[np.arange(len(X)), estimator[:, 0]], top[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"data_fraction": 0.3, "dropout": 0.5},
        {"leaf_weights": False},
        {"loss": "focal"},
        {"loss": "poly"},
        {"decision": "entmoid", "selector": "softmax"},
        {"decision": "logistic", "cosine_decay": True},
        {"class_weight": "balanced", "selected_variables": 0.3},
        {"n_estimators": 1, "dropout": 0.5, "data_fraction": 0.5},
        {"init": "random", "n_folds": 1},
        {"init": "boosted", "n_folds": 3, "dropout": 0.9},
        {"init": "forest", "n_estimators": 3},
    ],
)
def test_every_variant_of_the_paper_learns(settings):
    _, X, y = table("breast_cancer")
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    fitted = GrandeClassifier(**{**QUICK, "max_epochs": 15, **settings}).fit(X, y)
    assert fitted.score(X_test, y_test) > 0.85


def test_one_weight_an_estimator_is_the_same_at_all_its_leaves():
    _, X, y = table("wine")
    fitted = GrandeClassifier(**BRIEF, leaf_weights=False).fit(X, y)
    assert np.ptp(fitted.ensemble_.leaf_weight, axis=1).max() == 0


@pytest.mark.slow
def test_an_estimator_tests_only_its_own_columns():
    _, X, y = table("breast_cancer")
    fitted = GrandeClassifier(**QUICK, selected_variables=0.2).fit(X, y)
    used = [len(set(row)) for row in fitted.ensemble_.feature.tolist()]
    assert max(used) <= 6


def test_the_same_seed_gives_the_same_ensemble():
    _, X, y = table("mixed")
    X, y = X[:300], y[:300]
    proba = [GrandeClassifier(**BRIEF).fit(X, y).predict_proba(X) for _ in "ab"]
    np.testing.assert_array_equal(*proba)


def test_a_callback_stops_it_and_a_snapshot_is_one_estimator():
    _, X, y = table("breast_cancer")
    trees = []

    def stop_at_second(progress):
        trees.append(progress.snapshot())
        return len(trees) == 2

    fitted = GrandeClassifier(**QUICK).fit(X, y, callbacks=[stop_at_second])
    assert len(fitted.history_) == 2
    assert all(isinstance(tree, Tree) for tree in trees)
    assert trees[0].depth <= 3


@pytest.mark.parametrize("cosine_decay", [True, False])
def test_a_loss_that_is_no_number_says_what_to_try(cosine_decay):
    _, X, y = table("breast_cancer")
    rates = {"learning_rate_weights": 1e38, "learning_rate_leaf": 1e38}
    learner = GrandeClassifier(**{**QUICK, **rates}, cosine_decay=cosine_decay)
    # Either it never was a number, or the best before is kept with a warning.
    warnings.simplefilter("error", RuntimeWarning)  # pytest puts the filters back
    with pytest.raises((FloatingPointError, RuntimeWarning), match="learning_rate"):
        learner.fit(X, y)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_estimators", 0),
        ("depth", 11),
        ("selected_variables", 0),
        ("data_fraction", 1.5),
        ("dropout", 1.0),
        ("weighting", "sparsemax"),
        ("concentration", 0.5),
        ("entropy_penalty", -0.001),
        ("loss", "hinge"),
        ("learning_rate_weights", -1),
        ("patience", 0),
        ("init", "greedy"),
        ("class_weight", "even"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    _, X, y = table("iris")
    with pytest.raises(ValueError, match=setting):
        GrandeClassifier(**{setting: value}).fit(X, y)


@pytest.mark.slow
def test_logits_shift_to_a_rare_class_where_that_scores_better_on_validation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(rng.random(600) < 0.1 + 0.25 * (X[:, 0] > 0.5), "ill", "well")
    fitted = GrandeClassifier(**QUICK).fit(X, y)
    even = GrandeClassifier(**QUICK, class_weight=None).fit(X, y)
    ill = [(model.predict(X) == "ill").mean() for model in (fitted, even)]
    assert ill[0] > ill[1]
    assert "rows weighted by class: ill 1, well" in str(fitted.ensemble_.notes)


def test_without_class_weights_the_most_probable_class_is_predicted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(rng.random(300) < 0.1 + 0.3 * (X[:, 0] > 0.5), "ill", "well")
    fitted = GrandeClassifier(**BRIEF, class_weight=None).fit(X, y)
    most_probable = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
    assert fitted.predict(X).tolist() == most_probable.tolist()
    assert not any("weighted by class" in note for note in fitted.ensemble_.notes)


def test_every_row_is_held_out_by_one_sub_ensemble_alone():
    _, X, y = table("wine")
    fitted = RecordingClassifier(**BRIEF, n_folds=3).fit(X, y)
    network = fitted.on_folds
    held_out = torch.cat(network.held_out).sort().values
    assert held_out.tolist() == list(range(len(X)))
    assert network.n_candidates == 3


def test_each_fold_has_as_many_trees_as_the_ensemble():
    _, X, y = table("wine")
    settings = BRIEF | {"n_estimators": 10, "dropout": 0.8, "weighting": "softmax"}
    fitted = RecordingClassifier(**settings).fit(X, y)
    assert fitted.on_folds.leaf_weight.shape[:2] == (4, 10)
    assert fitted.ensemble_.n_estimators == 10


@pytest.mark.slow
def test_given_validation_rows_all_others_are_trained_on():
    _, X, y = table("breast_cancer")
    learner = RecordingClassifier(**QUICK)
    learner.fit(X[:300], y[:300], X_valid=X[300:400], y_valid=y[300:400])
    network, *_ = learner.exported
    assert network.n_candidates == 1
    assert network.held_out[0].tolist() == list(range(300, 400))


def test_an_ensemble_that_training_does_not_improve_stays_as_it_started():
    _, X, y = table("breast_cancer")
    wild = {"learning_rate_leaf": 1e4, "learning_rate_weights": 1e4}
    spread = {"weighting": "softmax", "max_deciders": None}
    fitted = GrandeClassifier(**QUICK | wild | spread | {"max_epochs": 2}).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert fitted.origin_.equals_start


@pytest.mark.slow
def test_a_table_of_five_thousand_columns_trains():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5000))
    y = X[:, 4321] > 0
    fitted = GrandeClassifier(**{**CHECKED, "max_epochs": 3}).fit(X, y)
    assert fitted.predict(X).shape == (80,)


@pytest.mark.parametrize("n_rows", [2, 6, 12, 40])
def test_fewer_rows_than_a_batch_train(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    y = np.arange(n_rows) % 2
    fitted = GrandeClassifier(**BRIEF).fit(X, y)
    assert fitted.predict(X).shape == (n_rows,)
    if n_rows < 10:  # none can be spared
        assert fitted.origin_.held_out == ""


@pytest.mark.slow
def test_more_classes_than_leaves_train():
    X = np.repeat(np.arange(12.0), 8)[:, None]
    fitted = GrandeClassifier(**{**QUICK, "depth": 2}).fit(X, X[:, 0])
    assert fitted.score(X, X[:, 0]) > 0.5


@pytest.mark.slow
def test_a_class_of_one_row_trains():
    _, X, y = table("iris")
    y = y.to_numpy(dtype=object).copy()
    y[0] = "a flower seen once"
    assert GrandeClassifier(**QUICK).fit(X, y).score(X, y) > 0.9


def test_one_class_alone_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        GrandeClassifier(**QUICK).fit(np.zeros((30, 2)), np.ones(30))


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(2, ["wine", "diabetes", "breast_cancer"]))
def test_each_training_row_is_predicted_by_trees_that_did_not_see_it(key):
    task, X, y = table(key)
    learner = GrandeRegressor if task == "regression" else GrandeClassifier
    fitted = learner(n_estimators=64, max_steps=60, random_state=0).fit(X, y)
    predicted = fitted.held_out_predictions_
    assert len(predicted) == len(X)
    assert np.isfinite(predicted).all()
    if task == "regression":
        assert r2_score(y, predicted[:, 0]) > 0.25
    else:
        np.testing.assert_allclose(predicted.sum(1), 1, atol=1e-5)
        assert (fitted.classes_[predicted.argmax(1)] == y).mean() > 0.85


def test_the_papers_recipe_is_that_of_its_appendix():
    paper = SPEC.paper_settings
    assert (paper["n_estimators"], paper["n_folds"]) == (1024, 1)
    assert (paper["batch_size"], paper["patience"]) == (64, 25)
    assert (paper["n_averaged"], paper["class_weight"]) == (5, "balanced")
    assert (paper["weighting"], paper["concentration"]) == ("softmax", 1.0)
    assert paper["entropy_penalty"] == 0
    _, X, y = table("breast_cancer")
    fitted = GrandeClassifier(
        recipe="paper", n_estimators=16, depth=3, max_epochs=30, random_state=0
    ).fit(X, y)
    assert fitted.origin_.start == "random"
    assert fitted.origin_.held_out == "a fifth of the rows"
    assert np.isnan(fitted.held_out_predictions_).any()
    assert fitted.score(X, y) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("init", ["both", "forest", "boosted", "random", "normal"])
def test_the_origin_counts_the_splits_that_training_changed(init):
    _, X, y = table("wine")
    fitted = RecordingClassifier(**QUICK, init=init).fit(X, y)
    origin, ensemble = fitted.origin_, fitted.ensemble_
    assert origin.start == ("random" if init == "normal" else init)
    assert origin.n_splits == model_size(ensemble)["splits"]
    assert 0 < origin.n_changed <= origin.n_splits
    assert ensemble.notes[0] == str(origin)


def test_with_learning_off_the_ensemble_is_its_start():
    _, X, y = table("wine")
    off = dict.fromkeys(FAST_RATES, 0.0)
    origin = GrandeClassifier(**{**QUICK, **off, "max_epochs": 2}).fit(X, y).origin_
    assert not origin.trained
    assert origin.n_changed == 0


def test_the_curve_begins_at_the_start():
    _, X, y = table("breast_cancer")
    fitted = GrandeClassifier(**BRIEF).fit(X, y)
    on_folds, on_all = (
        rows for _, rows in fitted.history_.groupby("stage", sort=False)
    )
    assert on_folds["epoch"].tolist() == [0, 1, 2, 3]
    assert np.isfinite(on_folds[["train_loss", "valid_loss"]]).all(axis=None)
    best = int(on_folds["valid_loss"][1:].argmin()) + 1
    assert on_all["epoch"].tolist() == list(range(4, 4 + best))
    assert np.isfinite(on_all["train_loss"]).all()


@pytest.mark.slow
def test_the_final_ensemble_is_trained_on_all_rows():
    _, X, y = table("breast_cancer")
    fitted = RecordingClassifier(**QUICK).fit(X, y)
    network, *_ = fitted.exported
    assert network.n_candidates == 1
    assert (network.train_weight > 0).all()
    assert fitted.origin_.held_out == "the rows held out of 4 folds in turn"
