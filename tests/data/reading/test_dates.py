"""Dates as years with decimals, and back to months."""

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treelab
from tests.data.reading.files import frame_of
from treelab.data.columns import as_frame
from treelab.data.problem import make_problem
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import forms_of
from treelab.trees.dates import decimal_years, months


def test_each_day_lies_in_its_own_month():
    days = pd.Series(pd.date_range("1999-01-01", "2005-01-01", freq="D"))
    expected = days.dt.strftime("%Y-%m").tolist()
    assert months(decimal_years(days)).tolist() == expected
    late = days + pd.Timedelta(hours=23, minutes=59)
    assert months(decimal_years(late)).tolist() == expected


def test_a_missing_date_has_no_month():
    assert months([np.nan, 2019.5]).tolist() == ["", "2019-07"]


def test_a_file_names_its_columns_of_dates():
    text = b"day,n\n2024-01-31,1\n2024-02-01,2\n,3\n"
    found = read_table(text, "days.csv")
    assert found.dates == ["day"]
    assert months(found.frame["day"]).tolist() == ["2024-01", "2024-02", ""]


@pytest.mark.parametrize(
    ("cells", "better"),
    [
        (["03/01/21", "02/11/21", "-"], "2020-01-31"),
        (["21-01-31", "20-12-24"], "2020-01-31"),
        (["31/01/21", "02/11/45"], "2020-01-31"),  # of 1945, or 2045
        (["1.2.21", "11.3.21"], "2020-01-31"),  # or versions
        (["Jan 2021", "Sept 2021"], "2020-01 "),
        (["01/2021", "11/2021"], "2020-01 "),
        (["Fri 31 Jan 2020", "Sat 1 Feb 2020"], "2020-01-31"),
        (["3:45", "1:02:45"], "1:30:00, hours first"),
        (["10:30", "9:05 PM"], "1:30:00, hours first"),
        (["2021-Q1", "2021-Q4"], "2020-01 "),
        (["Q1 2021", "Q4 2021"], "2020-01 "),
        (["2021-W05", "2021-W52"], "2020-01 "),
        (["Jan-21", "Feb-21"], "2020-01 "),
        (["31. Januar 2020", "1. März 2020"], "2020-01-31"),
        (["31 de enero de 2020", "1 de mayo de 2020"], "2020-01-31"),
        (["05-JAN-20", "31-DEC-65"], "2020-01-31"),
        (["05JAN2020", "31DEC2021"], "2020-01-31"),
        (['"Fri, 31 Jan 2020 10:30:00 GMT"', '"Sat, 1 Feb 2020 9:05:10 GMT"'], "2020-"),
        (["31.01.2020 10.30", "1.2.2020 9.05"], "2020-01-31 10:30"),
        (["1:30.5", "2:10.75"], "1:30:00, hours first"),
    ],
)
def test_dates_that_are_not_read_are_said_to_be_categories(cells, better):
    text = "day,n\n" + "".join(f"{cell},1\n" for cell in cells)
    assert frame_of(text)["day"].dtype == "str"
    (note,) = (
        each for each in read_table(text.encode()).notes if "'day' holds" in each
    )
    cell = cells[0].strip('"')
    assert f"such as {cell!r}, so it is a category. Write them as {better}" in note


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["31/01/21", "02/11/98", "-"], "2021-01-31"),
        (["1/31/21 5:30 PM", "2/1/21 12:05 AM"], "2021-01-31"),
        (["05.06.07", "01.02.03"], "2007-06-05"),  # with points the day is first
        (["05-JAN-20", "31-Dec-21"], "2020-01-05"),
    ],
)
def test_years_of_two_digits_are_read_where_one_order_fits(cells, first):
    text = "day,n\n" + "".join(f"{cell},1\n" for cell in cells)
    result = read_table(text.encode())
    assert result.dates == ["day"]
    assert f"{cells[0]!r} is {first}." in str(result.notes)
    expected = decimal_years(pd.Series(pd.to_datetime([first])))[0]
    assert 0 <= result.frame["day"][0] - expected < 1 / 366
    forms = forms_of(result.frame)
    again = read_table(text.encode(), as_in=forms).frame["day"]
    np.testing.assert_array_equal(again, result.frame["day"])
    with pytest.raises(TableError, match=r"'99/99/99' .* held dates, .*two digits"):
        read_table(b"day,n\n99/99/99,1\n", as_in=forms)


def test_dates_have_fractions_of_seconds_and_digits_of_full_width():
    text = "day,n\n31/12/2021 12:00:00.500,1\n３１/１２/２０２１ 12:00:00.5,2\n"
    (first, second) = frame_of(text)["day"]
    assert first == second == 2021 + (364 + (12 + 0.5 / 3600) / 24) / 365


def test_seconds_of_a_log_have_a_comma():
    text = "day;n\n2021-01-01 00:00:00,5;1\n2021-07-02 12:00:00,000;2\n"
    first, second = frame_of(text)["day"]
    assert second == 2021.5
    assert first == 2021 + 0.5 / (365 * 24 * 3600)


def test_a_year_and_a_month_are_the_first_of_it():
    text = "day,n\n2021-01,1\n2021-07-02 12:00,2\n"
    assert frame_of(text)["day"].tolist() == [2021, 2021.5]
    assert frame_of(text.replace("-01", "-13"))["day"].dtype == "str"


@pytest.mark.parametrize(
    ("cells", "hours", "unit"),
    [
        (["10:30", "9:05", "23:59", "30:00"], [10.5, 9 + 1 / 12, 24 - 1 / 60, 30], "h"),
        (["26:30:00", "9:05:10.5", "-"], [26.5, 9 + 310.5 / 3600, np.nan], "h"),
        (["12:00 am", "1:30 PM", "12:15 pm"], [0, 13.5, 12.25], "h"),
        (["1 day, 2:00:00", "2:00:00"], [26, 2], "h"),
        (["0 days 12:00:00", "-1 days +18:00:00"], [12, -6], "D"),
        (["-1:30:00", "−0:45:00"], [-1.5, -0.75], "h"),
        (["10:30", "０９：１５"], [10.5, 9.25], "h"),
        (["10:30 a.m.", "9:15 p. m.", "12:00 P.M."], [10.5, 21.25, 12], "h"),
        (["9 PM", "9:30 am", "12am"], [21, 9.5, 0], "h"),
        (["-1:30", "+0:45", "−0:30"], [-1.5, 0.75, -0.5], "h"),
    ],
)
def test_times_are_numbers_of_hours_and_durations_with_days_of_days(cells, hours, unit):
    text = "at;n\n" + "".join(f"{cell};1\n" for cell in cells)
    result = read_table(text.encode())
    unit = {"h": "hours", "D": "days"}[unit]
    expected = np.array(hours) / (24 if unit == "days" else 1)
    np.testing.assert_allclose(result.frame["at"], expected, rtol=1e-15)
    (note,) = (each for each in result.notes if "holds times" in each)
    first = f"{cells[0]!r} is {expected[0]:g}"
    assert note == f"Column 'at' holds times, which became {unit}: {first}."
    again = read_table(text.encode(), as_in=forms_of(result.frame)).frame["at"]
    np.testing.assert_array_equal(again, result.frame["at"])


def test_a_model_reads_times_however_a_table_holds_them():
    texts = [f"{h}:{m:02}" for h in range(24) for m in (0, 10, 25)]
    late = [h >= 8 for h in range(24) for m in (0, 10, 25)]
    file = pd.DataFrame({"at": texts, "y": np.where(late, "late", "early")})
    table = read_table(file.to_csv(index=False).encode()).frame
    model = treelab.CartClassifier().fit(table[["at"]], table["y"])
    clock = [dt.time(int(h), int(m)) for h, m in (t.split(":") for t in texts)]
    for cells in (texts, clock, table["at"].tolist()):
        assert model.score(pd.DataFrame({"at": cells}), file["y"]) == 1
    lasting = pd.DataFrame({"at": pd.to_timedelta(table["at"], unit="h")})
    with pytest.raises(ValueError, match=r"training rows held times, h:mm, such as"):
        model.predict(lasting)  # days: a tenth of an hour is no tenth of a day
    seconds = pd.DataFrame({"at": ["10:30:00"]})  # of hours, or of minutes, first?
    with pytest.raises(ValueError, match=r"holds '10:30:00' .* times, h:mm, such as"):
        model.predict(seconds)


def test_midnight_is_no_mark_of_a_missing_value_where_0_is_one():
    text = "at,n\n0:00,1\n0,2\n10:30,3\n0,4\n12:30,0\n"
    table = read_table(text.encode(), missing={"": ["0"]}).frame
    np.testing.assert_array_equal(table["at"], [0, np.nan, 10.5, np.nan, 12.5])
    assert table["n"].isna().sum() == 1
    later = text.replace("\n0,2", "\n0.0,2").encode()
    again = read_table(later, as_in=forms_of(table)).frame
    np.testing.assert_array_equal(again["at"], table["at"])
    model = treelab.CartRegressor(max_depth=1).fit(table[["at"]], table["at"] == 0)
    clock = pd.DataFrame({"at": [dt.time(0, 0), None]})
    assert model.predict(clock).tolist() == model.predict(table[["at"]][:2]).tolist()


def test_a_date_with_half_a_day_has_points_too():
    text = "at,n\n1/13/2020 10:30 a.m.,1\n1/13/2020 10:30 p.m.,2\n"
    plain = text.replace("a.m.", "AM").replace("p.m.", "PM")
    assert frame_of(text)["at"].tolist() == frame_of(plain)["at"].tolist()


def test_a_model_of_typed_times_reads_text_in_any_style():
    clock = pd.DataFrame({"at": [dt.time(h, 30) for h in range(24)]})
    model = treelab.CartRegressor().fit(clock, range(24))
    expected = model.predict(clock)
    for style in ("%H:%M", "%H:%M:%S", "%I:%M %p"):
        written = pd.DataFrame({"at": [t.strftime(style) for t in clock["at"]]})
        np.testing.assert_array_equal(model.predict(written), expected)


def test_moments_of_a_frame_that_a_person_made_categories_are_those_of_training():
    late = np.tile([False, True, False, True], 30)
    days = pd.Timestamp(2020, 5, 1) + pd.to_timedelta(np.tile(range(4), 30), unit="D")
    clock = [dt.time(day.day * 5, 30) for day in days]
    lasting = days - days[0]
    for cells in (days, [day.date() for day in days], clock, lasting):
        frame = pd.DataFrame({"at": cells, "y": late})
        problem = make_problem(frame, "y", columns=["at"])
        X = replace(problem, kinds=(("at", "category"),)).table(frame)
        model = treelab.CartClassifier().fit(X, late)
        assert model.score(frame[["at"]], late) == model.score(X, late) == 1


def test_moments_that_are_added_to_a_table_of_a_file_are_those_of_any_frame():
    frame = frame_of("a,b\n" + "1,2\n3,5\n" * 20)
    hours = pd.to_timedelta(np.arange(40), unit="h")
    late = hours >= pd.Timedelta("16h")
    for cells in (pd.Timestamp(2020, 1, 1) + hours, hours):
        frame["b"] = cells
        model = treelab.CartClassifier().fit(frame, late)
        assert model.score(frame, late) == 1
        plain = pd.DataFrame({"a": frame["a"].tolist(), "b": cells})
        assert model.score(plain, late) == 1
        assert forms_of(as_frame(frame))["a"] == forms_of(frame)["a"]


def test_moments_in_the_place_of_a_files_numbers_are_refused_in_spite_of_its_note():
    frame = frame_of("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    model = treelab.CartClassifier().fit(frame, np.arange(40) > 20)
    hours = pd.to_timedelta(frame["a"], unit="h")
    for cells in (hours, pd.Timestamp(2020, 1, 1) + hours):
        new = frame.assign(a=cells)
        for read in (model, model.tree_):
            with pytest.raises(ValueError, match="but the training rows held numbers"):
                read.predict(new)


def test_a_time_among_many_that_cannot_be_read_is_named():
    text = "at,n\n" + "10:30,1\n" * 9 + "noon,2\n"
    result = read_table(text.encode())
    assert result.frame["at"].dtype == "str"
    assert "1 of its 10 cells is no time, such as 'noon' on" in str(result.notes)
