"""Dates in words: what they say is what the tree does."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab.trees.cells import CellForm
from treelab.trees.code import LANGUAGES
from treelab.trees.dates import ISO, decimal_years, moment_text, parse_moment
from treelab.trees.feature import Feature
from treelab.trees.text import (
    change_text,
    fact_text,
    path_conditions,
    path_lines,
    path_sentences,
    split_text,
    to_rules,
    value_within,
)
from treelab.trees.tree import Tree

ADMITTED = Feature("admitted", form=CellForm("date", date=ISO))
MOMENTS = st.datetimes(pd.Timestamp("1801-01-01"), pd.Timestamp("2199-12-31"))


def years(*moments) -> np.ndarray:
    """Dates as the table holds them."""
    return decimal_years(pd.Series(pd.to_datetime(list(moments)))).to_numpy()


def table(moments) -> pd.DataFrame:
    """Rows of dates."""
    return pd.DataFrame({"admitted": pd.to_datetime(list(moments)).as_unit("s")})


def tree_of(thresholds, rows: pd.DataFrame) -> Tree:
    """A tree of depth 2 that splits dates at three places, and knows the rows."""
    middle, low, high = thresholds
    tree = Tree.complete(
        [ADMITTED], [0] * 3, [middle, low, high], [False] * 3, np.arange(4.0)[:, None]
    )
    return tree.with_rows(rows, np.zeros(len(rows)))


def holds(words: str, moment: float) -> bool:
    """Whether a reader of a condition would say that it holds for a date."""
    if "before" in words:
        return moment < parse_moment(words.removeprefix("admitted before "))
    if "on or after" in words:
        return moment >= parse_moment(words.removeprefix("admitted on or after "))
    low, high = words.split(" ≤ admitted < ")
    return parse_moment(low) <= moment < parse_moment(high)


@given(moment=MOMENTS)
def test_a_date_reads_back_to_the_second(moment):
    moment = moment.replace(microsecond=0)
    (value,) = years(moment)
    assert parse_moment(moment_text(value)) == value


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2019-05-12", "12 May 2019"),
        ("2019-05-12 10:30", "12 May 2019 10:30"),
        ("2019-12-01 00:00:05", "1 December 2019 00:00:05"),
    ],
)
def test_a_date_is_written_with_the_months_name(moment, text):
    assert moment_text(years(moment)[0]) == text


@pytest.mark.slow
@settings(max_examples=15)
@given(moments=st.lists(MOMENTS, min_size=4, max_size=12), with_times=st.booleans())
def test_a_reader_of_rules_of_dates_sends_each_row_to_its_leaf(moments, with_times):
    unit = "s" if with_times else "D"
    frame = table(pd.to_datetime(moments).floor(unit.replace("D", "d")).unique())
    rows = np.sort(years(*frame["admitted"]))
    if len(rows) < 4:
        return
    cuts = np.sort((rows[:-1] + rows[1:]) / 2)
    low, middle, high = cuts[[0, len(cuts) // 2, -1]]
    tree = tree_of((middle, low, high), frame)
    rules = to_rules(tree).set_index("leaf")["rule"]
    for moment, leaf in zip(years(*frame["admitted"]), tree.apply(frame)):
        passing = [n for n in rules.index if "passes" not in rules[n]]
        assert [n for n in passing if holds(rules[n], moment)] == [leaf]
    if not with_times:  # then no other day changes sides either
        days = table(pd.date_range("1801-01-01", "2199-12-31", freq="97D"))
        goes_left = tree.margin(days)[:, 0] >= 0
        rule = split_text(tree, 0)
        said = [holds(rule, day) for day in years(*days["admitted"])]
        assert said == goes_left.tolist()


def test_all_texts_of_a_row_have_dates():
    rows = table(["2018-01-03", "2019-03-01", "2019-05-13", "2020-02-01"])
    middle = years("2019-05-11 12:00")[0]
    tree = tree_of((middle, middle - 1, middle + 0.5), rows)
    row = rows.iloc[[1]]
    assert split_text(tree, 0) == "admitted before 12 May 2019"
    assert path_lines(tree, row) == [
        "12 May 2018 ≤ admitted < 12 May 2019: it is 1 March 2019"
    ]
    assert path_sentences(tree, row)[0] == (
        "admitted before 12 May 2019? Yes: it is 1 March 2019."
    )
    (condition,) = path_conditions(tree, tree.path(row)[-1])
    assert fact_text(tree, condition, value_within(tree, condition, row)) == (
        "admitted is 1 March 2019 (on or after 12 May 2018, before 12 May 2019)"
    )
    first, second = years(*rows["admitted"].iloc[:2])
    assert change_text(ADMITTED, second, first, tree, rows.iloc[[0]]) == (
        "move admitted from 1 March 2019 to before 12 May 2018"
    )


def test_exported_code_says_which_dates_its_thresholds_are():
    tree = Tree.complete([ADMITTED], [0], [2019.36], [False], [[1.0], [2.0]])
    for language in ("python", "c"):
        code = LANGUAGES[language][2](tree)
        assert "2019.36 or less: admitted before 13 May 2019" in code
    assert '"admitted" <= \'2019-05-12 ' in LANGUAGES["sql"][2](tree)


def test_numbers_and_parts_of_dates_stay_numbers():
    assert not replace(ADMITTED, column="year of admitted").is_date
    assert not Feature("year").is_date


def test_a_sum_with_a_date_has_digits_enough_to_be_computed():
    sold = replace(ADMITTED, column="sold", fill=2023.2, spread=0.8)
    weight = Feature("weight", fill=21.0, spread=14.0)
    tree = Tree.complete(
        (sold, weight),
        None,
        [13592.345],
        [False],
        [[1.0], [2.0]],
        weights=[[6.700312, 1.0]],
    )  # with three digits the sum was off by 100 for every row
    assert split_text(tree, 0) == "weight + 6.7003·sold ≤ 13,592.3"
    unknown = [replace(own, spread=np.nan) for own in tree.features]
    assert split_text(replace(tree, features=unknown), 0).endswith("≤ 13,592")
