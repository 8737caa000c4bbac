"""scikit-learn's trees and forests predict the same once they are ours."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, tree
from sklearn.linear_model import LinearRegression
from sklearn.multiclass import OneVsRestClassifier

import treelab
from treelab.data.reading.read_table import read_table
from treelab.evaluation.explanations import contributions
from treelab.trees.adapters import Forest
from treelab.trees.pruning import cost_complexity_path
from treelab.trees.tree import Tree

CLASSIFIERS = [
    tree.DecisionTreeClassifier(random_state=0),
    tree.DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=0),
    tree.ExtraTreeClassifier(random_state=0),
    ensemble.RandomForestClassifier(8, class_weight="balanced", random_state=0),
    ensemble.ExtraTreesClassifier(8, random_state=0),
]
REGRESSORS = [
    tree.DecisionTreeRegressor(random_state=0),
    tree.DecisionTreeRegressor(criterion="absolute_error", max_depth=4, random_state=0),
    tree.ExtraTreeRegressor(random_state=0),
    ensemble.RandomForestRegressor(8, random_state=0),
    ensemble.ExtraTreesRegressor(8, random_state=0),
]


def rows(n: int, seed: int, missing: float = 0.1) -> pd.DataFrame:
    """A table with values that float32 rounds, and missing ones."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b c", "d", "e"])
    table["d"] = table["d"].round(1)
    return table.mask(rng.random(table.shape) < missing)


def hard_rows(model: Tree | Forest) -> pd.DataFrame:
    """Rows at the thresholds and beside them, in float64 and as float32 rounds."""
    trees = model if isinstance(model, Forest) else [model]
    values = np.concatenate([t.threshold[~t.is_leaf] for t in trees])
    values = values[np.abs(values) < 1e30][:400]  # infinite where missing values part
    beside = [np.nextafter(values, end) for end in (-np.inf, np.inf)]
    near = np.concatenate([values, *beside, values.astype(np.float32)])
    rng = np.random.default_rng(1)
    names = [f.column for f in model.features]
    return pd.DataFrame({name: rng.permutation(near) for name in names})


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: str(m)[:30])
def test_classifiers_predict_alike_on_every_row(model):
    X = rows(300, 0)
    y = np.where(X["a"].fillna(0) + X["d"].fillna(1) > 0, "yes", "no")
    model.fit(X, y)
    ours = treelab.from_sklearn(model)
    for table in (rows(2000, 1), hard_rows(ours)):
        assert np.array_equal(ours.predict_proba(table), model.predict_proba(table))
        assert np.array_equal(ours.predict(table), model.predict(table))


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: str(m)[:30])
def test_regressors_predict_alike_on_every_row(model):
    missing = 0.1 if "absolute" not in str(model) else 0.0
    X = rows(300, 0, missing)
    model.fit(X, X["a"].fillna(0) + X["d"].fillna(1) ** 2)
    ours = treelab.from_sklearn(model)
    for table in (rows(2000, 1, missing), hard_rows(ours)):
        assert np.array_equal(ours.predict(table), model.predict(table))


def test_it_knows_rows_units_and_classes():
    X, y = rows(200, 0), np.arange(200) % 3
    model = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    ours = treelab.from_sklearn(model, target="kind", units={"a": "cm"})
    assert isinstance(ours, Tree)
    assert ours.target == "kind"
    assert ours.classes == (0, 1, 2)
    assert {f.column: f.unit for f in ours.features}["a"] == "cm"
    shown = ours.with_rows(X, y)
    assert np.array_equal(ours.n_rows, shown.n_rows)
    assert np.array_equal(ours.class_counts, shown.class_counts)
    assert ours.impurity == pytest.approx(shown.impurity)
    assert len(cost_complexity_path(ours)) > 2


def test_a_forest_is_the_list_of_its_trees():
    X = rows(100, 0)
    y = X["a"].fillna(0)
    forest = treelab.from_sklearn(ensemble.RandomForestRegressor(5).fit(X, y))
    assert len(forest) == 5
    assert all(isinstance(member, Tree) for member in forest)
    assert "One of 5 trees" in forest[0].notes[0]


def test_names_may_be_given_where_the_model_has_none():
    X = rows(100, 0, 0.0)
    model = tree.DecisionTreeRegressor(max_depth=2).fit(X.to_numpy(), X["a"])
    assert treelab.from_sklearn(model).columns == ("x0",)
    assert treelab.from_sklearn(model, list("wxyz")).columns == ("w",)
    with pytest.raises(ValueError, match="2 names, the model 4 columns"):
        treelab.from_sklearn(model, ["a", "b"])


@pytest.mark.parametrize(
    "model",
    [
        ensemble.VotingClassifier([("a", tree.DecisionTreeClassifier())]),
        ensemble.StackingClassifier([("a", tree.DecisionTreeClassifier())]),
        ensemble.BaggingClassifier(tree.DecisionTreeClassifier(), 2),
        ensemble.AdaBoostClassifier(n_estimators=2),
        ensemble.IsolationForest(n_estimators=2),
        OneVsRestClassifier(tree.DecisionTreeClassifier()),
        treelab.CartClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_combinations_of_trees_are_refused(model):
    X = rows(60, 0, 0.0)
    model.fit(X, np.digitize(X["a"], [-0.5, 0.5]))
    with pytest.raises(ValueError, match=f"{type(model).__name__} is none"):
        treelab.from_sklearn(model)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (tree.DecisionTreeRegressor(), "not fitted"),
        (LinearRegression().fit([[1.0], [2.0]], [1, 2]), "LinearRegression is none"),
        (
            ensemble.GradientBoostingRegressor(n_estimators=2).fit(
                [[1.0], [2]], [1, 2]
            ),
            "is none",
        ),
        (
            ensemble.AdaBoostRegressor(n_estimators=2).fit([[1.0], [2]], [1, 2]),
            "is none",
        ),
        (
            tree.DecisionTreeRegressor().fit([[1.0], [2]], [[1, 2], [2, 3]]),
            "predicts 2 targets",
        ),
    ],
)
def test_other_models_are_refused_by_name(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        treelab.from_sklearn(model)


@pytest.mark.parametrize("moments", ["datetime64[s]", "timedelta64[s]"])
@pytest.mark.parametrize(
    "model",
    [tree.DecisionTreeRegressor(), ensemble.HistGradientBoostingRegressor(max_iter=3)],
)
def test_dates_and_durations_are_no_numbers_of_a_model_from_elsewhere(model, moments):
    seconds = np.random.default_rng(0).integers(0, 10**9, 200)
    frame = pd.DataFrame({"at": seconds.astype(moments)})
    model.fit(frame, seconds % 7)  # which makes whole numbers of them
    ours = treelab.from_sklearn(model)
    with pytest.raises(ValueError, match="trained elsewhere, on numbers"):
        ours.predict(frame)
    numbers = frame.astype("int64")
    np.testing.assert_allclose(ours.predict(numbers), model.predict(frame))


@pytest.mark.parametrize("kind", ["timedelta64[s]", "duration[ms][pyarrow]", object])
def test_durations_of_training_rows_are_days_and_other_numbers_are_none(kind):
    hours = pd.Series(range(0, 240, 2))
    stay = pd.to_timedelta(hours, unit="h").astype("timedelta64[s]").astype(kind)
    frame = pd.DataFrame({"stay": stay})
    model = treelab.CartRegressor().fit(frame, hours > 50)
    days = pd.DataFrame({"stay": hours / 24})
    assert (model.predict(frame) == model.tree_.predict(days)).all()
    file = read_table(days.to_csv(index=False).encode(), one_column=True)
    plain = treelab.CartRegressor().fit(file.frame, hours > 50)
    with pytest.raises(ValueError, match=r"'stay' holds .* held numbers"):
        plain.tree_.predict(frame)


@pytest.mark.parametrize(
    "kind", [tree.DecisionTreeClassifier, tree.DecisionTreeRegressor]
)
def test_a_tree_of_weighted_rows_is_pruned_and_explained_by_their_weights(kind):
    X = rows(300, 0, missing=0.0)
    y = (X["a"] + X["d"] ** 2 > 0.5).astype(float)
    weight = np.random.default_rng(0).integers(1, 6, len(X)).astype(float)
    model = kind(max_leaf_nodes=12, random_state=0).fit(X, y, sample_weight=weight)
    ours = treelab.from_sklearn(model)
    path = cost_complexity_path(ours)
    theirs = model.cost_complexity_pruning_path(X, y, sample_weight=weight)
    assert path.alphas == pytest.approx(theirs.ccp_alphas)
    assert path.impurities == pytest.approx(theirs.impurities)
    predicted = getattr(ours, "predict_proba" if ours.classes else "predict")(X)
    mean = np.average(predicted.reshape(len(X), -1)[:, -1], weights=weight)
    output = len(ours.classes or (0,)) - 1
    assert contributions(ours, X.iloc[[0]], output).base == pytest.approx(mean)


def test_booleans_are_the_same_from_a_file_as_from_a_frame():
    flag = np.arange(40) % 3 == 0
    X = pd.DataFrame({"flag": flag, "size": np.arange(40.0)})
    model = tree.DecisionTreeClassifier(random_state=0).fit(X, flag.astype(int))
    ours = treelab.from_sklearn(model)
    for file in (X.to_csv(index=False), X.to_csv(index=False).replace("True", "TRUE")):
        read = read_table(file.encode()).frame
        assert ours.predict(read).tolist() == ours.predict(X).tolist()
    assert set(ours.predict(X)) == {0, 1}
