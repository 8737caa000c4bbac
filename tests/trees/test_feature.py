from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import treelab.trees.feature as feature_module
from treelab.trees.cells import CATEGORY
from treelab.trees.feature import Feature, FeatureReader, feature_matrix

JOB = Feature(
    "job", "category", categories=("Sales", "Tech"), scores=(0.25, 0.75), unseen=0.5
)


@pytest.mark.parametrize("dtype", ["float32", "int8", "Int64", "bool", "boolean"])
def test_numbers_are_read_as_they_are(dtype):
    table = pd.DataFrame({"a": pd.Series([0, 1, 1], dtype=dtype)})
    assert feature_matrix([Feature("a")], table)[:, 0].tolist() == [0.0, 1.0, 1.0]
    alone = [feature_matrix([Feature("a")], table.iloc[[i]])[0, 0] for i in range(3)]
    assert alone == [0.0, 1.0, 1.0]


def test_missing_numbers_are_nan():
    table = pd.DataFrame(
        {
            "a": pd.array([1, None, 3], dtype="Int64"),
            "b": [1.5, None, 2],
            "c": pd.Series(["7", None, "1e3"], dtype=object),
        }
    )
    matrix = feature_matrix([Feature("a"), Feature("b"), Feature("c")], table)
    expected = [[1, 1.5, 7], [np.nan] * 3, [3, 2, 1000]]
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("dtype", [object, "str", "category"])
def test_categories_are_read_by_their_score(dtype):
    values = ["Tech", None, "Sales", "Astronaut"]
    table = pd.DataFrame({"job": pd.Series(values, dtype=dtype)})
    matrix = feature_matrix([JOB], table)
    np.testing.assert_array_equal(matrix[:, 0], [0.75, np.nan, 0.25, 0.5])
    one_by_one = [feature_matrix([JOB], table.iloc[[i]])[0, 0] for i in range(4)]
    np.testing.assert_array_equal(matrix[:, 0], one_by_one)


@pytest.mark.parametrize("values", [[1, 2, 1], [True, False, True], [1.5, 2.5, 1.5]])
def test_categories_are_known_by_their_text(values):
    first, second = str(values[0]), str(values[1])
    feature = Feature("a", "category", categories=(first, second), scores=(7, 8))
    matrix = feature_matrix([feature], pd.DataFrame({"a": values}))
    assert matrix[:, 0].tolist() == [7, 8, 7]


@pytest.mark.parametrize("names", [("0", "1"), ("0.0", "1.0"), ("False", "True")])
@pytest.mark.parametrize("dtype", [bool, int, float, "int8", "boolean", object])
def test_equal_numbers_are_one_category_however_they_are_written(names, dtype):
    feature = Feature("a", "category", categories=names, scores=(7, 8), unseen=9)
    table = pd.DataFrame({"a": pd.Series([1, 0, 1], dtype=dtype)})
    assert feature_matrix([feature], table)[:, 0].tolist() == [8, 7, 8]
    assert feature_matrix([feature], table[:1])[0, 0] == 8


@pytest.mark.parametrize("levels", [("False", "True"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("form", [None, CATEGORY])
def test_true_and_false_are_read_alone_as_among_others(levels, form):
    flag = Feature("a", "category", categories=levels, scores=(7, 8), form=form)
    table = pd.DataFrame({"a": ["true", "FALSE", "True", "false", "NA", "no"]})
    matrix = feature_matrix([flag], table)
    alone = [feature_matrix([flag], table.iloc[[i]])[0, 0] for i in range(len(table))]
    np.testing.assert_array_equal(matrix[:, 0], alone)
    is_true = [levels[0].lower() != "true", levels[0].lower() == "true"]
    assert matrix[:4, 0].tolist() == [7 + (w == is_true[0]) for w in (1, 0, 1, 0)]


def test_text_is_one_category_as_it_is_written_alone():
    feature = Feature("a", "category", categories=("1", "7.1"), scores=(7, 8), unseen=9)
    table = pd.DataFrame({"a": ["1", "1.0", "True", "7.1", "7.10"]})
    assert feature_matrix([feature], table)[:, 0].tolist() == [7, 9, 9, 8, 9]
    huge = pd.DataFrame({"a": pd.Series([10**400, float("inf"), 7.1], dtype=object)})
    assert feature_matrix([feature], huge)[:, 0].tolist() == [9, 9, 8]


def test_numbers_in_a_range_may_count_as_missing():
    table = pd.DataFrame({"a": [-999.0, -1000, -998, np.nan, 5], "b": ["-999"] * 5})
    features = [Feature(name, missing_range=(-999.5, -998.5)) for name in "aba"]
    matrix = feature_matrix([*features, Feature("a")], table)
    wanted = [np.nan, -1000, -998, np.nan, 5]
    np.testing.assert_array_equal(matrix[:, 0], wanted)
    np.testing.assert_array_equal(matrix[:, 2], wanted)
    assert np.isnan(matrix[:, 1]).all()
    assert matrix[0, 3] == -999
    assert table["a"][0] == -999
    assert features[0].reading != Feature("a").reading


def test_two_features_may_read_one_column():
    other = Feature("job", "category", categories=("Tech",), scores=(1.0,))
    matrix = feature_matrix([JOB, other], pd.DataFrame({"job": ["Tech", "Sales"]}))
    np.testing.assert_array_equal(matrix, [[0.75, 1], [0.25, np.nan]])


def test_an_array_is_read_by_number_or_by_position():
    X = np.arange(6.0).reshape(2, 3)
    assert feature_matrix([Feature("x2")], X)[:, 0].tolist() == [2, 5]
    named = [Feature("a"), Feature("b"), Feature("a"), Feature("c")]
    assert feature_matrix(named, X)[0].tolist() == [0, 1, 0, 2]


def test_a_sparse_matrix_is_refused_with_what_to_give():
    with pytest.raises(TypeError, match=r"Give its numbers as X\.toarray\(\)"):
        feature_matrix([Feature("a")], csr_array(np.eye(2)))


def test_a_table_without_rows_gives_a_matrix_without_rows():
    table = pd.DataFrame({"a": pd.Series(dtype=float), "job": pd.Series(dtype=object)})
    assert feature_matrix([Feature("a"), JOB], table).shape == (0, 2)


def test_columns_that_are_not_needed_may_be_absent():
    features = [Feature("a"), Feature("b")]
    matrix = feature_matrix(features, pd.DataFrame({"b": [3.0]}), used=[1])
    np.testing.assert_array_equal(matrix, [[np.nan, 3]])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.DataFrame({"b": [1]}), "no column 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "2 columns named 'a'"),
        (pd.DataFrame({"a": [1, "tall"]}), "'a' holds 'tall' in row 2, but .* numbers"),
        (pd.DataFrame({"a": pd.interval_range(0, 1)}), "holds Interval"),
        (pd.DataFrame({"a": [1j]}), "holds complex128"),
        (np.zeros((2, 5)), "5 columns without names"),
        (np.zeros(3), "reshape"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_by_name(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        feature_matrix([Feature("a"), Feature("c")], table)


@pytest.mark.parametrize("dtype", ["int8", "float64", "Int64"])
def test_numbers_are_refused_where_all_categories_are_words(dtype):
    numbers = pd.DataFrame({"job": pd.Series([3, 4, None][: 2 + (dtype != "int8")])})
    with pytest.raises(ValueError, match=f"'job' holds {dtype} .*such as 'Sales'"):
        feature_matrix([JOB], numbers.astype(dtype))
    with pytest.raises(ValueError, match="such as 2021-03-01 00:00:00, but"):
        feature_matrix([JOB], pd.DataFrame({"job": [pd.Timestamp("2021-03-01")]}))
    odd = Feature("job", "category", categories=("inf", "x"), scores=(1, 2))
    with pytest.raises(ValueError, match="such as 'inf'"):
        feature_matrix([odd], numbers.astype(dtype))
    nothing = pd.DataFrame({"job": [np.nan, np.nan]})
    assert np.isnan(feature_matrix([JOB], nothing)).all()
    codes = Feature("job", "category", categories=("1", "2", "x"), scores=(1, 2, 3))
    assert np.isnan(feature_matrix([codes], numbers.astype(dtype))).all()


def test_a_moment_is_refused_alone_only_where_it_is_among_others():
    days = pd.DataFrame({"job": pd.to_datetime(["2021-03-01", "2021-03-02"])})
    seen = Feature("job", "category", categories=("2021-03-01",), scores=(1,), unseen=9)
    assert feature_matrix([seen], days)[:, 0].tolist() == [1, 9]
    assert feature_matrix([seen], days[1:])[:, 0].tolist() == [9]
    written = replace(seen, categories=("01.03.2021",))
    for rows in (days, days[1:]):
        with pytest.raises(ValueError, match=r"such as '01\.03\.2021'"):
            feature_matrix([written], rows)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "text"},
        {"kind": "category", "categories": ("a", "b"), "scores": (1,)},
        {"kind": "category", "categories": ("a", "a"), "scores": (1, 2)},
        {"categories": ("a",), "scores": (1,)},
    ],
)
def test_a_feature_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        Feature("a", **wrong)


def test_columns_of_numbers_are_read_together(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(5, 400))).add_prefix("x")
    X = X.assign(
        x7=X["x7"] > 0, x8=rng.integers(9, size=5), x9=X["x9"].astype("Float64")
    )
    X.loc[2, "x9"] = pd.NA
    one_by_one = []
    column = feature_module._column

    def noted(X, positions, name):
        one_by_one.append(name)
        return column(X, positions, name)

    monkeypatch.setattr(feature_module, "_column", noted)
    names = [f"x{j}" for j in reversed(range(400))]
    matrix = feature_matrix([Feature(name) for name in names], X)
    assert one_by_one == ["x9"]
    wanted = X[names].astype("Float64").to_numpy(np.float64, na_value=np.nan)
    np.testing.assert_array_equal(matrix, wanted)


def test_one_reader_reads_a_column_by_the_scores_of_each_feature():
    table = pd.DataFrame({"job": ["Tech", "Sales", None], "age": [1, 2, 3]})
    reader = FeatureReader([JOB], table)
    other = Feature("job", "category", categories=("Tech",), scores=(7.0,))
    np.testing.assert_array_equal(reader.matrix([JOB])[:, 0], [0.75, 0.25, np.nan])
    first = reader.matrix([other, Feature("age")])
    np.testing.assert_array_equal(first, feature_matrix([other, Feature("age")], table))
    assert JOB.reading != other.reading
    assert Feature("age", fill=float("nan")).reading == Feature("age").reading


def test_a_column_is_known_by_its_name_as_text():
    for name in (0, ("a", "b")):
        table = pd.DataFrame([[7.0]], columns=pd.Index([name]))
        assert feature_matrix([Feature(str(name))], table).tolist() == [[7.0]]
