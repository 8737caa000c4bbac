import numpy as np
import pandas as pd
import pytest

from treelab.data.columns import cast_column, categories, class_labels, numbers
from treelab.trees.cells import CATEGORY
from treelab.trees.feature import Feature, feature_matrix


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a", None, "b"], dtype="str"),
        pd.Series(["b", "a", None, "b"], dtype=object),
        pd.Series(["b", "a", None, "b"], dtype="category"),
    ],
)
def test_categories_are_the_texts_of_the_values(column):
    codes, levels = categories(column)
    assert codes.tolist() == [1, 0, -1, 1]
    assert levels == ("a", "b")


def test_values_of_one_text_are_one_category():
    codes, levels = categories(pd.Series([1, "1", 2, None], dtype=object))
    assert levels == ("1", "2")
    assert codes.tolist() == [0, 0, 1, -1]


@pytest.mark.parametrize("hour", [0, 10])
def test_a_category_of_moments_is_that_of_their_plain_column(hour):
    days = pd.date_range(f"2020-01-01 {hour}:00", periods=2)
    _, levels = categories(pd.Series(days).astype("category"))
    feature = Feature("day", "category", categories=levels, scores=(0, 1))
    for column in (days.astype("category"), days, days.astype(object)):
        assert feature_matrix([feature], pd.DataFrame({"day": column})).T.tolist() == [
            [0, 1]
        ]


def test_a_column_of_gaps_has_no_categories():
    codes, levels = categories(pd.Series([None, None], dtype="str"))
    assert codes.tolist() == [-1, -1]
    assert levels == ()


@pytest.mark.parametrize("dtype", ["float64", "Float32", "Int64"])
def test_missing_numbers_are_nan(dtype):
    assert np.isnan(numbers(pd.Series([1, None], dtype=dtype))).tolist() == [
        False,
        True,
    ]


def test_text_becomes_the_number_it_shows():
    cast = cast_column(pd.Series(["1.5", "many", None, " 2 "], dtype="str"), "number")
    assert cast.isna().tolist() == [False, True, True, False]
    assert cast.dropna().tolist() == [1.5, 2.0]


def test_text_that_is_made_a_number_is_read_as_a_model_reads_it():
    column = pd.Series(["1,234.5", "7", "-", "many", "inf"], dtype="str", name="v")
    cast = cast_column(column, "number")
    model = Feature("v", form=CATEGORY)
    np.testing.assert_array_equal(cast, [1234.5, 7, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(cast, model.read(column))


@pytest.mark.parametrize("dtype", ["bool", "boolean"])
def test_true_and_false_become_one_and_zero(dtype):
    cast = cast_column(pd.Series([True, False], dtype=dtype), "number")
    assert cast.tolist() == [1.0, 0.0]
    assert cast.dtype == np.float64


def test_numbers_become_the_text_of_them():
    cast = cast_column(pd.Series([1.0, 2.5, np.nan]), "category")
    assert cast[:2].tolist() == ["1", "2.5"]
    assert cast.isna()[2]
    assert cast_column(pd.Series([3, 4]), "category").tolist() == ["3", "4"]


def test_a_column_of_that_kind_stays_as_it_is():
    column = pd.Series([1, 2])
    assert cast_column(column, "number") is column
    with pytest.raises(ValueError, match="'date'"):
        cast_column(column, "date")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1.0, 2.0], [1, 2]),
        ([0.5, 2.0], ["0.5", "2"]),
        ([2**53, 2**53 + 1], [2**53, 2**53 + 1]),
        ([0, 2**64 - 1], [0, 2**64 - 1]),
        ([True, False], [True, False]),
        (pd.Series([True, False], dtype=object), [True, False]),
        (["a", "b"], ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series(["a", 1], dtype=object), ["a", "1"]),
    ],
)
def test_labels_are_plain_values_of_one_type(values, labels):
    found = class_labels(pd.Series(values)).tolist()
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]
