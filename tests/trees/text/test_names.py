import pytest
from hypothesis import given
from hypothesis import strategies as st

from treelab.trees.words import (
    HOURS,
    clean,
    listed,
    quoted,
    range_text,
    short,
    short_names,
    with_unit,
)


def test_units_follow_their_number():
    assert with_unit("0.8", "cm") == "0.8 cm"
    assert with_unit("0.8", "") == "0.8"


@pytest.mark.parametrize(
    ("text", "unit", "written"),
    [
        ("income ≤ 20,112.5", "$", "income ≤ $20,112.5"),
        ("−5", "€", "−€5"),
        ("2 < x ≤ 3e+09", "US$", "2 < x ≤ US$3e+09"),
        ("1 or less", "£", "1 or less £"),
        ("7", "$/year", "7 $/year"),
    ],
)
def test_the_sign_of_a_currency_stands_before_the_last_number(text, unit, written):
    assert with_unit(text, unit) == written


def test_both_ends_of_a_range_have_the_sign_of_a_currency():
    assert range_text("−1,500", " < x ≤ ", "20", "$") == "−$1,500 < x ≤ $20"
    assert range_text("0.7", " and ", "1.2", "mm") == "0.7 and 1.2 mm"
    assert range_text("9:48", " to ", "10:12", HOURS) == "9:48 to 10:12"
    assert range_text("1", " to ", "2", "") == "1 to 2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\nb\t c", "a b c"),
        ("\u202eevil\u202c", "evil"),
        ("עברית", "\u2068עברית\u2069"),
        ("\x00\ud800\ufffe", ""),
        ("👩‍🔬 <b>&\"'\\", "👩‍🔬 <b>&\"'\\"),
    ],
)
def test_names_are_harmless_on_one_line(name, text):
    assert clean(name) == text


@given(st.text(), st.integers(3, 20))
def test_a_short_name_is_short(name, length):
    assert len(short(name, length).strip("\u2068\u2069")) <= length
    assert short(name, None) == clean(name)


def test_a_cut_name_keeps_its_ends():
    assert short("mean corpuscular haemoglobin", 13) == "mean c…globin"


def test_cut_names_that_would_look_alike_keep_where_they_differ():
    names = tuple(f"family number {i} with a long description" for i in (1, 10, 2))
    found = short_names((*names, "another"), 20)
    starts = [text[:4] for text in found.values()]
    assert starts == ["…1 w", "…10 ", "…2 w", "anot"]
    assert list(short_names(names, None).values()) == list(names)


@pytest.mark.parametrize(
    ("category", "text"),
    [("Sales", "“Sales”"), ("a, b", "“a, b”"), ("", "“”"), (" x", "“x”")],
)
def test_categories_stand_in_quotes(category, text):
    assert quoted(category) == text


def test_a_list_of_names_ends_in_how_many_more_there_are():
    assert listed(["a"]) == "'a'"
    assert listed(["a", "b", "c"]) == "'a', 'b' and 'c'"
    assert listed(["a", "b", "c", "d"], most=2) == "'a', 'b' and 2 more"
    assert listed(["a", "b"], write=quoted) == "“a” and “b”"
