import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treelab.data import read
from treelab.data.read import TableError, read_table


def frame_of(text, **choices):
    """The table in a text."""
    return read_table(text.encode(), "t.csv", **choices).frame


def notes_of(content, **choices):
    """What is said about a file, as one text."""
    content = content.encode() if isinstance(content, str) else content
    return "\n".join(read_table(content, "t.csv", **choices).notes)


def refusal(content, name="t.csv"):
    """The sentence that refuses a file."""
    content = content.encode() if isinstance(content, str) else content
    with pytest.raises(TableError) as caught:
        read_table(content, name)
    return str(caught.value)


PLAIN = "age,word\n31,a\n28,b\n45,a\n"


def test_a_plain_table_is_read_without_a_note():
    result = read_table(PLAIN.encode(), "t.csv")
    assert result.notes == []
    assert result.frame["age"].tolist() == [31, 28, 45]
    assert result.frame["age"].dtype == np.int64
    assert result.frame["word"].tolist() == ["a", "b", "a"]


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
    ("encoding", "word"),
    [
        ("utf-8-sig", "Köln Bonn"),
        ("utf-16", "Köln Bonn"),
        ("cp1252", "Köln Bonn Düren"),
        ("latin-1", "Perù Zoë à café"),
        ("cp1250", "Łódź Kraków Gdańsk"),
        ("cp1251", "Москва Казань Самара Омск Пермь"),
        ("shift_jis", "東京 大阪 京都"),
    ],
)
def test_other_encodings_are_read_and_said(encoding, word):
    words = word.split()
    rows = "".join(f"{one},{i}\n" for i, one in enumerate(words))
    result = read_table(f"place,n\n{rows}".encode(encoding), "t.csv")
    assert result.frame["place"].tolist() == words
    assert list(result.frame.columns) == ["place", "n"]
    said = "\n".join(result.notes)
    assert ("UTF" in said) == (encoding != "utf-8-sig")
    if not encoding.startswith("utf"):
        assert words[0] in said


def test_an_encoding_can_be_given_and_a_wrong_one_is_refused():
    content = "place,n\nKöln,1\n".encode("mac_roman")
    frame = read_table(content, "t.csv", encoding="mac_roman").frame
    assert frame["place"].tolist() == ["Köln"]
    with pytest.raises(TableError, match=r"t\.csv cannot be read as utf-8"):
        read_table(content, "t.csv", encoding="utf-8")


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
        "a,b\nx,y\n",
    ],
)
def test_a_header_is_known_as_one(text):
    assert len(frame_of(text)) == text.count("\n") - 1


def test_a_header_can_be_claimed_or_denied():
    assert list(frame_of("1,2\n3,4\n", header=True).columns) == ["1", "2"]
    assert len(frame_of("a,b\nc,d\n", header=False)) == 2


def test_one_column_is_refused():
    for text in ("a\n1\n2\n", "one long sentence\nand another one\n"):
        assert "one column only" in refusal(text)
    assert "one column only, 'a'" in refusal("a,\n1,\n2,\n")


@pytest.mark.parametrize("content", ["", "  \n\n", "\ufeff"])
def test_an_empty_file_is_refused(content):
    assert "t.csv is empty" in refusal(content)


@pytest.mark.parametrize("content", ["a,b\n", "a,b"])
def test_a_header_without_rows_is_refused(content):
    assert "has no rows" in refusal(content)


def test_columns_of_one_name_are_renamed_and_said():
    text = "a,a,a_2,b\n1,2,3,4\n5,6,7,8\n"
    assert list(frame_of(text).columns) == ["a", "a_3", "a_2", "b"]
    assert "'a_3'" in notes_of(text)


def test_columns_without_a_name_are_named_and_empty_ones_go():
    text = ",a,,b\n1,2,,4\n5,6,,8\n"
    assert list(frame_of(text).columns) == ["column_1", "a", "b"]
    assert "'column_1'" in notes_of(text)


def test_row_names_and_delimiters_at_the_end_shift_nothing():
    row_names = 'a,b\n"r1",1,2\n"r2",3,4\n'
    assert frame_of(row_names)["b"].tolist() == [2, 4]
    assert list(frame_of("a,b\n1,2,\n3,4,\n").columns) == ["a", "b"]


def test_useless_columns_are_said():
    rows = "".join(f"person {i},{i},x,,{i % 7}\n" for i in range(30))
    said = notes_of("name,row,same,none,u\n" + rows)
    assert "'name' holds nearly as many values as rows, like an id" in said
    assert "'row' holds the rows' numbers" in said
    assert "'same' holds one value only" in said
    assert "'none' holds no value at all" in said


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
    ("cells", "delimiter", "numbers"),
    [
        (["1,5", "2", "-0,25"], ";", [1.5, 2, -0.25]),
        (["1.234,5", "1.234.567"], ";", [1234.5, 1234567]),
        (["1,234", "5,678"], ";", [1.234, 5.678]),
        (['"1,234"', '"5,678"'], ",", [1234, 5678]),
        (['"1,234,567.5"', "2.5"], ",", [1234567.5, 2.5]),
        (["+3", ".5", "5.", "1e3", "1E-3"], ",", [3, 0.5, 5, 1000, 0.001]),
    ],
)
def test_numbers_are_read_in_the_ways_people_write_them(cells, delimiter, numbers):
    rows = "".join(f"{cell}{delimiter}w\n" for cell in cells)
    assert frame_of(f"n{delimiter}w\n{rows}")["n"].tolist() == numbers


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


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"PK\x03\x04....xl/workbook", "t.csv", "an Excel workbook"),
        (b"PK\x03\x04....", "t.xlsx", "an Excel workbook"),
        (b"PK\x03\x04....", "t.zip", "a zip archive. Unpack it"),
        (b"\xd0\xcf\x11\xe0...", "t.xls", "an old Excel"),
        (b"%PDF-1.4", "t.pdf", "a PDF"),
        (b"\x89PNG\r\n", "t.png", "an image"),
        (b"<!DOCTYPE html><html>", "t.csv", "a web page"),
        (b'[{"a": 1}]', "t.json", "a JSON file"),
        (b"@relation iris", "t.arff", "an ARFF file"),
        (bytes(range(256)) * 4, "t.csv", "not a text file"),
        (b"\x1f\x8bnonsense", "t.csv.gz", "a damaged gzip archive"),
        (b"PAR1 and nonsense PAR1", "t.parquet", "a damaged Parquet file"),
    ],
)
def test_files_that_are_no_tables_are_called_what_they_are(content, name, words):
    sentence = refusal(content, name)
    assert sentence.startswith(name)
    assert words in sentence


def test_gzip_is_unpacked_whatever_the_name(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    pd.testing.assert_frame_equal(read_table(path).frame, frame_of(PLAIN))
    path.write_text("a\n1\n")
    with pytest.raises(TableError, match=r"^table\.csv has one column"):
        read_table(str(path))
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


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
    said = "\n".join(result.notes)
    assert "'real' holds an infinite value in row 2" in said
    assert "'day' holds dates" in said
    assert "'list' is left out" in said


def test_parquet_without_rows_is_refused():
    assert "has no rows" in refusal(parquet(pd.DataFrame({"a": [], "b": []})))


def test_tables_with_too_many_cells_are_refused_with_a_size_that_fits(monkeypatch):
    monkeypatch.setattr(read, "MOST_CELLS", 5)
    assert "Take a sample of 2 rows" in refusal(PLAIN)
    monkeypatch.setattr(read, "MOST_COLUMNS", 1)
    assert "2 columns; at most 1" in refusal(PLAIN)


@pytest.mark.parametrize(
    ("text", "values"),
    [("a\n1.5\n2\n", [1.5, 2]), ("a,\n1,\n2,\n", [1, 2]), ("w\nred\nblue\n", None)],
)
def test_one_column_will_do_where_that_is_said(text, values):
    found = read_table(text.encode(), "t.csv", one_column=True).frame
    assert found.shape == (2, 1)
    assert found.iloc[:, 0].tolist() == (values or ["red", "blue"])
    with pytest.raises(TableError, match="one column only"):
        read_table(text.encode(), "t.csv")


def test_spaces_still_part_columns_where_one_would_do():
    found = read_table(b"a b\n1 2\n3 4\n", "t.txt", one_column=True).frame
    assert found.columns.tolist() == ["a", "b"]


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


@given(
    rows=st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=12
        )
    )
)
@settings(max_examples=150, deadline=None)
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


@given(content=st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_a_table_or_a_reason(content):
    try:
        width = read_table(content, "t.csv").frame.shape[1]
    except TableError as error:
        named, width = str(error).startswith("t.csv"), 2
    else:
        named = True
    assert named
    assert width >= 2
