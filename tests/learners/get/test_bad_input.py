import numpy as np
import pytest
from sklearn.metrics import f1_score

from tests.learners.get.test_estimators import QUICK, mixed_table
from treelab.learners.get.estimators import GetClassifier, GetRegressor

LEAVES = pytest.mark.parametrize("leaves", ["constant", "linear"])


@pytest.mark.slow
@LEAVES
def test_a_target_outlier_leaves_finite_predictions(leaves):
    X, y = mixed_table(120)
    y = y.copy()
    y[7] = 1e9
    predicted = GetRegressor(leaves=leaves, **QUICK).fit(X, y).predict(X)
    assert np.isfinite(predicted).all()


@pytest.mark.slow
@LEAVES
def test_fewer_rows_than_leaves_are_survived(leaves):
    X, y = mixed_table(14)
    model = GetRegressor(leaves=leaves, **(QUICK | {"max_depth": 6})).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.tree_.n_leaves <= 14


@LEAVES
def test_duplicated_rows_and_constant_columns_are_survived(leaves):
    X = np.zeros((80, 3))
    X[40:, 1] = 1.0
    y = np.repeat([1.0, 5.0], 40)
    model = GetRegressor(leaves=leaves, **QUICK).fit(X, y)
    assert np.allclose(model.predict(X), y, atol=0.5)


@pytest.mark.slow
@LEAVES
def test_a_constant_target_is_one_leaf(leaves):
    X, _ = mixed_table(60)
    model = GetRegressor(leaves=leaves, **QUICK).fit(X, np.full(60, 3.0))
    assert np.allclose(model.predict(X), 3.0)
    assert model.tree_.n_leaves == 1


@pytest.mark.parametrize("n_rows", [2, 5, 12, 40])
def test_tiny_tables_with_an_outlier_and_a_constant_column_are_survived(n_rows):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=n_rows), np.full(n_rows, 3.0)])
    y = X[:, 0].copy()
    y[-1] = 1e9
    settings = {"leaves": "linear", "n_starts": 2, "n_steps": 2, "random_state": 0}
    model = GetRegressor(**settings).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.tree_.n_rows[0] == n_rows
    model = GetRegressor(**settings).fit(X, np.full(n_rows, 3.0))
    assert np.allclose(model.predict(X), 3.0)


def test_a_class_of_one_row_is_survived():
    X, y = mixed_table(60)
    labels = np.where(y > 1, "high", "low").astype(object)
    labels[3] = "rare"
    model = GetClassifier(**QUICK).fit(X, labels)
    assert set(model.predict(X)) <= {"high", "low", "rare"}
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.slow
def test_class_weights_move_the_predictions():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (rng.random(400) < np.where(X[:, 0] > 0.7, 0.4, 0.02)).astype(int)
    models = {
        weights: GetClassifier(class_weight=weights, **QUICK).fit(X, y)
        for weights in (None, "balanced", "auto")
    }
    rare = {weights: model.predict(X).mean() for weights, model in models.items()}
    assert rare[None] < rare["auto"]
    assert rare[None] < rare["balanced"]
    _, note = models["auto"].tree_.notes
    assert "Classes are chosen with rows weighted by class" in note
    assert len(models[None].tree_.notes) == 1


def test_sizes_are_scored_by_the_class_weights_that_their_trees_predict_by():
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    y = (rng.random(600) < np.where(X[:, 0] > 0.7, 0.4, 0.02)).astype(int)
    model = GetClassifier(**QUICK)
    model.fit(X[:400], y[:400], X_valid=X[400:], y_valid=y[400:])
    path = model.path_
    assert (model.tree_.class_weights > 1).any()
    assert len(path) > 1
    for tree, score in zip(path.trees, path.scores["score"]):
        own = f1_score(y[400:], tree.predict(X[400:]), average="macro")
        assert score == pytest.approx(own)
