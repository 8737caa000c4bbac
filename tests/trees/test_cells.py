"""The form of cells: what it reads, what it refuses, and how it is kept."""

import json
import re
from datetime import timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.data.columns import cast_column
from treelab.trees.cells import (
    CATEGORY,
    TYPED,
    CellForm,
    as_form,
    forms_of,
    note_forms,
    noted_form,
    read_column,
    read_words,
    value_text,
)
from treelab.trees.dates import decimal_years

FORMS = [
    CellForm(decimal=decimal, thousands=thousands, unit=unit)
    for decimal, thousands in [(".", ""), (".", ","), (",", ""), (",", "."), (",", " ")]
    for unit in ("", "%", "$")
]


def written(value: float, form: CellForm) -> str:
    """Write a number in a form, slowly."""
    text = f"{value:,.2f}"
    marks = {",": form.thousands, ".": form.decimal}
    return "".join(marks.get(c, c) for c in text) + form.unit


@given(st.floats(-1e9, 1e9), st.sampled_from(FORMS))
def test_a_number_that_was_written_in_a_form_is_read_back(value, form):
    read, absent, unread = read_words(pa.array([written(value, form)]), form)
    assert not absent.any()
    assert not unread.any()
    assert read[0] == pytest.approx(round(value, 2), abs=1e-6)


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        (CellForm(), "1,234"),
        (CellForm(), "5%"),
        (CellForm(), "1.234.567"),
        (CellForm(decimal=","), "1.5"),
        (CellForm(decimal=","), "1.234"),
        (CellForm(thousands=","), "1,23"),
        (CellForm(unit="%"), "5"),
        (CellForm(unit="%"), f"{TYPED}0.05"),
        (CellForm("date", date="%d %m %Y"), "31/02/2021"),
        (CellForm("date", date="%d %m %Y"), "31/12/2020 25:00"),
        (CellForm("date", date="ISO8601"), "2020-12-31 10:75"),
        (CellForm("date", date="ISO8601"), "03/11/2021"),
        (CellForm("date", date="ISO8601"), f"{TYPED}20210311"),
        (CellForm(), f"{TYPED}True"),
    ],
)
def test_a_cell_of_another_form_is_not_read(form, cell):
    _, absent, unread = read_words(pa.array([cell]), form)
    assert unread.all()
    assert not absent.any()


@pytest.mark.parametrize(
    ("form", "cell", "number"),
    [
        (CellForm(), "1,234.5", 1234.5),  # only thousands can be meant
        (CellForm(decimal=","), "1.234,5", 1234.5),
        (CellForm(decimal=",", thousands="."), f"{TYPED}1.234", 1.234),
        (CellForm(unit="$"), "1200", 1200),
        (CellForm(), "inf", np.nan),
        (CellForm(), "1e200", np.nan),
        (CellForm(), "unknown", np.nan),
        (CellForm(), "007", 7),
        (CellForm(missing=("", "-999")), "-999", np.nan),
    ],
)
def test_a_cell_is_read_alone(form, cell, number):
    read, _, unread = read_words(pa.array([cell]), form)
    np.testing.assert_equal(read, [number])
    assert not unread.any()


@pytest.mark.parametrize("style", ["%d %m %Y", "%m %d %Y", "%d %b %Y", "ISO8601"])
def test_dates_are_read_in_their_style_and_as_iso(style):
    days = pd.Series(pd.to_datetime(["2021-11-03", "2020-02-29", "1999-12-31"]))
    form = CellForm("date", date=style)
    for text in (style.replace(" ", "/").replace("ISO8601", "%Y-%m-%d"), "%Y-%m-%d"):
        read, _, unread = read_words(pa.array(days.dt.strftime(text)), form)
        assert not unread.any()
        np.testing.assert_array_equal(read, decimal_years(days))


@pytest.mark.parametrize("style", ["%d %m %Y", "%m %d %Y", "%b %d %Y", "ISO8601"])
@pytest.mark.parametrize(
    "cell", ["2020/9/5", "2020.09.05", "Sept 5, 2020", "5 September 2020", "5-Sep-2020"]
)
def test_a_date_that_is_clear_by_itself_is_read_in_every_style(style, cell):
    read, _, unread = read_words(pa.array([cell]), CellForm("date", date=style))
    assert not unread.any()
    assert read[0] == decimal_years(pd.Series([pd.Timestamp("2020-09-05")]))[0]


@pytest.mark.parametrize(
    ("style", "cell"),
    [
        ("ISO8601", "2021-01-31 13:05:00+00"),  # as PostgreSQL writes it
        ("ISO8601", "2021-01-31 13:05:00 UTC"),  # as BigQuery does
        ("ISO8601", "2021-01-31 08:05:00 -0500"),
        ("%m %d %Y", "1/31/2021 1:05 PM"),
        ("%d %m %Y", "31.01.2021 01:05:00pm"),
        ("%b %d %Y", "Jan 31, 2021 1:05 pm"),
    ],
)
def test_a_time_of_day_is_read_as_people_and_databases_write_it(style, cell):
    read, _, unread = read_words(pa.array([cell]), CellForm("date", date=style))
    assert not unread.any()
    assert read[0] == decimal_years(pd.Series([pd.Timestamp("2021-01-31 13:05")]))[0]


def test_midnight_and_noon_are_12_am_and_12_pm():
    words = pa.array(["1/31/2021 12:00 AM", "1/31/2021 12:00 PM"])
    read, _, _ = read_words(words, CellForm("date", date="%m %d %Y"))
    days = pd.to_datetime(pd.Series(["2021-01-31 00:00", "2021-01-31 12:00"]))
    np.testing.assert_array_equal(read, decimal_years(days))


def test_numbers_of_a_frame_are_the_category_that_is_written_like_them():
    levels = ("1", "2.50", "TRUE", "A1")
    column = pd.Series([1.0, 2.5, 7.0, np.nan])
    read = read_column(column, CATEGORY, "category", levels)
    assert read.tolist()[:3] == ["1", "2.50", "7"]
    assert read.isna().tolist()[3]
    read = read_column(pd.Series([True, False]), CATEGORY, "category", levels)
    assert read.tolist() == ["TRUE", "False"]


@pytest.mark.parametrize(
    ("form", "cells", "numbers"),
    [
        (CellForm(unit="kg"), ["37 kg", "5 kg"], [37.0, 5.0]),
        (CellForm(decimal=",", thousands="."), ["1,234", "5.678"], [1.234, 5678.0]),
        (CellForm("date", date="ISO8601"), ["2024-07-02"], [2024.5]),
    ],
)
def test_a_column_made_categories_is_read_as_it_was_written(form, cells, numbers):
    levels = cast_column(pd.Series(numbers), "category")
    for column in (levels, pd.Series(cells), pd.Series(numbers)):
        read = read_column(column, form, "category", tuple(levels))
        assert read.tolist() == levels.tolist()
    assert read_column(pd.Series(["8"]), form, "category").tolist() == ["8"]  # unseen
    with pytest.raises(ValueError, match="holds 'x' in row 1"):
        read_column(pd.Series(["x"]), form, "category", tuple(levels))


def test_a_number_that_a_person_made_a_category_keeps_every_digit():
    levels = (str(2**53), str(2**53 + 1), "0.5")
    cells = pd.Series([2**53, 2**53 + 1, "0.50", "007"], dtype=object)
    read = read_column(cells, CellForm(), "category", levels)
    assert read.tolist() == [*levels, "7"]


def test_a_number_that_counts_as_missing_does_so_in_a_frame_too():
    form = CellForm(missing=("", "-999"))
    for dtype in ("int64", "category", object):
        read = read_column(pd.Series([-999, 5], dtype=dtype), form, "number")
        np.testing.assert_array_equal(read, [np.nan, 5])


@pytest.mark.parametrize(
    "form",
    [
        *FORMS,
        CATEGORY,
        CellForm("category", ("",), example="A1", encoding="cp1252"),
        CellForm("date", date="%d %m %Y", example="31/01/2021"),
    ],
)
def test_a_form_is_kept_as_plain_data(form, tmp_path):
    assert as_form(json.loads(json.dumps(form.to_dict()))) == form
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "c": ["x", "y"]})
    note_forms(frame, {"a": form})
    frame.to_parquet(tmp_path / "table.parquet")
    again = pd.read_parquet(tmp_path / "table.parquet")
    assert forms_of(again) == {"a": form, "b": CellForm(), "c": CATEGORY}
    assert noted_form(again, "a") == form
    assert noted_form(frame.rename(columns=str), "a") == form
    assert noted_form(pd.DataFrame({"a": [1]}), "a") is None


def test_moments_and_durations_are_one_category_from_every_library():
    zurich = pd.Timestamp("2024-01-01", tz="Europe/Zurich")
    for moment in (zurich, zurich.tz_convert("UTC"), zurich.to_pydatetime()):
        assert value_text(moment) == "2023-12-31 23:00:00"
    for duration in (timedelta(hours=1), pd.Timedelta("1h"), np.timedelta64(60, "m")):
        assert value_text(duration) == "0 days 01:00:00"


@pytest.mark.parametrize(
    "stored", [{"kind": "word"}, {"decimal": ";"}, {"other": 1}, {"date": "%H"}, 7]
)
def test_a_damaged_form_is_refused(stored):
    with pytest.raises(ValueError, match="cells"):
        as_form(stored)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (CellForm(example="7.5"), "numbers, such as '7.5'"),
        (
            CellForm(decimal=",", thousands="."),
            "decimal commas and with points between",
        ),
        (CellForm("date", date="%d %m %Y"), "dates, day first, such as 2020-01-31"),
        (CATEGORY, "categories"),
    ],
)
def test_a_form_says_what_training_rows_held(form, words):
    assert re.search(words, str(form))
