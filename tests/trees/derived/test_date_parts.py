"""Parts of dates: right for every way in which a table holds dates."""

import numpy as np
import pandas as pd
import pytest

from treelab.data.problem import make_problem
from treelab.data.problem_check import check_problem
from treelab.data.reading.read_table import read_table
from treelab.trees.code import to_python, to_sql
from treelab.trees.date_parts import (
    first_day,
    has_times,
    looks_like_dates,
    parse_part,
    part_name,
    with_date_parts,
)
from treelab.trees.dates import decimal_years
from treelab.trees.feature import Feature, feature_forms, forms_of_model
from treelab.trees.text import split_text
from treelab.trees.tree import Tree

RNG = np.random.default_rng(0)
TIMES = pd.Series(
    pd.Timestamp("1931-02-27") + pd.to_timedelta(RNG.integers(3e9, size=500), unit="s")
)
NAMES = [
    part_name(part, "at", "2000-03-01")
    for part in ("year", "month", "weekday", "hour", "days")
]


@pytest.mark.parametrize("form", ["times", "years", "text"])
def test_parts_are_those_of_the_calendar(form):
    at = {
        "times": TIMES,
        "years": decimal_years(TIMES.astype("datetime64[ns]")),
        "text": TIMES.map(lambda time: time.isoformat()),
    }[form]
    frame = with_date_parts(pd.DataFrame({"at": at}), NAMES)
    expected = [
        TIMES.dt.year,
        TIMES.dt.month,
        TIMES.dt.day_of_week + 1,
        TIMES.dt.hour,
        (TIMES.dt.normalize() - pd.Timestamp("2000-03-01")).dt.days,
    ]
    for name, values in zip(NAMES, expected):
        assert frame[name].tolist() == values.tolist()


def test_the_last_half_second_of_a_day_is_of_that_day():
    at = pd.to_datetime(["2020-01-31 23:59:59.900", "2019-12-31 23:59:59.999"])
    found = with_date_parts(pd.DataFrame({"at": at}), NAMES)[NAMES].to_numpy()
    assert found.tolist() == [[2020, 1, 5, 23, 7275], [2019, 12, 2, 23, 7244]]


def test_a_missing_date_has_no_parts():
    frame = with_date_parts(pd.DataFrame({"at": [np.nan, 2020.5]}), NAMES)
    assert frame[NAMES].isna().all(axis=1).tolist() == [True, False]


def test_names_tell_part_column_and_first_day():
    for part in ("year", "days"):
        name = part_name(part, "a of b", "2020-01-31")
        assert parse_part(name) == (part, "a of b", "2020-01-31" * (part == "days"))
    assert parse_part("age") is None
    own = pd.DataFrame({"at": [2020.5], "month of at": [99.0]})
    assert with_date_parts(own, NAMES)["month of at"].tolist() == [99.0]


@pytest.mark.parametrize(
    ("values", "dates"),
    [
        (decimal_years(TIMES.astype("datetime64[ns]")), True),
        (decimal_years(TIMES.dt.normalize().astype("datetime64[ns]")), True),
        (pd.Series([1999.25, 2001.5, 2003.75]), False),
        (pd.Series([1999, 2001, 2003]), False),
        (pd.Series(RNG.uniform(1900, 2000, 300)), False),
        (pd.Series(["2020-01-01"]), False),
        (pd.Series([True, False]), False),
        (pd.Series(np.arange(108_000, 120_000, 7) / 60), False),  # hours
        (pd.Series(np.arange(5400, 6000) / 3), False),  # means of three
    ],
)
def test_years_that_dates_became_are_told_from_other_numbers(values, dates):
    assert looks_like_dates(values) == dates


def test_a_model_of_parts_predicts_a_new_table_of_dates():
    text = "day,y\n" + "".join(
        f"2020-{m:02d}-{d:02d},{int(m > 6)}\n" for m in range(1, 13) for d in (3, 17)
    )
    frame = read_table(text.encode(), "a.csv").frame
    assert looks_like_dates(frame["day"])
    assert first_day(frame["day"]) == "2020-01-03"
    assert not has_times(frame["day"])
    problem = make_problem(frame, "y", columns=["month of day"])
    assert not [f for f in check_problem(frame, problem) if f.level == "error"]
    assert problem.table(frame)["month of day"].tolist()[:3] == [1, 1, 2]
    tree = Tree.complete([Feature("month of day")], [0], [6.5], [True], [[0.0], [1.0]])
    new = pd.DataFrame({"day": pd.to_datetime(["2031-05-01", "2031-11-30"])})
    assert tree.predict(new).tolist() == [0.0, 1.0]
    assert "computed from the dates in day: 1 for January" in to_python(tree)


def test_a_column_that_is_named_like_a_part_is_read_as_it_was_written():
    frame = read_table(b'hour of rest;y\n"1,5";1\n"7,25";2\n').frame
    feature = Feature("hour of rest", form=feature_forms(frame)["hour of rest"])
    tree = Tree.complete([feature], [0], [5], [True], [[0.0], [1.0]])
    # By its own cells alone these would be thousands.
    content = b'hour of rest,x\n"1,234",0\n"7,125",0\n'
    new = read_table(content, as_in=forms_of_model(tree))
    assert tree.predict(new.frame).tolist() == [0, 1]
    assert "computed from" not in to_python(tree)


def test_dates_in_a_column_that_is_named_like_a_part_stay_dates():
    text = b"month of sale,sale\n31/01/2021,5\n28/02/2021,6\n"
    frame = read_table(text).frame
    feature = Feature("month of sale", form=feature_forms(frame)["month of sale"])
    limit = frame["month of sale"].mean()
    tree = Tree.complete([feature], [0], [limit], [True], [[0.0], [1.0]])
    assert split_text(tree, 0) == "month of sale before 15 February 2021"
    new = read_table(b"month of sale,sale\n03/02/2021,5\n01/03/2021,6\n").frame
    assert tree.predict(new).tolist() == [0, 1]
    again = Tree.from_dict(tree.to_dict())
    assert "2021-02-14" in to_sql(again)
    assert "computed from" not in to_sql(again)
