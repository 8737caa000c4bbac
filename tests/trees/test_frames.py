"""Tables of any library become plain: numbers, categories, true and false."""

import datetime as dt
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trees.make import make_table, make_tree
from treelab.data.reading.read_table import read_table
from treelab.trees.cells import HOURS, CellForm
from treelab.trees.dates import ISO
from treelab.trees.feature import Feature, feature_matrix
from treelab.trees.frames import as_pandas, plain_column, plain_frame

DAYS = ["2020-01-01", None, "2021-07-02T12:00"]
YEARS = [2020, np.nan, 2021 + (182 + 0.5) / 365]
MOMENTS = pd.Series(pd.to_datetime(DAYS, format="ISO8601"))
HALVES = pd.Series(pd.to_timedelta(["12h", None, "36h"]))


def objects(*cells) -> pd.Series:
    """A column of objects, called cells."""
    return pd.Series([*cells], dtype=object, name="cells")


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        *[(MOMENTS.astype(f"datetime64[{u}]"), YEARS) for u in ("s", "ms", "us", "ns")],
        (MOMENTS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), YEARS),
        (MOMENTS.astype("timestamp[us][pyarrow]"), YEARS),
        (MOMENTS.astype(object), YEARS),
        (objects(dt.date(2020, 1, 1), None, dt.datetime(2021, 7, 2, 12)), YEARS),
        (objects(np.datetime64("2020-01-01"), pd.NaT, MOMENTS[2]), YEARS),
        (MOMENTS.astype("date32[pyarrow]"), [2020, np.nan, 2021 + 182 / 365]),
        (MOMENTS.dt.to_period("M"), [2020, np.nan, 2021 + 181 / 365]),
        (MOMENTS.dt.to_period("Y").astype(object), [2020, np.nan, 2021]),
        (objects(dt.date(1, 1, 1), dt.date(9999, 12, 31)), [1, 9999 + 364 / 365]),
        (HALVES.astype("timedelta64[s]"), [0.5, np.nan, 1.5]),
        (HALVES.astype(pd.ArrowDtype(pa.duration("ms"))), [0.5, np.nan, 1.5]),
        (objects(dt.timedelta(hours=12), None, np.timedelta64(36, "h")),
         [0.5, np.nan, 1.5]),
        (objects(pd.offsets.Hour(12), None, pd.offsets.Day(2)), [0.5, np.nan, 2]),
        (objects(dt.time(6, 30), None), [6.5, np.nan]),
        (objects(decimal.Decimal("1.10"), None, 2, 0.5), [1.1, np.nan, 2, 0.5]),
        (objects(decimal.Decimal("NaN"), fractions.Fraction(1, 4)), [np.nan, 0.25]),
        (objects(1, pd.NA, 2.5), [1, np.nan, 2.5]),
        (objects(10**30, 1), [1e30, 1]),
    ],
)  # fmt: skip
def test_what_can_be_measured_is_a_number(column, numbers):
    found = plain_column(column.set_axis(range(5, 5 + len(column))))
    assert found.index[0] == 5
    assert found.name == column.name
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx(numbers, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2]),
        pd.Series([1.5, None], dtype="Float64"),
        pd.Series([True, None], dtype="boolean"),
        objects(True, None, False),
        pd.Series(["a", None], dtype="category"),
        pd.Series(["2020-01-01", "b"]),
        objects("a", 1, 2.5),
    ],
)
def test_numbers_text_and_categories_stay_as_they_are(column):
    pd.testing.assert_series_equal(plain_column(column), column)


def test_true_and_false_of_objects_are_not_numbers():
    assert plain_column(objects(True, 1, 2)).dtype == object


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, [2, 3]], r"'cells' holds a list in row 1, counted from 0: \[2, 3\]"),
        ([None, {"a": 1}], "'cells' holds a dict in row 1"),
        ([{1}, 2], "'cells' holds a set in row 0"),
        ([(1, 2)], "'cells' holds a tuple in row 0"),
        ([1, np.array([1])], "'cells' holds a ndarray in row 1"),
        (
            [pd.Period("2020-03", "M") - pd.Period("2020-01", "M")],
            "'cells' holds a MonthEnd in row 0, .*2 . MonthEnds",
        ),
        ([None, dt.date(2020, 1, 2), 3], "row 2, .* the number 3, row 1 the date"),
        ([3, dt.date(2020, 1, 2)], "row 1, .* date 2020-01-02, row 0 the number 3"),
        (["x", pd.Timestamp("2020")], "row 1, .* the date 2020-01-01 00:00:00, row 0"),
        ([dt.timedelta(1), dt.date(2020, 1, 1)], "'cells' mixes kinds .* row 1"),
        (["a", "b\ud800"], r"'cells' holds text .* 'b.ud800': half of a character"),
    ],
)
def test_containers_and_mixed_dates_are_refused_by_column_row_and_value(
    cells, sentence
):
    with pytest.raises(ValueError, match=sentence):
        plain_column(objects(*cells))


@given(
    st.lists(
        st.none() | st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9998, 1, 1)),
        min_size=1,
        max_size=5,
    )
)
def test_a_date_is_the_fraction_of_its_year_that_has_gone_by(moments):
    def years(moment):
        start = dt.datetime(moment.year, 1, 1)
        length = dt.datetime(moment.year + 1, 1, 1) - start
        return moment.year + (moment - start) / length

    expected = [np.nan if m is None else years(m) for m in moments]
    found = plain_column(pd.Series(moments, dtype="datetime64[us]"))
    assert found.tolist() == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_dates_are_the_numbers_that_a_file_of_them_becomes():
    days = pd.Series(pd.date_range("1899-12-30", periods=500, freq="97D 5h 1min 1s"))
    text = pd.DataFrame({"day": days, "x": range(500)}).to_csv(index=False)
    read = read_table(text.encode()).frame["day"]
    assert plain_column(days).tolist() == read.tolist()


def test_a_plain_frame_is_handed_on_and_another_stays_as_it_was():
    plain = pd.DataFrame(np.zeros((2, 3)))
    assert plain_frame(plain) is plain
    frame = pd.DataFrame({"a": MOMENTS, "b": [1.0, 2, 3]})
    frame.attrs["units"] = {"b": "m"}
    before = frame.copy()
    found = plain_frame(frame)
    assert found["a"].dtype == np.float64
    assert found.attrs == frame.attrs
    pd.testing.assert_frame_equal(frame, before)


def test_only_columns_that_matter_are_looked_at_and_categories_stay_as_written():
    frame = pd.DataFrame({"a": MOMENTS, "b": MOMENTS, "c": [[1], [2], [3]]})
    found = plain_frame(frame, {"a": "number", "b": "category"})
    assert found["a"].dtype == np.float64
    pd.testing.assert_frame_equal(found[["b", "c"]], frame[["b", "c"]])
    with pytest.raises(ValueError, match="'c' holds a list in row 0"):
        plain_frame(frame, {"c": "category"})


def polars_table() -> pl.DataFrame:
    """A column of each kind, the last row missing."""
    return pl.DataFrame(
        {
            "date": [dt.date(2020, 1, 1), None],
            "moment": pl.Series([dt.datetime(2020, 1, 1), None]).dt.replace_time_zone(
                "UTC"
            ),
            "duration": [dt.timedelta(hours=12), None],
            "time": [dt.time(6), None],
            "exact": [decimal.Decimal("1.5"), None],
            "whole": [3, None],
            "wide": pl.Series([2**70, None], dtype=pl.Int128),
            "text": ["a", None],
            "level": pl.Series(["a", None], dtype=pl.Categorical),
            "flag": [True, None],
        }
    )


PLAIN = [2020, 2020, 0.5, 6, 1.5, 3, 2.0**70, "a", "a", True]


@pytest.mark.parametrize(
    "as_table",
    [
        lambda table: table,
        lambda table: table.drop("wide").to_arrow(),
        lambda table: table.drop("wide").to_arrow().to_batches()[0],
    ],
    ids=["polars", "pyarrow table", "record batch"],
)
def test_tables_of_other_libraries_keep_names_kinds_and_missing_values(as_table):
    table = polars_table()
    found = plain_frame(as_pandas(as_table(table)))
    expected = dict(zip(table.columns, PLAIN))
    assert found.iloc[0].to_dict() == {name: expected[name] for name in found}
    assert found.iloc[1].isna().all()
    numbers = [name for name in found if found[name].dtype == np.float64]
    assert numbers == [n for n in found if n not in ("text", "level", "flag")]


def test_a_lazy_table_is_refused_and_arrays_are_handed_on():
    with pytest.raises(TypeError, match=r"lazy.*X\.collect\(\)"):
        as_pandas(polars_table().lazy())
    array = np.zeros((2, 2))
    assert as_pandas(array) is array
    assert as_pandas([[1], [2]]) == [[1], [2]]


def test_a_bare_tree_reads_frames_of_any_library_and_extra_columns():
    rng = np.random.default_rng(0)
    tree, frame = make_tree(rng, 12, oblique=0.3), make_table(rng, 50)
    expected = tree.predict(frame).tolist()
    polars = pl.from_pandas(frame)
    more = polars.with_columns(odd=pl.lit([1, 2])).select(
        ["odd", *reversed(polars.columns)]
    )
    for table in (polars, more, more.to_arrow()):
        assert tree.predict(table).tolist() == expected


def test_number_features_read_dates_and_parts_of_dates_and_categories_do_not():
    features = [
        Feature("day", form=CellForm("date", date=ISO)),
        Feature("month of day"),
        Feature("when", "category", categories=("2020-01-01 00:00:00",), scores=(7,)),
    ]
    frame = pd.DataFrame({"day": MOMENTS.dt.to_period("D"), "when": MOMENTS})
    np.testing.assert_allclose(
        feature_matrix(features, frame),
        [[2020, 1, 7], [np.nan] * 3, [2021 + 182 / 365, 7, np.nan]],
    )


def test_a_warning_says_that_times_of_a_frame_became_hours():
    frame = pd.DataFrame({"at": [None, dt.time(6, 30)], "n": [1, 2]})
    for form in (None, CellForm()):
        numbers = [Feature("at", form=form)]
        with pytest.warns(UserWarning, match="'at' holds times of day, which became"):
            assert feature_matrix(numbers, frame)[1] == 6.5
    assert feature_matrix([Feature("at", form=CellForm(unit=HOURS))], frame)[1] == 6.5
    with pytest.raises(ValueError, match=r"'at' holds times of day, but .* in days"):
        feature_matrix([Feature("at", form=CellForm(unit="days"))], frame)
