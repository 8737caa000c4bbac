"""Cells: numbers, dates, missing and infinite values, codes and words."""

import numpy as np
import pandas as pd
import pytest

from tests.data.reading.files import frame_of, notes_of, refusal
from treelab.data.problem import Problem, make_problem
from treelab.data.problem_check import check_problem
from treelab.data.reading.read_table import read_table
from treelab.trees.cells import read_column
from treelab.trees.feature import Feature, feature_forms, feature_matrix


@pytest.mark.parametrize("mark", ["", "?", "NA", "N/A", "NaN", "null"])
def test_missing_values_are_counted_by_their_mark(mark):
    text = f"word,n\na,1\n{mark},2\nb,{mark}\n{mark},4\n"
    frame = frame_of(text)
    assert frame["word"].isna().tolist() == [False, True, False, True]
    assert frame["n"].isna().tolist() == [False, False, True, False]
    said = notes_of(text)
    assert "2 in 'word', 1 in 'n'" in said
    assert (f'"{mark}"' if mark else "Empty cells") in said


def test_some_marks_mean_missing_among_numbers_only():
    text = "n,word\n1.5,-\n-,a\nnone,none\n2,b\n"
    frame = frame_of(text)
    assert frame["n"].isna().tolist() == [False, True, True, False]
    assert frame["word"].tolist() == ["-", "a", "none", "b"]


def test_rows_without_a_value_are_left_out_and_said():
    text = "a,b\n1,x\n,\n,\n2,y\n"
    assert frame_of(text)["a"].tolist() == [1, 2]
    assert "2 rows without any value are left out" in notes_of(text)
    assert "no value in any row" in refusal("a,b\n,\n?,?\n")


@pytest.mark.parametrize("word", ["inf", "-Infinity", "INF", "1e999", "1e200"])
def test_infinite_values_are_missing_and_named_by_line(word):
    text = f"a,b\n1,0.5\n2,{word}\n3,1\n4,{word}\n"
    assert frame_of(text)["b"].isna().tolist() == [False, True, False, True]
    assert f"'b' holds '{word}' on line 3 and in 1 more cell" in notes_of(text)


def test_inf_among_words_is_a_word():
    assert frame_of("w,n\ninf,1\nsup,2\n")["w"].tolist() == ["inf", "sup"]


def test_a_few_bad_cells_make_a_category_and_are_named():
    text = "price,n\n" + "".join(f"{i}.5,{i}\n" for i in range(20)) + "12 kg,3\n"
    assert frame_of(text)["price"].dtype == "str"
    said = notes_of(text)
    assert "'price' is a category, as 1 of its 21 cells is no number" in said
    assert "'12 kg' on line 22" in said


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1.234,{}", "is no number"),
        ("${}.50", "is no number"),
        ("2021-02-{}", "is no date"),
        ("{}/02/2021", "is no date"),
    ],
)
def test_bad_cells_are_named_however_the_others_are_written(cell, words):
    cells = [cell.format(day) for day in range(10, 29)] + ["k. A."]
    said = notes_of("v;n\n" + "".join(f"{c};{i % 3}\n" for i, c in enumerate(cells)))
    assert f"'v' is a category, as 1 of its 20 cells {words}" in said
    assert "'k. A.' on line 21. Correct them, or leave them empty" in said
    assert "(train --missing 'k. A.' on the command line)" in said


@pytest.mark.parametrize("mark", ["-", "unknown", "none", "na"])
def test_dates_have_the_marks_of_missing_values_that_numbers_have(mark):
    text = f"day,n\n2019-01-01,1\n{mark},2\n2019-07-02 12:00,3\n"
    np.testing.assert_array_equal(frame_of(text)["day"], [2019, np.nan, 2019.5])
    assert f"\"{mark}\" count as missing: 1 in 'day'" in notes_of(text)


@pytest.mark.parametrize(
    ("cells", "delimiter", "numbers"),
    [
        (["1,5", "2", "-0,25"], ";", [1.5, 2, -0.25]),
        (["1.234,5", "1.234.567"], ";", [1234.5, 1234567]),
        (["1,234", "5,678"], ";", [1.234, 5.678]),
        (['"1,234"', '"5,678"'], ",", [1234, 5678]),
        (['"1,234,567.5"', "2.5"], ",", [1234567.5, 2.5]),
        (["$3.50", "$1,200"], "|", [3.5, 1200]),
        (["-$3.50", "$-1"], ";", [-3.5, -1]),
        (["1.234,50 €", "7 €"], ";", [1234.5, 7]),
        (["7%", "12.5 %", "-3%"], ";", [7, 12.5, -3]),
        (["1 234 567", "12"], ";", [1234567, 12]),
        (["1'234.5", "2\u202f000"], ";", [1234.5, 2000]),
        (["+3", ".5", "5.", "1e3", "1E-3"], ",", [3, 0.5, 5, 1000, 0.001]),
        (["−3", "2", "1e−3", "-"], ",", [-3, 2, 0.001, np.nan]),
        (["12 kg", "7.5kg", "unknown"], ",", [12, 7.5, np.nan]),
        (["1,5 km/h", "−2 km/h"], ";", [1.5, -2]),
        (["37 °C", "36,6 °C"], ";", [37, 36.6]),
        (["1.234,50\xa0€", "7\u202f€"], ";", [1234.5, 7]),
        (["EUR 5", "EUR 6,5", "EUR -1"], ";", [5, 6.5, -1]),
        (["US$5", "-US$6.50"], ";", [5, -6.5]),
        (["5 ₽", "6,5 ₽"], ";", [5, 6.5]),
        (["1,5E+03", "2,5E+03", "1,5E-01"], ";", [1500, 2500, 0.15]),
        (["1,5E+03", "2,5E+03"], ";", [1500, 2500]),
        (["1,23,456", "12,34,567.5", "7"], ";", [123456, 1234567.5, 7]),
        (["1\u2009234", "5"], ";", [1234, 5]),
        (["１２", "−３", "5"], ";", [12, -3, 5]),
    ],
)
def test_numbers_are_read_in_the_ways_people_write_them(cells, delimiter, numbers):
    rows = "".join(f"{cell}{delimiter}w\n" for cell in cells)
    np.testing.assert_array_equal(frame_of(f"n{delimiter}w\n{rows}")["n"], numbers)


def test_a_unit_is_named_and_a_mix_of_units_is_a_category():
    notes = notes_of("n;w\n$3.50;a\n$4;b\n")
    assert "'n': its numbers are in $, '$3.50' is 3.5." in notes
    assert "in %, '7,5%' is 7.5; commas are decimal" in notes_of("n;w\n7,5%;a\n4%;b\n")
    for cells in (
        ["$3", "4 €"],
        ["7 kg", "3 g"],
        ["007 A", "7 A"],
        ["7%", "0.07"],
        ["$a", "$b"],
        ["100 200", "044 1"],
    ):
        rows = "".join(f"{cell};w\n" for cell in cells)
        assert frame_of(f"n;w\n{rows}")["n"].tolist() == cells


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["01234", "00501"], "leading zeros"),
        (["12345678901234567", "1"], "more than 15 digits"),
    ],
)
def test_codes_that_look_like_numbers_stay_text(cells, words):
    text = "code,n\n" + "".join(f"{cell},1.5\n" for cell in cells)
    assert frame_of(text)["code"].tolist() == cells
    assert words in notes_of(text)


def test_dates_become_years_with_decimals():
    text = "day,n\n2019-01-01,1\n2019-07-02 12:00,2\n,3\n"
    assert frame_of(text)["day"][:2].tolist() == [2019.0, 2019.5]
    assert "'day' holds dates" in notes_of(text)
    assert frame_of("day,n\n2019-13-45,1\n2019-01-01,2\n")["day"].dtype == "str"


@pytest.mark.parametrize("unit", ["", "$"])
def test_commas_separate_thousands_where_other_columns_have_decimal_points(unit):
    text = f"income\tscore\n{unit}35,591\t54.0\n{unit}8,072\t3.5\n"
    assert frame_of(text)["income"].tolist() == [35591, 8072]
    assert "'income': commas separate thousands, as other columns" in notes_of(text)
    sure = text.replace("54.0", '"54,0"').replace("3.5", '"3,5"')
    assert frame_of(sure)["income"].tolist() == [35.591, 8.072]


def test_the_decimal_sign_that_is_given_holds_for_numbers_with_a_unit():
    text = 'price,n\n"$1,234",1\n"$5,678",2\n'
    assert frame_of(text)["price"].tolist() == [1234, 5678]
    assert frame_of(text, decimal=",")["price"].tolist() == [1.234, 5.678]


def test_true_and_false_in_several_spellings_are_two_values():
    text = "a,n\n" + "TRUE,1\nFalse,2\ntrue,3\nFALSE,4\n,5\n"
    frame, said = frame_of(text), notes_of(text)
    assert frame["a"].tolist()[:4] == ["True", "False", "True", "False"]
    assert frame["a"].isna().tolist() == [False] * 4 + [True]
    assert "'FALSE', 'False', 'TRUE' and 'true': they are read as True and" in said
    for text in ("a,n\nTRUE,1\nFALSE,2\n", "a,n\nTRUE,1\ntrue,2\nmaybe,3\n"):
        assert frame_of(text)["a"].tolist()[0] == "TRUE"
        assert "are read as True" not in notes_of(text)


@pytest.mark.parametrize(("one", "other"), [("yes", "Yes"), ("a  b", "a b")])
def test_categories_that_differ_in_case_or_spaces_alone_are_named(one, other):
    text = "a,n\n" + f"{one},1\n{other},2\nno,3\n" * 3
    assert set(frame_of(text)["a"]) == {one, other, "no"}
    assert f"'a' holds {one!r} and {other!r}, which differ in case" in notes_of(text)
    assert "differ in case" not in notes_of("a,n\n" + f"{one},1\nno,2\n" * 3)


@pytest.mark.parametrize("word", ["Total", "TOTAL:", "Summe"])
def test_a_last_row_of_sums_is_left_out_and_said(word):
    rows = "shop,n,y\na,1.5,p\nb,2.5,q\nc,6.0,p\n"
    assert len(frame_of(rows + f"{word},10.0,\n")) == 3
    said = notes_of(rows + f"{word},10.0,\n")
    assert f"it holds {word!r} in column 'shop', and 10.0 in column 'n' is" in said
    assert len(frame_of(rows + f"{word},11.0,\n")) == 4  # no sum: it may be a shop
    said = notes_of(rows + f"{word},11.0,\n")
    assert f"The last row holds {word!r} in column 'shop'. If it sums up" in said
    again = f"{rows}{word},1.0,p\n{word},11.0,\n"
    assert len(frame_of(again)) == 5
    assert "The last row" not in notes_of(again)


def test_the_column_above_the_word_total_holds_numbers():
    text = "n,z,y\n1,5,p\n2,6,q\n3,7,p\nTotal,18,\n"
    assert frame_of(text)["n"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("cells", "held"),
    [
        (("12E4", "13e7", "7"), "'12E4', read as the number 120000."),
        (("1.2", "1.1", "1.10"), "'1.1' and '1.10', read as one number."),
        (("1.50", "1.25", "2.00"), ""),
        (("1.5E+03", "2e-5", "1"), ""),
        (("1", "1.0", "2"), ""),
    ],
)
def test_numbers_that_are_written_as_codes_are_named(cells, held):
    text = "a,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    assert frame_of(text)["a"].dtype == float
    said = notes_of(text)
    assert ("have them read as text (--as-text 'a'" in said) == bool(held)
    assert held in said


@pytest.mark.parametrize(
    ("cells", "is_said"),
    [
        (("20190228", "NA", "20201231"), True),
        (("20190228", "20191301"), False),
        (("20190228", "7"), False),
        (("2019-02-28", "2020-12-31"), False),
    ],
)
def test_days_without_signs_between_their_parts_are_named(cells, is_said):
    text = "a,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    assert frame_of(text)["a"].dtype == float or not is_said
    assert ("that look like days, such as '20190228'" in notes_of(text)) == is_said


@pytest.mark.parametrize("mark", ["–", "—", "..", "…", ":", "n.a.", "N.A."])
def test_marks_of_statistical_offices_are_missing_among_numbers_alone(mark):
    text = f"x,word,n\n7.5,a,1\n{mark},{mark},2\n8,b,3\n"
    frame = frame_of(text)
    np.testing.assert_array_equal(frame["x"], [7.5, np.nan, 8])
    assert frame["word"].tolist() == ["a", mark, "b"]
    assert f"\"{mark}\" count as missing: 1 in 'x'" in notes_of(text)


@pytest.mark.parametrize(
    ("cells", "means", "unit"),
    [
        (["$28,424", "$1,500", "$9"], [28424, 1500, 9], "$"),
        (["2.288,50 €", "30 €", "1.000,25 €"], [2288.5, 30, 1000.25], "€"),
        (["12.5%", "3%", "0.25%"], [12.5, 3, 0.25], "%"),
        (["(1,200)", "3,400", "17"], [-1200, 3400, 17], ""),
        (["1 200", "35", "2 000 000"], [1200, 35, 2e6], ""),
    ],
)
def test_numbers_among_words_that_a_person_makes_numbers_are_read_as_they_are_written(
    cells, means, unit
):
    rows = [f'"{cell}",{i}' for i, cell in enumerate([*cells, "refused"])]
    read = read_table("\n".join(["income,y", *rows]).encode(), "t.csv")
    assert read.frame["income"].tolist() == [*cells, "refused"]
    said = "\n".join(read.notes)
    assert "choose number as its type (train --kind 'income:number'" in said
    assert f"then count as missing, and {cells[0]!r} is {means[0]:g}." in said
    assert not make_problem(read.frame, "y", columns=["income"]).units
    problem = Problem(
        *("", "", "y", ("income",)), kinds=(("income", "number"),), task="regression"
    )
    table = problem.table(read.frame)
    np.testing.assert_array_equal(table["income"], [*means, np.nan])
    assert table.attrs["units"] == ({"income": unit} if unit else {})
    found = [each.sentence for each in check_problem(read.frame, problem)]
    assert any("1 of its cells hold none, such as 'refused'" in each for each in found)
    later = pd.Series([cells[0], "declined", None], dtype="str", name="income")
    form = feature_forms(table)["income"]
    np.testing.assert_array_equal(
        read_column(later, form, "number"), [means[0], np.nan, np.nan]
    )


def test_percent_among_words_is_not_read_from_numbers_of_another_unit():
    rows = ["share,y", "12.5%,1", "3%,2", "0.25%,1", "refused,2"]
    read = read_table("\n".join(rows).encode(), "t.csv")
    problem = Problem(
        *("", "", "y", ("share",)), kinds=(("share", "number"),), task="regression"
    )
    form = feature_forms(problem.table(read.frame))["share"]
    with pytest.raises(ValueError, match="training rows held numbers in %"):
        feature_matrix([Feature("share", form=form)], pd.DataFrame({"share": [0.125]}))
