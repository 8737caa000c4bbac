"""The table's picture shows what the table holds, and nothing in it becomes markup."""

import re

import numpy as np
import pandas as pd
import pytest

from treelab.figures.table import spark_counts, table_html
from treelab.trees.cells import HOURS, CellForm, note_forms
from treelab.trees.dates import decimal_years


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [31.0, np.nan, 58.25],
            "city": ["Bern", "Basel", None],
            "ill": ["yes", "no", "no"],
        }
    )


def test_the_target_comes_first_and_is_marked(frame):
    text = table_html(frame, targets=["ill"], numbers=["age"])
    heads = re.findall(r'<th class="(\w+)[^"]*" title="(\w+)"', text)
    assert heads == [("target", "ill"), ("used", "age"), ("used", "city")]
    assert "to predict" in text


def test_missing_cells_are_written_as_such(frame):
    text = table_html(frame, numbers=["age"])
    assert text.count("<i>missing</i>") == 2
    assert text.count("33.3% missing") == 2


def test_text_among_numbers_is_drawn_by_the_numbers_that_it_shows():
    marks = pd.DataFrame({"mark": ["4,13", "absent", "2,50", "5,1"]})
    note_forms(marks, {"mark": CellForm(kind="category", decimal=",")})
    text = table_html(marks, numbers=["mark"])
    assert "number · 25% missing" in text
    assert text.count("<i style=") == 20  # bins
    assert "absent" in text  # as it stands in the table


def test_columns_left_out_step_back(frame):
    html = table_html(frame, left_out={"city": "weight"})
    assert 'class="out" title="city"' in html
    assert "weight ·" in html


def test_what_a_table_holds_is_escaped():
    text = table_html(pd.DataFrame({"<b>&": ["<script>alert(1)</script>"]}))
    assert "<script>" not in text
    assert "<b>&<" not in text
    assert "&lt;script&gt;" in text


def test_a_wide_table_counts_what_it_does_not_show():
    frame = pd.DataFrame(np.zeros((2, 100)), columns=[f"x{i}" for i in range(100)])
    assert "and 20 more columns" in table_html(frame, numbers=list(frame))


@pytest.mark.parametrize("n_rows", [1, 2, 100])
@pytest.mark.parametrize("constant", [True, False])
def test_sparks_of_numbers_count_every_known_row(n_rows, constant):
    rng = np.random.default_rng(n_rows)
    values = np.ones(n_rows) if constant else rng.lognormal(sigma=3, size=n_rows)
    column = pd.Series([*values, np.nan])
    assert spark_counts(column, is_number=True).sum() == n_rows


def test_sparks_of_categories_fall():
    counts = spark_counts(pd.Series(["a", "b", "b", None]), is_number=False)
    assert counts.tolist() == [2, 1]


def test_a_column_of_missing_values_has_no_bars():
    assert len(spark_counts(pd.Series([np.nan, np.nan]), is_number=True)) == 0


def test_a_date_in_years_tells_its_days():
    frame = pd.DataFrame({"day": [2026.0027, 2026.0055], "size": [12.345678, -3.0]})
    text = table_html(frame, targets=["size"], numbers=["day", "size"])
    assert "2026.003" in text
    assert "2026.005" in text
    assert "12.346" in text


def test_times_are_written_as_times():
    frame = pd.DataFrame(
        {"begun": [9 + 5 / 60, np.nan, 17.75], "took": [1.5, 2.0, 3.0]}
    )
    forms = {name: CellForm(unit=HOURS, example="1.5 hours") for name in frame}
    forms["begun"] = CellForm(unit=HOURS, times="h:mm", example="9:05")
    note_forms(frame, forms)
    text = table_html(frame, numbers=["begun", "took"])
    assert "<small>time" in text
    assert all(f">{cell}</td>" in text for cell in ("09:05", "17:45", "1.5"))
    assert "<i>missing</i>" in text


@pytest.mark.parametrize("hours", [0, 5])
def test_dates_are_written_as_dates(hours):
    days = pd.Series(pd.date_range("2019-03-01", periods=20, freq=f"{24 + hours}h"))
    frame = pd.DataFrame({"day": decimal_years(days)})
    frame.loc[1] = np.nan
    text = table_html(frame, numbers=["day"])
    assert "<small>date" in text
    assert f">2019-03-01{' 00:00:00' * bool(hours)}</td>" in text
    assert "<i>missing</i>" in text
    assert "2019.1" not in text
