import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.learners.builtin_tables import BUILTIN_TABLES
from tests.learners.drawn_rows import of_drawn_rows
from tests.slow_params import slow_after
from tests.trees.make import shrunk_by_hand
from treelab import CartClassifier, CartRegressor
from treelab.data.builtin import BUILTIN
from treelab.data.problem import Problem

# Leaves of ten rows: one check weighs a class 10 million times the other in pure noise
# and expects the light one to be predicted hardly ever, which no leaf of one row does.
LEAF = 10


@parametrize_with_checks(
    [CartClassifier(tune=False, min_samples_leaf=LEAF), CartRegressor(tune=False)],
    expected_failed_checks=of_drawn_rows,
)
def test_scikit_learns_checks_of_the_plain_tree(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [CartClassifier(min_samples_leaf=LEAF), CartRegressor()],
    expected_failed_checks=of_drawn_rows,
)
def test_scikit_learns_checks_of_the_tuned_tree(small_search, estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_depth": 5},
        {"max_leaf_nodes": 9, "min_samples_leaf": 3},
        {"ccp_alpha": 0.01, "class_weight": "balanced"},
    ],
)
def test_untuned_numbers_only_gives_scikit_learns_own_tree(settings):
    X, y = load_breast_cancer(return_X_y=True)
    ours = CartClassifier(tune=False, random_state=0, **settings).fit(X, y)
    theirs = DecisionTreeClassifier(random_state=0, **settings).fit(X, y)
    assert ours.tree_.n_leaves == theirs.get_n_leaves()
    assert (ours.predict(X) == theirs.predict(X)).all()
    weighted = ours.tree_.class_counts * ours.tree_.class_weights
    fractions = weighted / weighted.sum(axis=1, keepdims=True)
    assert np.allclose(fractions[ours.tree_.apply(X)], theirs.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("key", slow_after(3, BUILTIN_TABLES))
def test_every_built_in_table_trains_and_beats_a_constant(key):
    table = BUILTIN[key]
    frame = table.load()
    columns = tuple(name for name in frame.columns if name != table.target)
    problem = Problem("id", key, table.target, columns, task=table.task, seed=0)
    split = problem.split(frame)
    kind = CartRegressor if table.task == "regression" else CartClassifier
    model = kind(max_depth=4, random_state=0).fit(
        split.X_train, split.y_train, X_valid=split.X_valid, y_valid=split.y_valid
    )
    if key == "greedy_trap":
        return  # made so that a greedy tree of this depth stays near chance
    constant = (
        0.0
        if table.task == "regression"
        else split.y_test.value_counts(normalize=True).max()
    )
    assert model.score(split.X_test, split.y_test) > constant + 0.05


def test_leaves_of_a_table_with_categories_hold_the_classes_of_their_rows():
    frame = BUILTIN["mixed"].load().dropna(subset=[BUILTIN["mixed"].target])
    target = frame.pop(BUILTIN["mixed"].target)
    model = CartClassifier(max_depth=5, tune=False, random_state=0).fit(frame, target)
    tree, leaf = model.tree_, model.tree_.apply(frame)
    for node in np.unique(leaf):
        counts = [(target[leaf == node] == label).sum() for label in tree.classes]
        assert np.array_equal(tree.class_counts[node], counts)
        assert np.allclose(tree.value[node], shrunk_by_hand(tree, node))


def test_linear_target_is_followed_in_its_own_units():
    data = load_diabetes(as_frame=True, scaled=False)
    model = CartRegressor(max_depth=4, tune=False, random_state=0).fit(
        data.data, data.target
    )
    assert 25 <= model.predict(data.data).min() < model.predict(data.data).max() <= 346
    assert model.score(data.data, data.target) > 0.5


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_depth", 0),
        ("max_depth", 2.5),
        ("min_samples_leaf", 0),
        ("ccp_alpha", -1.0),
    ],
)
def test_settings_out_of_range_are_refused_by_name(setting, value):
    model = CartClassifier(**{setting: value})
    with pytest.raises(ValueError, match=f"{setting} must be"):
        model.fit([[1.0], [2.0]], [0, 1])


def test_infinite_values_are_refused_by_column_and_row():
    frame = pd.DataFrame({"age": [1.0, 2, np.inf, 4], "bmi": 1.0})
    with pytest.raises(ValueError, match="'age' holds an infinite value in row 3"):
        CartClassifier().fit(frame, [0, 1, 0, 1])


def test_a_class_that_only_validation_has_is_named():
    with pytest.raises(ValueError, match="y_valid holds the class 'c'"):
        CartClassifier().fit([[1], [2]], ["a", "b"], X_valid=[[1]], y_valid=["c"])


def test_class_weights_shift_predictions_to_the_rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 1.6).astype(int)
    plain = CartClassifier(max_depth=2, random_state=0).fit(X, y).predict(X).mean()
    for weight in ("balanced", {0: 1, 1: 10}):
        model = CartClassifier(max_depth=2, random_state=0, class_weight=weight).fit(
            X, y
        )
        assert model.predict(X).mean() > plain


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({0: 1, 1: 2}, r"a weight for 0, which is no class of y, and none .* 'a'"),
        ({"a": 1, "c": 2}, r"a weight for 'c', .* such as 'b'"),
        ({"a": 1, "b": -1}, r"at least 0, got -1 for 'b'"),
        ({"b": float("nan")}, r"at least 0, got nan for 'b'"),
    ],
)
def test_class_weights_that_make_no_sense_are_refused_by_label(weight, words):
    with pytest.raises(ValueError, match=words):
        CartClassifier(class_weight=weight).fit([[1], [2]] * 9, ["a", "b"] * 9)


@pytest.mark.slow
def test_a_class_that_rows_lack_may_have_a_weight():
    X, y = [[1], [2]] * 9, ["a", "b"] * 9
    fitted = [
        CartClassifier(class_weight=weight, random_state=0).fit(X, y).predict_proba(X)
        for weight in ({"a": 1, "b": 9}, {"a": 1, "b": 9, "rare": 50})
    ]
    np.testing.assert_array_equal(*fitted)


def test_history_holds_one_row_and_callbacks_get_it():
    reports = []
    model = CartClassifier().fit(
        [[1.0], [2.0], [3.0]], [0, 1, 1], callbacks=[reports.append]
    )
    assert len(model.history_) == len(reports) == 1
    assert reports[0].snapshot().n_nodes == model.tree_.n_nodes
