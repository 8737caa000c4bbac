import numpy as np
import pandas as pd
import pytest

from treelab.data.builtin import BUILTIN
from treelab.data.columns import (
    as_frame,
    column_kind,
    column_note,
    infer_task,
    useful_columns,
)


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [
        ([1, 2], "int64", "number"),
        ([1.5, None], "float32", "number"),
        ([1, None], "Int64", "number"),
        ([True, False], "bool", "category"),
        ([True, None], "boolean", "category"),
        (["a", None], "str", "category"),
        (["a", 1], "object", "category"),
        ([1, 2], "category", "category"),
    ],
)
def test_the_kind_follows_from_the_type(values, dtype, kind):
    assert column_kind(pd.Series(values, dtype=dtype)) == kind


def test_arrays_get_names_and_objects_that_are_numbers_become_numbers():
    frame = as_frame(np.array([[1, "a"], [2, "b"]], dtype=object))
    assert list(frame.columns) == ["x0", "x1"]
    assert [column_kind(frame[name]) for name in frame] == ["number", "category"]
    assert list(as_frame(np.zeros((1, 2)), ["u", "v"]).columns) == ["u", "v"]


def test_a_frame_is_put_in_the_learned_order_and_stays_as_it_was():
    frame = pd.DataFrame({1: [1], "b": [2], "c": [3]})
    assert list(as_frame(frame, ["b", "1"]).columns) == ["b", "1"]
    assert list(frame.columns) == [1, "b", "c"]


@pytest.mark.parametrize(
    ("X", "names", "words"),
    [
        (pd.DataFrame({"a": [1]}), ["b"], "no column 'b'; it has 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), None, "Two columns.*'a'"),
        (np.zeros((2, 3)), ["a"], "3 columns without names, but 1 were fitted"),
        (np.zeros(3), None, r"shape \(3,\)"),
    ],
)
def test_tables_that_do_not_fit_are_refused(X, names, words):
    with pytest.raises(ValueError, match=words):
        as_frame(X, names)


def numbers_like(n, low, high, seed=0):
    """Whole numbers from low to high, each at least once."""
    rng = np.random.default_rng(seed)
    return [*range(low, high + 1), *rng.integers(low, high + 1, n)]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["yes", "no"] * 5, "binary"),
        ([True, False, None] * 5, "binary"),
        ([0.0, 1.0, np.nan], "binary"),
        ([-1, 1] * 5, "binary"),
        ([2.5, 7.25] * 5, "binary"),
        (["a", "b", "c"], "multiclass"),
        (numbers_like(1797, 0, 9), "multiclass"),  # digits
        ([0.0, 1.0, 2.0, np.nan] * 20, "multiclass"),
        ([1, 2, 3, 5, 6, 7] * 30, "multiclass"),  # glass has no type 4
        ([-1, 0, 1] * 30, "multiclass"),
        (numbers_like(4000, 1, 29), "regression"),  # rings of abalone
        (numbers_like(400, 25, 346), "regression"),  # diabetes
        ([3, 4, 5, 6, 7, 8] * 100, "regression"),  # ratings
        ([0, 10, 20, 30] * 100, "regression"),
        ([0, 1, 2, 3, 4], "regression"),  # too few rows to be classes
        ([0.5, 1.0, 1.5] * 100, "regression"),
    ],
)
def test_the_task_follows_from_the_targets_values(values, task):
    assert infer_task(pd.Series(values)) == task


@pytest.mark.parametrize("key", BUILTIN)
def test_the_task_of_every_built_in_table_is_inferred(key):
    table = BUILTIN[key]
    assert infer_task(table.load()[table.target]) == table.task


def test_useful_columns_are_those_that_may_help():
    frame = pd.DataFrame(
        {"good": np.arange(40) % 7, "empty": np.nan, "same": "x", "row": range(40)}
    )
    assert useful_columns(frame.assign(y=np.arange(40) / 3), "y") == ("good",)


def test_few_rows_make_no_id():
    assert column_note(pd.Series(["a", "b", "c"])) == ""
    assert column_note(pd.Series([1, 2, 3])) == ""


@pytest.mark.parametrize(
    ("first", "note"),
    [(0, "looks like a row number"), (1, "looks like a row number"), (1990, "")],
)
def test_the_years_of_a_series_are_no_row_numbers(first, note):
    assert column_note(pd.Series(range(first, first + 31))) == note
