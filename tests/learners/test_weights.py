"""Weights of rows: every learner takes them, or refuses them in a sentence."""

import numpy as np
import pandas as pd
import pytest

from tests.learners.test_frames import learner, table
from tests.learners.test_scikit_learn_habits import KEYS, target
from treelab import (
    CartClassifier,
    CartRegressor,
    GradTreeRegressor,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from treelab.data.encoding import fit_target_encoding, median
from treelab.learners.common.folds import N_PARTS
from treelab.learners.common.greedy import Greedy
from treelab.learners.common.tuned_tree import Search, path_sums, retained
from treelab.learners.registry import LEARNERS
from treelab.trees.feature import Feature
from treelab.trees.pruning import cost_complexity_path

TASKS = ("binary", "regression")
WEIGHING = [key for key in KEYS if getattr(key, "values", [key])[0] != "optimal"]


def drawn(n_rows: int, seed: int = 0) -> np.ndarray:
    """Weights from 0 to 3, some of them 0."""
    return np.random.default_rng(seed).integers(0, 4, n_rows).astype(float)


def answers(model, frame) -> np.ndarray:
    """Probabilities, or values."""
    proba = getattr(model, "predict_proba", model.predict)
    return proba(frame)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("key", WEIGHING)
def test_rows_without_weight_are_left_out_and_the_unit_of_weights_is_free(key, task):
    frame, y = table()
    y, weight = target(y, task), drawn(len(y))
    some = weight > 0
    alone = learner(key, task).fit(frame[some], y[some], weight[some])
    for unit in (2.0**20, 2.0**-20):
        weighted = learner(key, task).fit(frame, y, sample_weight=unit * weight)
        np.testing.assert_array_equal(answers(weighted, frame), answers(alone, frame))


@pytest.mark.parametrize("unit", [2.0**1000, 2.0**-1000])
@pytest.mark.parametrize("kind", [CartClassifier, CartRegressor])
def test_weights_whose_squares_leave_float64_count_as_others_do(kind, unit):
    frame, y = table()
    y, weight = target(y, kind.tasks[0]), 1 + drawn(len(y))
    wanted = kind(random_state=0).fit(frame, y, weight)
    found = kind(random_state=0).fit(frame, y, unit * weight)
    np.testing.assert_array_equal(answers(found, frame), answers(wanted, frame))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("key", KEYS)
def test_equal_weights_change_nothing(key, task):
    frame, y = table()
    y = target(y, task)
    plain = learner(key, task).fit(frame, y)
    weighted = learner(key, task).fit(frame, y, sample_weight=np.full(len(y), 0.1))
    np.testing.assert_array_equal(answers(weighted, frame), answers(plain, frame))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("key", WEIGHING)
def test_rows_that_weigh_nearly_all_decide_the_mean(key, task):
    frame, y = table()
    rng = np.random.default_rng(0)  # nothing that splits could tell
    high = rng.random(len(y)) < 0.5
    y = (
        np.where(high, "yes", "no")
        if task == "binary"
        else high * 2.0 + rng.random(len(y))
    )
    means = []
    for favoured in (high, ~high):
        weight = np.where(favoured, 1000.0, 1.0)
        small = {"max_leaf_nodes": 2} if key == "cart" else {}  # no row by heart
        model = learner(key, task, **small).fit(frame, y, weight)
        predicted = answers(model, frame)
        means.append(predicted[:, -1].mean() if task == "binary" else predicted.mean())
    assert means[0] > means[1] + 0.2


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 2.0, -1.0], "at least 0, got -1 in row 2"),
        ([1.0, np.nan, 1.0], "finite and at least 0, got nan in row 1"),
        ([1.0, np.inf, 1.0], "got inf in row 1"),
        ([0.0, 0.0, 0.0], "all 3 weights are zero"),
        ([1.0, 2.0], "one weight for each of the 3 rows"),
        (["a", "b", "c"], "must be numbers"),
    ],
)
@pytest.mark.parametrize("key", LEARNERS)
def test_weights_that_are_none_are_refused(key, weight, words):
    with pytest.raises(ValueError, match=words):
        learner(key).fit([[1.0], [2.0], [3.0]], ["a", "b", "a"], weight)


def test_optimal_trees_refuse_weights_that_are_no_counts():
    frame, y = table()
    weight = np.arange(1, len(y) + 1)
    with pytest.raises(ValueError, match=r"whole numbers, .* got 1.5"):
        learner("optimal").fit(frame, y, weight + 0.5)
    with pytest.raises(ValueError, match="Divide the weights"):
        learner("optimal").fit(frame, y, weight * 1_000_000)


@pytest.mark.parametrize("kind", [OptimalTreeClassifier, OptimalTreeRegressor])
def test_an_optimal_tree_by_counts_is_that_of_rows_so_often(kind):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (90, 3)).astype(float)
    y = (X[:, 0] * X[:, 1] + rng.normal(0, 8, 90) > 12).astype(int)
    counts = rng.integers(0, 4, 90)
    settings = {"max_depth": 2, "n_thresholds": 4, "min_samples_leaf": 3}
    by_count = kind(**settings).fit(X, y, counts).tree_
    repeated = kind(**settings).fit(X.repeat(counts, 0), y.repeat(counts)).tree_
    assert np.array_equal(by_count.feature, repeated.feature)
    assert np.array_equal(by_count.threshold, repeated.threshold, equal_nan=True)
    assert np.array_equal(by_count.weight, repeated.n_rows)
    assert by_count.impurity == pytest.approx(repeated.impurity)


@pytest.mark.parametrize("kind", [CartClassifier, CartRegressor])
@pytest.mark.parametrize("seed", range(5))
def test_a_row_of_weight_two_is_the_same_as_the_row_twice(kind, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    X[rng.random(X.shape) < 0.1] = np.nan
    times = rng.integers(0, 4, 60)
    again = X.repeat(times, axis=0), y.repeat(times)
    settings = {"tune": False, "random_state": 0, "max_leaf_nodes": 12}
    weighted = kind(**settings).fit(X, y, times).tree_
    repeated = kind(**settings).fit(*again).tree_
    assert (weighted.feature == repeated.feature).all()
    np.testing.assert_allclose(weighted.threshold, repeated.threshold)
    np.testing.assert_allclose(weighted.impurity, repeated.impurity, atol=1e-12)
    np.testing.assert_array_equal(weighted.weight, repeated.n_rows)
    assert (weighted.n_rows <= weighted.weight).all()
    if weighted.classes is None:
        np.testing.assert_allclose(weighted.value, repeated.value)
    else:
        np.testing.assert_allclose(weighted.class_counts, repeated.class_counts)
        assert (weighted.predicted_class == repeated.predicted_class).all()
    paths = cost_complexity_path(weighted), cost_complexity_path(repeated)
    np.testing.assert_allclose(paths[0].alphas, paths[1].alphas, atol=1e-12)
    np.testing.assert_array_equal(paths[0].step, paths[1].step)


@pytest.mark.parametrize("classes", [None, ("a", "b", "c")])
def test_held_out_rows_score_by_their_weights_in_cross_validation(classes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    y = rng.integers(0, 3, 200) if classes else rng.normal(size=200)
    times, part = rng.integers(1, 4, 200), rng.integers(0, N_PARTS, 200)
    n_classes = 3 if classes else 1
    greedy = Greedy(classes, np.ones(n_classes), None, 0)
    task = "multiclass" if classes else "regression"
    sizes = np.array([1, 2, 5, 9])
    search = Search(greedy, task, np.ones((1, n_classes)), sizes, 1, 0)
    features = tuple(Feature(f"x{i}") for i in range(3))
    grown = x[:100], x[:100], y[:100], features
    path = cost_complexity_path(search.grow(*grown, 5))
    held = x[100:], y[100:], part[100:]
    (weighted,) = path_sums(path, (*held, times[100:].astype(float)), search)
    again = [own.repeat(times[100:], axis=0) for own in held]
    (repeated,) = path_sums(path, (*again, None), search)
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


def test_the_retained_tree_is_that_of_the_rows_that_weigh_most():
    y = np.array([0.0, 1.0, 0.0, 1.0])
    first, second = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 1.0])
    early, late = np.array([9.0, 9.0, 1.0, 1.0]), np.array([1.0, 1.0, 9.0, 9.0])
    assert [retained([first, second], y, weight=w) for w in (early, late)] == [0, 1]
    codes = y.astype(int), [first.astype(int), second.astype(int)]
    found = [retained(codes[1], codes[0], weight=w) for w in (early, late)]
    assert found == [0, 1]


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_target_rates_and_medians_are_those_of_repeated_rows(task):
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 4, (600, 2))
    y = rng.normal(size=600) if task == "regression" else rng.integers(0, 3, 600)
    y = y % 2 if task == "binary" else y
    times = rng.integers(1, 4, 600)
    how = {"task": task, "seed": 0}
    weighted = fit_target_encoding(codes, [4, 4], y, weight=times / 1.0, **how)
    rows = codes.repeat(times, axis=0), [4, 4], y.repeat(times)
    # A level's rows are drawn to the mean by their number: that of the weighted ones.
    repeated = fit_target_encoding(*rows, **how)
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    for ours, theirs in zip(weighted.scores, repeated.scores):
        np.testing.assert_allclose(ours, theirs, atol=0.02)
    x = rng.normal(size=41)
    for weight in (rng.integers(1, 4, 41), np.full(41, 2)):
        assert median(x, weight) == np.median(x.repeat(weight))


def test_scores_weigh_rows():
    frame, y = table()
    weight = drawn(len(y))
    model = learner("cart").fit(frame, y)
    right = model.predict(frame) == y
    assert model.score(frame, y, weight) == pytest.approx(
        np.average(right, weights=weight)
    )


def test_equal_targets_score_0_by_any_weights():
    tree = CartRegressor().fit([[0.0], [1.0]], [1.0, 2.0])
    rng = np.random.default_rng(0)
    y, weight = np.full(8, 1000 + rng.normal()), rng.random(8)
    assert tree.score(rng.normal(size=(8, 1)), y, weight) == 0.0


def test_validation_rows_have_weights_of_their_own():
    frame, y = table()
    y, weight = target(y, "regression"), drawn(len(y))
    rows = {"X_valid": frame, "y_valid": y}
    model = CartRegressor(tune=False, max_depth=2).fit(
        frame, y, **rows, sample_weight_valid=weight
    )
    error = (model.predict(frame) - y) ** 2
    assert model.history_["valid_loss"].iloc[0] == pytest.approx(
        np.average(error, weights=weight)
    )
    with pytest.raises(ValueError, match="sample_weight_valid needs X_valid"):
        CartRegressor().fit(frame, y, sample_weight_valid=weight)


def test_weights_come_as_a_column_of_a_frame():
    frame, y = table()
    series = pd.Series(drawn(len(y)), index=frame.index)
    one = learner("cart").fit(frame, y, series)
    other = learner("cart").fit(frame, y, series.tolist())
    assert (one.predict_proba(frame) == other.predict_proba(frame)).all()


@pytest.mark.parametrize("key", ["cart", "gradtree"])
def test_a_refused_target_is_named_by_its_row_of_the_table(key):
    frame, y = pd.DataFrame({"x": np.arange(60.0)}), np.ones(60)
    weight = np.ones(60)
    y[[3, 20]], weight[[1, 3, 5]] = -1.0, 0.0  # the first is left out
    kind = {"cart": CartRegressor, "gradtree": GradTreeRegressor}[key]
    own = kind(loss="poisson")
    with pytest.raises(ValueError, match="y holds -1 in row 20"):
        own.fit(frame, y, sample_weight=weight)
    with pytest.raises(ValueError, match="y holds -1 in row 20"):
        own.fit(frame.to_numpy(), y, sample_weight=weight)
    named = frame.set_index(pd.Index([f"policy {i}" for i in range(60)]))
    with pytest.raises(ValueError, match="y holds -1 in row policy 20"):
        own.fit(named, y, sample_weight=weight)
    y[20] = np.inf
    with pytest.raises(ValueError, match="NaN or infinity, first in row 20"):
        own.fit(frame, y, sample_weight=weight)
