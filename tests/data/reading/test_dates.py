"""Dates as years with decimals, and back to months."""

import numpy as np
import pandas as pd

from treelab.data.reading.read_table import read_table
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
