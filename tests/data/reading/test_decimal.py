"""The decimal sign that a person names is the one that counts."""

import pytest

from treelab.data.reading.read_table import read_table

TEXT = b"a;b\n1.234;x\n5.678;y\n"


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
