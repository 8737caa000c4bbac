"""The decimal sign that a person names is the one that counts."""

import pytest

from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import as_form, forms_of

TEXT = b"a;b\n1.234;x\n5.678;y\n"


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["(1,200.50)", "1,100.25", "(3.00)"], [-1200.5, 1100.25, -3]),
        (["1.200,50-", "1.100,25", "3,00-"], [-1200.5, 1100.25, -3]),
        (["$(1,200.50)", "($ 3)", "$7"], [-1200.5, -3, 7]),
        (["( 5 %)", "-7 %", "1 %"], [-5, -7, 1]),
        (["1,200.50- EUR", "3.00 -EUR", "2.50 EUR"], [-1200.5, -3, 2.5]),
    ],
)
def test_negative_numbers_stand_in_brackets_or_have_their_minus_behind(cells, numbers):
    text = "at\tn\n" + "".join(f"{cell}\t1\n" for cell in cells)
    result = read_table(text.encode())
    assert result.frame["at"].tolist() == numbers
    first = f"negative numbers such as {cells[0]!r}, which is {numbers[0]:g}."
    assert first in str(result.notes)
    forms = forms_of(result.frame)
    later = read_table(text.encode(), as_in=forms).frame["at"]
    assert later.tolist() == numbers
    saved = {name: as_form(form.to_dict()) for name, form in forms.items()}
    assert saved == forms
    plain = forms_of(read_table(b"at\tn\n1\t1\n3\t2\n").frame)
    with pytest.raises(TableError, match="but the training rows held numbers, such as"):
        read_table(text.encode(), as_in=plain)


@pytest.mark.parametrize(
    "cells", [["(1)", "(2)", "(3)"], ["5.1-", "(3)", "2"], ["2-", "3", "1-"]]
)
def test_what_may_be_labels_is_no_negative_number(cells):
    text = "at\tn\n" + "".join(f"{cell}\t1\n" for cell in cells)
    assert read_table(text.encode()).frame["at"].tolist() == cells


@pytest.mark.parametrize(
    ("decimal", "values"),
    [(None, [1.234, 5.678]), (".", [1.234, 5.678]), (",", [1234, 5678])],
)
def test_points_are_decimals_or_thousands(decimal, values):
    assert read_table(TEXT, decimal=decimal).frame["a"].tolist() == values


@pytest.mark.parametrize(
    ("decimal", "values"),
    [(None, [1.234, 5.678]), (".", [1234, 5678]), (",", [1.234, 5.678])],
)
def test_commas_are_decimals_or_thousands(decimal, values):
    text = TEXT.replace(b".", b",")
    assert read_table(text, decimal=decimal).frame["a"].tolist() == values


@pytest.mark.parametrize(
    ("text", "sign", "other"),
    [
        (TEXT, ",", 1234),
        (TEXT.replace(b".", b","), ".", 1234),
        (b"a;b\n1,234;1.5\n5,678;2.5\n", ",", 1.234),
        (b"a;b\n1.234;1,5\n5.678;2,5\n", ".", 1.234),
    ],
)
def test_where_both_would_do_a_note_names_the_option_that_settles_it(text, sign, other):
    (note,) = (each for each in read_table(text).notes if "--decimal" in each)
    assert f"If not, choose the decimal sign {sign} (--decimal {sign} on" in note
    frame = read_table(text, decimal=sign).frame
    assert frame["a"].tolist()[0] == other
    assert frame["b"].tolist() in (["x", "y"], [1.5, 2.5])


def test_what_is_missing_or_text_stays_as_it_is():
    frame = read_table(b"a;b\nNA;x.y\n1.234,5;z,1\n", decimal=",").frame
    assert frame["a"].isna().tolist() == [True, False]
    assert frame["a"][1] == 1234.5
    assert frame["b"].tolist() == ["x.y", "z,1"]
