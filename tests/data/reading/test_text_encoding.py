"""Encodings, archives, and files that are no text."""

import gzip

import pandas as pd
import pytest

from tests.data.reading.files import frame_of, refusal
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError

PLAIN = "age,word\n31,a\n28,b\n45,a\n"


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        ("utf-8-sig", "Köln Bonn"),
        ("utf-16", "Köln Bonn"),
        ("cp1252", "Köln Bonn Düren"),
        ("latin-1", "Perù Zoë à café"),
        ("cp1252", "5°C 10µm plain"),
        ("cp1252", "it’s so"),
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


@pytest.mark.parametrize("content", ["", "  \n\n", "\ufeff"])
def test_an_empty_file_is_refused(content):
    assert "t.csv is empty" in refusal(content)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"PK\x03\x04....xl/workbook", "t.csv", "a workbook that is damaged"),
        (b"PK\x03\x04....", "t.zip", "a damaged zip archive"),
        (b"\xd0\xcf\x11\xe0...", "t.xls", "cannot be read as a workbook"),
        (b"%PDF-1.4", "t.pdf", "a PDF"),
        (b"RDX3\nX\n\0\0\0", "t.rda", "an R file"),
        (b"\x89PNG\r\n", "t.png", "an image"),
        (b"<!DOCTYPE html><html>", "t.csv", "a web page"),
        (b'[{"a": 1}]', "t.json", "a JSON file"),
        (b"@relation iris", "t.arff", "without an @attribute"),
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
