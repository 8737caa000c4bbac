"""Delimiters, headers, and lines that do not fit."""

import pandas as pd
import pytest

from tests.data.reading.files import frame_of, notes_of, refusal
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import forms_of


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "  "])
def test_the_delimiter_is_found(delimiter):
    text = "age,word,pay\n31,a,1.5\n28,b,2\n45,a,0.5\n".replace(",", delimiter)
    pd.testing.assert_frame_equal(
        frame_of(text), frame_of(text.replace(delimiter, ","))
    )
    assert ("separated by" in notes_of(text)) == (delimiter != ",")


def test_a_delimiter_inside_words_or_decimals_does_not_mislead():
    text = 'word;size\n"a, b, c";1,5\nd, e;2,5\nf;3\n'
    assert frame_of(text)["word"].tolist() == ["a, b, c", "d, e", "f"]
    assert frame_of(text)["size"].tolist() == [1.5, 2.5, 3.0]
    assert "decimal commas, '1,5' is 1.5" in notes_of(text)


def test_excels_own_first_line_is_obeyed():
    assert list(frame_of("sep=|\na|b\n1|2\n").columns) == ["a", "b"]


def test_a_delimiter_can_be_given():
    assert list(frame_of("a:b\n1:2\n", delimiter=":").columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,c\n1,2,3\n1,2\n1,2,3\n", ["line 3", "2 fields", "3 were expected"]),
        ("a,b,c\n1,2,3\n1,2,3\n1,2,3,4\n", ["line 4", "4 fields", "quotation"]),
        ('a,b\n"x\ny",1\n\n2\n3,4\n', ["line 5", "1 field", "2 were"]),
        ("a,b\n1\n2\n3,4\n5,6\n7,8\n9,0\n", ["line 2", "In all, 2 lines"]),
        ("Prices of 2024\na,b\n1,2\n3,4\n5,6\n", ["line 1", "Delete lines above"]),
    ],
)
def test_a_ragged_row_is_named_by_its_line(text, words):
    sentence = refusal(text)
    assert all(word in sentence for word in ["t.csv", *words])


def test_a_quotation_mark_that_stays_open_is_named_by_its_line():
    sentence = refusal('a,b\n1,x\n2,"y\n3,z\n4,q\n')
    assert "line 3" in sentence
    assert "never closed" in sentence


def test_a_quotation_mark_as_a_sign_inside_a_word_is_kept():
    assert frame_of('pipe,n\n5" steel,1\n3" steel,2\n')["pipe"][0] == '5" steel'


@pytest.mark.parametrize(
    "text",
    [
        "5.1,3.5,setosa\n4.9,3.0,setosa\n6.2,2.9,virginica\n",
        "1,2,3\n4,5,6\n7,8,9\n",
        "p,x,s\ne,x,s\np,y,n\ne,y,n\n",
        "?,1.5\n2.5,3.5\n3.5,1\n",
        "NA,12\n2,35\n3,10\n",
        "low,12\n2,12\n3,10\n",
    ],
)
def test_a_table_without_a_header_gets_names(text):
    frame = frame_of(text)
    assert list(frame.columns) == [f"column_{j + 1}" for j in range(frame.shape[1])]
    assert len(frame) == text.count("\n")
    assert "The first line looks like data" in notes_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        "word,kind\nx,y\nz,y\n",
        "country,2019,2020,2021\nA,1,2,3\nB,4,9,1\n",
        "0,1,2,3\n5.5,2,8,1\n6.5,3,1,2\n",
        ",0,1,2\n0,5.5,2,8\n1,6.5,3,1\n",  # as pandas writes an array
        "name,age,2020\nx,30,5\ny,40,6\n",
        "0,y\n5.5,p\n6.5,q\n7.0,p\n",
        ",0\n0,5.5\n1,6.5\n",
        "a,b\nx,y\n",
    ],
)
def test_a_header_is_known_as_one(text):
    assert len(frame_of(text)) == text.count("\n") - 1


def test_numbers_among_the_names_are_said_as_it_may_be_a_row():
    assert "holds numbers, such as 100" in notes_of("ND,100,200\n1,2,3\n4,5,6\n")
    assert "holds numbers" not in notes_of("x,2019,2020,2021\nA,1,2,3\nB,4,9,1\n")


def test_a_header_can_be_claimed_or_denied():
    assert list(frame_of("1,2\n3,4\n", header=True).columns) == ["1", "2"]
    assert len(frame_of("a,b\nc,d\n", header=False)) == 2


def test_the_line_of_the_header_can_be_set():
    text = "Prices of 2024\nin francs\na,b\n1,2\n3,x\n5,6\n7,8\n"
    assert frame_of(text, header=3)["a"].tolist() == [1, 3, 5, 7]
    assert "'x' on line 5" in notes_of(text, header=3)
    with pytest.raises(TableError, match="no row below line 8"):
        frame_of(text, header=9)


@pytest.mark.parametrize(
    ("text", "values"),
    [("a\n1.5\n2\n", [1.5, 2]), ("a,\n1,\n2,\n", [1, 2]), ("w\nred\nblue\n", None)],
)
def test_one_column_will_do_where_that_is_set(text, values):
    found = read_table(text.encode(), "t.csv", one_column=True).frame
    assert found.shape == (2, 1)
    assert found.iloc[:, 0].tolist() == (values or ["red", "blue"])
    with pytest.raises(TableError, match="one column only"):
        read_table(text.encode(), "t.csv")


def test_spaces_still_separate_columns_where_one_would_do():
    found = read_table(b"a b\n1 2\n3 4\n", "t.txt", one_column=True).frame
    assert found.columns.tolist() == ["a", "b"]


def test_titles_that_a_spreadsheet_wrote_above_a_table_are_left_out_and_named():
    text = "Prices of 2024,,\n,,\nage,word,y\n31,a,p\n28,b,q\nold,a,p\n"
    assert list(frame_of(text).columns) == ["age", "word", "y"]
    said = notes_of(text)
    assert "begins in line 3; what stands above it" in said
    assert "'old' on line 6" in said
    known = forms_of(frame_of(text))
    assert frame_of(text, as_in=known)["y"].tolist() == ["p", "q", "p"]
    assert "age" in frame_of("age,,\n31,a,p\n", header=1)
