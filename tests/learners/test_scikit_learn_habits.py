"""Metadata routing, importances, selectors: what a user of scikit-learn expects."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import treelab
from tests.learners.test_frames import learner, table
from tests.learners.test_pipeline import SLOW
from treelab.learners.registry import LEARNERS

IN_SECONDS = {*LEARNERS} - {*SLOW, "get"}
KEYS = [
    pytest.param(key, marks=[pytest.mark.slow] * (key not in IN_SECONDS))
    for key in LEARNERS
]
TASKS = ("binary", "regression")
# Enough training to tell a column that decides from noise.
TRAINED = {
    "get": {"n_steps": 50},
    "argmin": {"max_epochs": 40},
    "grande": {"n_estimators": 16, "depth": 3, "max_epochs": 10},
}


@pytest.fixture
def routing():
    """Metadata routing is on, as a user's own configuration has it."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def target(y: np.ndarray, task: str) -> np.ndarray:
    """Two classes, or numbers that say as much."""
    return y if task == "binary" else (y == "yes") * 2.0 + np.linspace(0, 0.1, len(y))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.usefixtures("routing")
def test_with_metadata_routing_every_learner_trains_on_categories(key, task):
    frame, y = table()
    y = target(y, task)
    with sklearn.config_context(enable_metadata_routing=False):
        expected = learner(key, task).fit(frame, y).predict(frame)
    model = learner(key, task).fit(frame, y)
    assert (model.predict(frame) == expected).all()
    pipeline = make_pipeline(FunctionTransformer(), learner(key, task)).fit(frame, y)
    assert (pipeline.predict(frame) == expected).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.usefixtures("routing")
def test_with_metadata_routing_validation_rows_reach_a_step_that_asks_for_them(key):
    frame, y = table()
    step = learner(key).set_fit_request(X_valid=True, y_valid=True, callbacks=False)
    pipeline = make_pipeline(FunctionTransformer(), step)
    pipeline.fit(frame, y, X_valid=frame[:40], y_valid=y[:40])
    direct = learner(key).fit(frame, y, X_valid=frame[:40], y_valid=y[:40])
    assert (pipeline.predict_proba(frame) == direct.predict_proba(frame)).all()


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.usefixtures("routing")
def test_with_metadata_routing_every_learner_is_searched_and_cross_validated(key):
    frame, y = table()
    model = make_pipeline(FunctionTransformer(), learner(key))
    name = type(model[-1]).__name__.lower()
    search = GridSearchCV(model, {f"{name}__random_state": [0, 1]}, cv=2)
    assert np.isfinite(search.fit(frame, y).best_score_)
    scores = cross_validate(learner(key), frame, y, cv=2, error_score="raise")
    assert np.isfinite(scores["test_score"]).all()


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_the_users_choice_of_output_leaves_a_fit_as_it_is(output):
    frame, y = table()
    expected = learner().fit(frame, y).predict_proba(frame)
    with sklearn.config_context(transform_output=output):
        assert (learner().fit(frame, y).predict_proba(frame) == expected).all()


def noisy(task: str, n_rows=160) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that decide, among noise."""
    rng = np.random.default_rng(0)
    names = ["noise", "first", "hiss", "second"]
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=names)
    y = (2 * X["first"] + X["second"]).to_numpy()
    return X, y if task == "regression" else np.where(y > 0, "yes", "no")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("key", KEYS)
def test_importances_go_by_the_columns_of_the_table(key, task):
    X, y = noisy(task)
    found = {}
    for names in (list(X), list(X)[::-1]):
        model = learner(key, task, **TRAINED.get(key, {}))
        importances = model.fit(X[names], y).feature_importances_
        assert importances.shape == (4,)
        assert (importances >= 0).all()
        assert importances.sum() == pytest.approx(1)
        found[names[0]] = dict(zip(names, importances))
    for by_column in found.values():
        assert max(by_column, key=by_column.get) == "first"


def test_importances_are_scikit_learns_where_the_tree_is():
    X, y = noisy("binary")
    model = treelab.CartClassifier(tune=False, random_state=0).fit(X, y)
    plain = sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert model.feature_importances_ == pytest.approx(plain.feature_importances_)


def test_a_category_of_many_classes_is_one_column_and_a_single_leaf_says_nothing():
    frame, _ = table()
    y = frame["color"].fillna("none").to_numpy()
    model = learner().fit(frame, y)
    assert model.feature_importances_.tolist() == [0, 0, 1, 0, 0]
    leaf = learner(task="regression").fit(frame, np.ones(len(frame)))
    assert leaf.feature_importances_.tolist() == [0] * 5
    with pytest.raises(NotFittedError):
        _ = learner().feature_importances_
    assert not hasattr(learner(), "feature_importances_")


def test_clusters_have_importances_too():
    X, _ = noisy("regression")
    X["first"] += 8 * (X["second"] > 0)
    model = treelab.ArgminTreeClusterer(depth=1, max_epochs=5, random_state=0).fit(X)
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_selectors_take_every_learner_with_frames_in_and_out(key):
    X, y = noisy("binary")
    model = learner(key, **TRAINED.get(key, {}))
    selector = SelectFromModel(model).set_output(transform="pandas").fit(X, y)
    assert "first" in selector.transform(X)
    pipeline = make_pipeline(selector, learner(key)).fit(X, y)
    assert set(pipeline[-1].feature_names_in_) == set(selector.transform(X))


@pytest.mark.slow
def test_columns_are_eliminated_one_after_another():
    X, y = noisy("binary")
    eliminated = RFE(learner(), n_features_to_select=2, step=2).set_output(
        transform="pandas"
    )
    eliminated.fit(X, y)
    assert eliminated.transform(X).shape == (len(X), 2)
    assert "first" in eliminated.transform(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert eliminated.score(X, y) > 0.8


@pytest.mark.slow
def test_columns_are_eliminated_by_cross_validation():
    X, y = noisy("binary", 300)
    plain = learner(max_leaf_nodes=8)
    found = RFECV(plain, cv=3).set_output(transform="pandas").fit(X, y)
    assert set(found.transform(X)) == {"first", "second"}
