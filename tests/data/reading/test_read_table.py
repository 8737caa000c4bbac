"""Whole tables, from text and from Parquet."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.reading.files import frame_of, notes_of, refusal
from treelab.data.reading import extent
from treelab.data.reading.read_table import TextForm, read_table
from treelab.data.reading.table_error import TableError
from treelab.trees.cells import forms_of, noted_form

PLAIN = "age,word\n31,a\n28,b\n45,a\n"


def test_a_plain_table_is_read_without_a_note():
    result = read_table(PLAIN.encode(), "t.csv")
    assert result.notes == []
    assert result.frame["age"].tolist() == [31, 28, 45]
    assert result.frame["age"].dtype == np.int64
    assert result.frame["word"].tolist() == ["a", "b", "a"]


def test_one_column_is_refused():
    for text in ("a\n1\n2\n", "one long sentence\nand another one\n"):
        assert "one column only" in refusal(text)
    assert "one column only, 'a'" in refusal("a,\n1,\n2,\n")


@pytest.mark.parametrize("content", ["a,b\n", "a,b"])
def test_a_header_without_rows_is_refused(content):
    assert "has no rows" in refusal(content)


def test_columns_of_one_name_are_renamed_with_a_note():
    text = "a,a,a_2,b\n1,2,3,4\n5,6,7,8\n"
    assert list(frame_of(text).columns) == ["a", "a_3", "a_2", "b"]
    assert "'a_3'" in notes_of(text)


def test_columns_without_a_name_are_named_and_empty_ones_go():
    text = ",a,,b\n1,2,,4\n5,6,,8\n"
    assert list(frame_of(text).columns) == ["column_1", "a", "b"]
    assert "'column_1'" in notes_of(text)


def test_a_line_that_names_all_but_the_known_column_names_it():
    known = forms_of(read_table(b"x,,y\n0,-1,p\n0,-9,q\n").frame)
    as_in = {"column_2": known["column_2"]}  # alone is read: x is constant
    assert read_table(b"x,\n0,-5\n0,-7\n", as_in=as_in).frame.shape == (2, 2)


def test_row_names_and_delimiters_at_the_end_shift_nothing():
    row_names = 'a,b\n"r1",1,2\n"r2",3,4\n'
    assert frame_of(row_names)["b"].tolist() == [2, 4]
    assert list(frame_of("a,b\n1,2,\n3,4,\n").columns) == ["a", "b"]


def test_useless_columns_are_noted():
    rows = "".join(f"person {i},{i},x,,{i % 7}\n" for i in range(30))
    notes = notes_of("name,row,same,none,u\n" + rows)
    assert "'name' holds nearly as many values as rows, like an id" in notes
    assert "'row' holds the rows' numbers" in notes
    assert "'same' holds one value only" in notes
    assert "'none' holds no value at all" in notes


def parquet(frame):
    """The bytes of a Parquet file."""
    content = io.BytesIO()
    frame.to_parquet(content)
    return content.getvalue()


def test_parquet_is_read_by_its_types():
    given = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "gap": pd.array([1, None, 3], dtype="Int64"),
            "real": [0.5, np.inf, np.nan],
            "word": ["a", None, "b"],
            "kind": pd.Categorical(["x", "y", None]),
            "flag": [True, False, True],
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "day": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
            "list": [[1], [2], [3]],
        }
    )
    result = read_table(parquet(given), "t.parquet")
    frame = result.frame
    assert frame["whole"].dtype == np.int64
    assert frame["gap"].isna().tolist() == [False, True, False]
    assert frame["real"].isna().tolist() == [False, True, True]
    assert frame["word"].dtype == frame["kind"].dtype == frame["maybe"].dtype == "str"
    assert frame["flag"].dtype == bool
    assert frame["day"].dropna().tolist() == [2020.0, 2021.0]
    notes = "\n".join(result.notes)
    assert "'real' holds 'inf' on row 2: infinite values count as missing" in notes
    assert "'day' holds dates" in notes
    assert "'list' is left out" in notes


def test_whole_numbers_that_floats_do_not_tell_apart_are_categories():
    ids = pd.DataFrame({"u": np.arange(3, dtype="uint64") + 2**63, "n": [1, 2, 3]})
    ids["i"] = pd.array([2**53 + 1, 2**53 + 2, None], dtype="Int64")
    ids["d"] = [Decimal(2**64 + k) for k in range(3)]  # whole numbers of databases
    result = read_table(parquet(ids), "t.parquet")
    assert result.frame["u"].tolist() == [str(2**63 + k) for k in range(3)]
    assert result.frame["i"].dropna().tolist() == [str(2**53 + 1), str(2**53 + 2)]
    assert result.frame["d"].tolist() == [str(2**64 + k) for k in range(3)]
    assert sum("more than 15 digits" in note for note in result.notes) == 3


def test_numbers_that_pandas_has_as_categories_are_categories():
    given = pd.DataFrame({"code": pd.Categorical([30, 7, None]), "n": [1, 2, 3]})
    frame = read_table(parquet(given)).frame
    assert frame["code"].tolist()[:2] == ["30", "7"]
    assert read_table(parquet(given), as_in=forms_of(frame)).frame["n"].sum() == 6
    numbers = read_table(parquet(given.astype({"code": float}))).frame
    again = read_table(parquet(given), as_in=forms_of(numbers)).frame
    assert again["code"].tolist()[:2] == [30, 7]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_dates_that_no_calendar_has_are_missing(kind):
    days = np.array(["2020-01-01", "NaT", "20000-01-01"], "datetime64[D]")
    table = pa.table({"d": pa.array(days).cast(kind), "n": [1, 2, 3]})
    content = io.BytesIO()
    pq.write_table(table, content)
    result = read_table(content.getvalue(), "t.parquet")
    assert result.frame["d"].isna().tolist() == [False, True, True]
    assert "beyond the years 1 to 9999 in row 3; 1 such cell counts" in result.notes[0]


@pytest.mark.parametrize("as_text", [(), ("at", "on")])
def test_text_of_parquet_is_dates_and_times_as_that_of_csv(as_text):
    days = pd.date_range("2021-01-25", periods=30)
    frame = pd.DataFrame(
        {
            "on": days.strftime("%d.%m.%Y"),
            "at": [f"{6 + k // 4}:{k * 2:02d}" for k in range(30)],
            "code": [f"{k:03d}" for k in range(30)],
            "grade": pd.Categorical([f"{k % 3}:00" for k in range(30)]),
        }
    )
    content = parquet(frame)
    of_parquet = read_table(content, "t.parquet", as_text=as_text).frame
    of_csv = read_table(frame.to_csv(index=False).encode(), "t.csv", as_text=as_text)
    for name in ("on", "at"):
        assert of_parquet[name].equals(of_csv.frame[name])
        kind = "category" if as_text else "date" if name == "on" else "number"
        assert noted_form(of_parquet, name).kind == kind
    assert of_parquet["code"].tolist() == frame["code"].tolist()
    assert of_parquet["grade"].tolist() == frame["grade"].tolist()
    later = read_table(content, "t.parquet", as_in=forms_of(of_csv.frame))
    assert later.frame["on"].equals(of_csv.frame["on"])


def test_parquet_without_rows_is_refused():
    assert "has no rows" in refusal(parquet(pd.DataFrame({"a": [], "b": []})))


def test_tables_with_too_many_cells_are_refused_with_a_size_that_fits(monkeypatch):
    monkeypatch.setattr(extent, "MOST_CELLS", 5)
    assert "Take a sample of 2 rows" in refusal(PLAIN)
    monkeypatch.setattr(extent, "MOST_COLUMNS", 1)
    assert "2 columns; at most 1" in refusal(PLAIN)


def test_fifty_thousand_rows_are_read_as_they_were_written():
    rng = np.random.default_rng(0)
    given = pd.DataFrame(rng.normal(size=(50_000, 9)).round(3))
    given = given.assign(**{f"w{j}": rng.choice([*"abc"], 50_000) for j in range(6)})
    found = read_table(given.to_csv(index=False).encode(), "t.csv").frame
    assert found.columns.tolist() == [str(name) for name in given.columns]
    assert np.array_equal(found.to_numpy(), given.to_numpy())


CELL = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.text(
        st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), max_size=6
    ),
    st.sampled_from(["", "?", "inf", "a,b", 'say "x"', "1,5", "-", "2020-01-01"]),
)


@pytest.mark.slow
@given(
    rows=st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=12
        )
    )
)
@settings(max_examples=80)
def test_whatever_is_in_the_cells_a_table_or_a_reason_comes_out(rows):
    names = [f"name {j}" for j in range(len(rows[0]))]
    content = pd.DataFrame(rows, columns=names).to_csv(index=False).encode()
    try:
        frame = read_table(content, "t.csv", header=True, delimiter=",").frame
    except TableError:
        return
    assert len(frame) <= len(rows)
    assert set(frame.columns) <= set(names)
    for name in frame:
        assert frame[name].dtype in (np.float64, np.int64, "str")
        if frame[name].dtype == np.float64:
            assert not np.isinf(frame[name]).any()


@pytest.mark.slow
@given(content=st.binary(max_size=300))
@settings(max_examples=80)
def test_any_bytes_give_a_table_or_a_reason(content):
    try:
        width = read_table(content, "t.csv").frame.shape[1]
    except TableError as error:
        named, width = str(error).startswith("t.csv"), 2
    else:
        named = True
    assert named
    assert width >= 2


def test_marks_of_missing_values_that_a_column_held_are_kept():
    cells = pd.DataFrame({"job": ["a", "NA", "b", "refused"], "n": range(4)})
    for content in (cells.to_csv(index=False).encode(), parquet(cells)):
        frame = read_table(content, missing={"job": ("refused", "other")}).frame
        marks = [mark for mark in ("NA", "refused") if mark not in frame["job"].array]
        assert list(forms_of(frame)["job"].held) == marks
        assert "refused" in marks


def test_marks_that_a_person_says_hold_in_a_file_with_types_too():
    cells = pd.DataFrame({"f": [-999.0, 1.5], "d": pd.to_datetime(["2020-01-01"] * 2)})
    read = read_table(parquet(cells), missing={"": ["-999", "none yet"]})
    assert read.frame["f"].isna().tolist() == [True, False]
    assert "Cells with \"-999\" count as missing: 1 in 'f'." in read.notes
    later = b"f,d\n2.5,none yet\n3.5,2020-01-01\n"
    dates = read_table(later, as_in=forms_of(read.frame)).frame["d"]
    np.testing.assert_array_equal(dates, [np.nan, 2020])


def test_a_line_may_name_columns_as_they_were_called_in_training():
    forms = forms_of(read_table(b"1,a,0.5\n2,b,1.5\n3,a,2.5\n").frame)
    with pytest.raises(TableError, match="there are 2 in place of the 3"):
        read_table(b"1,a\n2,b\n", as_in=forms)
    named = read_table(b"column_1,column_2\n1,a\n2,b\n", as_in=forms).frame
    assert named["column_1"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "said", [{"missing": {"jov": ["b"]}}, {"keep_na": ["jov"]}, {"as_text": ["jov"]}]
)
def test_an_unknown_column_is_refused(said):
    for content in (
        b"job,n\na,1\nb,2\n",
        parquet(pd.DataFrame({"job": [1, 2], "n": 3})),
    ):
        with pytest.raises(TableError, match="no column 'jov'; it has 'job' and 'n'"):
            read_table(content, **said)
    read_table(b"job,n\na,1\nb,2\n", missing={"": ["b"]}, keep_na=[""])


def test_how_a_text_was_read_is_told():
    found = read_table("größe;art\n1,5;a\n2,5;b\n".encode("cp1252")).text
    assert found == TextForm(";", ",", "cp1252", True)
    plain = read_table(b"1,a\n2,b\n3,c\n").text
    assert plain == TextForm(",", ".", "utf-8", False)
    named = {"delimiter": "|", "decimal": ",", "encoding": "utf-8", "header": 0}
    text = read_table(b"a|b\n1|c\n", **named).text
    assert text == TextForm("|", ",", "utf-8", False)


def test_what_is_said_of_a_file_is_used_or_told():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    typed, lines = parquet(frame), frame.to_json(orient="records", lines=True).encode()
    for content in (typed, lines):
        found = read_table(content, "t", header=2, delimiter=";")
        assert "without the header and delimiter that was named" in found.notes[0]
        assert found.frame["a"].tolist() == [1, 2]
        for part in ({"query": "SELECT 1"}, {"sheet": "x"}):
            with pytest.raises(TableError, match="has no sheets, and takes no query"):
                read_table(content, "t", **part)
    assert "encoding" not in " ".join(read_table(lines, "t", encoding="utf-8").notes)
    book = io.BytesIO()
    frame.to_excel(book, index=False)
    with pytest.raises(TableError, match="it takes no query"):
        read_table(book.getvalue(), "t.xlsx", query="SELECT 1")
    found = read_table(book.getvalue(), "t.xlsx", header=1, encoding="cp1252")
    assert found.notes[0] == "t.xlsx is read without the encoding that was named."
