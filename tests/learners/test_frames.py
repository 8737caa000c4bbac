"""Data frames of any library and with any columns, given to estimators."""

import datetime as dt
import decimal
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.learners.test_pipeline import QUICK, SLOW
from treelab import CartClassifier, CartRegressor
from treelab.data.reading.read_table import read_table
from treelab.learners.registry import LEARNERS, make_estimator
from treelab.trees.cells import forms_of


def table(n_rows=120) -> tuple[pd.DataFrame, np.ndarray]:
    """Dates, exact decimals, categories, flags and numbers with gaps; two classes."""
    rng = np.random.default_rng(0)
    start = dt.date(2020, 1, 1)
    days = [start + dt.timedelta(int(d)) for d in rng.integers(0, 1500, n_rows)]
    frame = pd.DataFrame(
        {
            "day": pd.Series(days, dtype=object),
            "price": [decimal.Decimal(int(v)) / 4 for v in rng.integers(0, 40, n_rows)],
            "color": rng.choice(["red", "blue", "green"], n_rows),
            "size": rng.normal(size=n_rows),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    late = frame["day"] > dt.date(2021, 9, 1)
    y = np.where(late ^ (frame["color"] == "red"), "yes", "no")
    for place, column in enumerate(["day", "price", "color", "size"]):
        frame.loc[place, column] = None
    return frame, y


def learner(key="cart", task="binary", **settings):
    """A learner that is quick."""
    if key == "optimal":
        pytest.importorskip("pystreed")
    settings = QUICK[key] | settings
    return make_estimator(key, task, settings, random_state=0, device="cpu")


SAME = {
    "pandas": lambda frame: frame,
    "reordered pandas": lambda frame: frame[frame.columns[::-1]],
    "datetime64": lambda frame: frame.assign(day=pd.to_datetime(frame["day"])),
    "polars": pl.from_pandas,
    "reordered polars": lambda frame: pl.from_pandas(frame[frame.columns[::-1]]),
    "categorical polars": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("color").cast(pl.Categorical)
    ),
    "pyarrow": lambda frame: pl.from_pandas(frame).to_arrow(),
}


@pytest.fixture(scope="module")
def expected():
    """Return a model that is fitted to the pandas frame."""
    frame, y = table()
    model = learner(tune=True).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert "day" in model.tree_.columns
    return model


@pytest.mark.slow
@pytest.mark.parametrize("fitted", SAME)
def test_every_kind_of_frame_gives_the_same_model_and_predictions(expected, fitted):
    frame, y = table()
    proba = expected.predict_proba(frame)
    model = learner(tune=True).fit(SAME[fitted](frame), pl.Series(y))
    assert set(model.feature_names_in_) == set(frame.columns)
    for predicted in SAME.values():
        assert (model.predict_proba(predicted(frame)) == proba).all()


@pytest.mark.parametrize("key", [
    pytest.param(key, marks=[pytest.mark.slow] * (key in SLOW)) for key in LEARNERS
])  # fmt: skip
def test_every_learner_reads_dates_as_numbers_and_frames_by_name(key):
    frame, y = table()
    X = pl.from_pandas(frame)
    model = learner(key).fit(X, y, X_valid=X.select(reversed(X.columns)), y_valid=y)
    kinds = {feature.column: feature.kind for feature in model.model_.features}
    numbers = {name for name, kind in kinds.items() if kind == "number"}
    assert numbers == {"day", "price", "size"}
    proba = model.predict_proba(frame)
    assert (model.predict_proba(X.select(reversed(X.columns))) == proba).all()
    assert (model.model_.predict_proba(X.with_columns(odd=pl.lit([1]))) == proba).all()


@pytest.mark.slow
def test_a_model_of_a_file_reads_a_frame_and_the_other_way_round(expected):
    frame, y = table()
    read = read_table(frame.to_csv(index=False).encode()).frame
    of_file = learner(tune=True).fit(read, y)
    for model in (of_file, expected):
        assert (model.predict_proba(read) == model.predict_proba(frame)).all()
    assert (of_file.predict_proba(frame) == expected.predict_proba(frame)).all()


@pytest.mark.parametrize("library", [lambda X: X, pl.from_pandas,
                                     lambda X: pl.from_pandas(X).to_arrow()],
                         ids=["pandas", "polars", "pyarrow"])  # fmt: skip
def test_other_columns_than_in_training_are_scikit_learns_error(library):
    frame, y = table()
    model = learner().fit(library(frame), y)
    unseen = "names should match those.*unseen at fit time:\n- odd"
    with pytest.raises(ValueError, match=rf"(?s){unseen}"):
        model.predict(library(frame.assign(odd=1)))
    with pytest.raises(ValueError, match=r"(?s)names should match.*missing:\n- size"):
        model.predict(library(frame.drop(columns="size")))
    with pytest.raises(ValueError, match=rf"(?s){unseen}.*missing:\n- size"):
        model.predict(library(frame.rename(columns={"size": "odd"})))


def test_after_an_array_named_columns_are_taken_in_their_order_with_a_warning():
    frame, y = table()
    numbers = frame[["size", "flag"]].astype(float)
    model = learner().fit(numbers.to_numpy(), y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        found = model.predict_proba(numbers)
    assert (found == model.predict_proba(numbers.to_numpy())).all()
    turned = numbers.to_numpy()[:, ::-1]
    by_name = pd.DataFrame(turned, columns=["x1", "x0"])
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        assert (model.predict_proba(by_name) == found).all()


MOMENTS = {
    "dates": pd.date_range("2020-01-01", periods=3),
    "durations": pd.to_timedelta([1, 2, 3], unit="h"),
    "times": [dt.time(hour, 30) for hour in range(3)],
}


@pytest.mark.parametrize("cells", MOMENTS.values(), ids=MOMENTS)
def test_moments_are_their_text_where_training_rows_held_that(cells):
    frame = pd.DataFrame({"a": pd.Series(cells).repeat(20)})
    y = np.repeat(["p", "q", "p"], 20)
    text = frame.assign(a=frame["a"].astype(str), n=1).to_csv(index=False)
    read = read_table(text.encode(), as_text=["a"]).frame
    typed = io.BytesIO()
    frame.to_parquet(typed, index=False)
    later = read_table(typed.getvalue(), one_column=True, as_in=forms_of(read)).frame
    of_text = learner(min_samples_leaf=1).fit(read[["a"]], y)
    of_category = learner(min_samples_leaf=1).fit(frame.astype("category"), y)
    for model in (of_text, of_category):
        for new in (frame, frame.astype(object), later):
            assert (model.predict(new) == y).all()


def test_masked_cells_of_arrays_are_missing():
    frame, y = table()
    X = np.ma.masked_greater(frame[["price", "size"]].to_numpy(np.float64), 5)
    assert X.mask.any()
    model = learner().fit(X, y)
    proba = learner().fit(X.filled(np.nan), y).predict_proba(X.filled(np.nan))
    assert (model.predict_proba(X) == proba).all()
    assert (model.tree_.predict_proba(X) == proba).all()
    with pytest.raises(ValueError, match="y contains NaN, first in row 0"):
        CartRegressor().fit(X, np.ma.array(np.ones(len(X)), mask=np.ones(len(X))))


def test_a_list_in_a_cell_is_refused_in_fit_predict_and_validation():
    frame, y = table()
    lists = frame.assign(size=[[1], *[2.0] * (len(frame) - 1)])
    sentence = "'size' holds a list in row 0"
    with pytest.raises(ValueError, match=sentence):
        learner().fit(lists, y)
    with pytest.raises(ValueError, match=sentence):
        learner().fit(frame, y, X_valid=lists, y_valid=y)
    model = learner().fit(frame, y)
    with pytest.raises(ValueError, match=sentence):
        model.predict(lists)
    polars = pl.DataFrame({"x": [[1], [2]]})
    with pytest.raises(ValueError, match="'x' holds a ndarray in row 0"):
        learner().fit(polars, ["a", "b"])


@pytest.mark.slow
def test_targets_that_are_exact_decimals_or_durations_are_numbers():
    frame, _ = table()
    size = frame["size"].fillna(0).round(2)
    plain = learner(task="regression").fit(frame, size)
    exact = [decimal.Decimal(str(value)) for value in size]
    days = pd.to_timedelta(size * 86400, unit="s")
    for y in (exact, pl.Series(size), days):
        model = learner(task="regression").fit(frame, y)
        np.testing.assert_allclose(model.predict(frame), plain.predict(frame))


@pytest.mark.slow
def test_polars_frames_pass_through_pipelines_searches_and_cross_validation():
    frame, y = table()
    X = pl.from_pandas(frame)
    numbers = pl.from_pandas(frame[["size", "flag"]]).cast(pl.Float64)
    scaled = make_pipeline(StandardScaler().set_output(transform="polars"), learner())
    assert scaled.fit(numbers, y)[-1].feature_names_in_.tolist() == ["size", "flag"]
    search = GridSearchCV(learner(), {"max_depth": [2, 3]}, cv=2).fit(X, pl.Series(y))
    assert search.best_estimator_.feature_names_in_.tolist() == X.columns
    expected = cross_val_score(learner(), frame, y, cv=2)
    for again in (X, X.to_arrow()):
        assert cross_val_score(learner(), again, y, cv=2).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "dtype", ["Int64", "boolean", "category", "int64[pyarrow]", "bool[pyarrow]"]
)
def test_classes_are_whole_numbers_or_true_and_false_in_every_dtype_of_pandas(dtype):
    is_high = pd.Series(np.arange(60) > 30)
    values = is_high.astype(int) if dtype.lower().startswith("int") else is_high
    X = pd.DataFrame({"a": np.arange(60)})
    model = CartClassifier(tune=False).fit(X, values.astype(dtype))
    assert model.classes_.dtype == values.dtype
    assert model.predict(X).tolist() == values.tolist()
    assert model.score(X, values.astype(dtype)) == 1


@pytest.mark.parametrize("dtype", [np.int64, bool, np.float64])
def test_classes_among_objects_are_what_all_of_them_are(dtype):
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 20).astype(dtype)
    model = CartClassifier(random_state=0).fit(X, y.astype(object))
    assert model.classes_.dtype == model.predict(X).dtype == y.dtype
    assert model.score(X, y.astype(object)) == model.score(X, y)


def test_a_regressor_scores_the_targets_that_it_fits():
    X = pd.DataFrame({"x": np.arange(40) % 2})
    for y in (pd.Timestamp("2020") + pd.to_timedelta(X["x"], "D"), X["x"] > 0):
        assert learner(task="regression").fit(X, y).score(X, y) == 1


def test_numbers_beside_text_stay_numbers_in_lists():
    frame, y = table()
    frame = frame[["size", "color", "flag"]].astype(object)
    rows = frame.to_numpy().tolist()
    model = learner().fit(rows, y)
    expected = learner().fit(frame, y).predict_proba(frame)
    assert (model.predict_proba(rows) == expected).all()
    assert (model.tree_.predict_proba(rows) == expected).all()
    moved = [[size and size + 1e-9, *others] for size, *others in rows]
    assert (model.predict_proba(moved) == expected).all()


def test_an_array_is_read_in_the_order_of_the_columns_that_were_fitted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x2", "x0", "x1"])
    model = learner().fit(frame, np.where(frame["x2"] > 0, "yes", "no"))
    assert (model.tree_.predict(frame.to_numpy()) == model.predict(frame)).all()
