"""Tables as files: what was written is read again, and is no formula."""

import io
import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from treelab.data.reading.read_table import read_table
from treelab.data.writing import (
    FORMATS,
    FORMULA_STARTS,
    defused,
    write_table,
    write_whole,
)

FRAME = pd.DataFrame(
    {
        "=cmd": ["=1+1", "@x", "-a", "plain"],
        "number": [-1.5, np.nan, np.inf, 2.0],
        "count": [1, -2, 3, 4],
        "yes": [True, False, True, True],
        "empty": pd.Series([None] * 4, dtype="str"),
    }
)


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_text_that_starts_as_a_formula_gets_an_apostrophe(start):
    frame = pd.DataFrame({f"{start}x": [f"{start}A1", "a", None]})
    safe = defused(frame)
    assert list(safe) == [f"'{start}x"]
    assert safe.iloc[:2, 0].tolist() == [f"'{start}A1", "a"]
    assert safe.iloc[:, 0].isna().tolist() == [False, False, True]
    assert frame.iloc[0, 0] == f"{start}A1"


def test_numbers_are_no_formulas():
    numbers = FRAME[["number", "count", "yes"]]
    pd.testing.assert_frame_equal(defused(numbers), numbers)


def test_csv_has_no_cell_that_a_spreadsheet_runs(tmp_path):
    write_table(FRAME, tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text("utf-8")
    assert text.splitlines()[0] == "'=cmd,number,count,yes,empty"
    assert text.splitlines()[1].startswith("'=1+1,-1.5,1,True")


def test_excel_holds_text_as_text(tmp_path):
    write_table(FRAME, tmp_path / "a.xlsx")
    import zipfile

    sheet = zipfile.ZipFile(tmp_path / "a.xlsx").read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet
    read = read_table(tmp_path / "a.xlsx", "a.xlsx").frame
    assert read["=cmd"].tolist() == FRAME["=cmd"].tolist()
    assert read["number"].isna().tolist() == [False, True, True, False]
    assert read["count"].tolist() == [1, -2, 3, 4]


def test_excel_tells_long_ids_apart(tmp_path):
    ids = [10**17 + 1, 10**17 + 2, 5]
    write_table(pd.DataFrame({"id": ids, "x": [1, 2, 3]}), tmp_path / "a.xlsx")
    read = read_table(tmp_path / "a.xlsx", "a.xlsx").frame
    assert read["id"].tolist() == [str(own) for own in ids]


def test_parquet_is_the_table_itself():
    content = FORMATS["parquet"].write(FRAME)
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(content)), FRAME)


def test_what_cannot_be_written_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"a\.doc must end with \.csv, \.parquet"):
        write_table(FRAME, tmp_path / "a.doc")
    wide = pd.DataFrame(np.zeros((1, 16_385)))
    with pytest.raises(ValueError, match="Choose CSV or Parquet"):
        FORMATS["xlsx"].write(wide)


def test_text_that_is_a_number_is_no_formula():
    numbers = ["-50,5", "+1.0", "-5%", "-1.5e-09", "+2E6", "-.5", "-1 234,50 €"]
    numbers += ["-5 kg", "+12km/h", "-3.5 °C", "-4 m²", "-$1,200.50", "+€5"]
    formulas = ["-1+1", "-(1)", "-e5", "-1e(", "-2 A1", "+A1", "-1e5+1", "-,"]
    formulas += ["-2 kg+1", "-2kg(1)", "-2 R1C1", "-2 a!b", "-$A$1", "-$5+1"]
    frame = pd.DataFrame({"x": numbers + formulas})
    assert defused(frame)["x"].tolist() == numbers + [f"'{own}" for own in formulas]


def test_signs_alone_are_no_formulas(tmp_path):
    signs = pd.DataFrame({"prediction": ["+", "-", "++", "--"], "x": [1, 2, 3, 4]})
    write_table(signs, tmp_path / "a.csv")
    read = read_table(tmp_path / "a.csv", keep_na=["prediction"]).frame
    assert read["prediction"].tolist() == signs["prediction"].tolist()


def test_a_carriage_return_in_a_cell_ends_no_line(tmp_path):
    frame = pd.DataFrame({"a": ["x\ry", "b", "c\nd"], "n\rm": [1, 2, 3]})
    write_table(frame, tmp_path / "a.csv")
    again = pd.read_csv(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(again, frame)
    read = read_table(tmp_path / "a.csv", "a.csv").frame
    assert len(read) == 3
    assert read.iloc[:, 1].tolist() == [1, 2, 3]
    assert b"\r" not in FORMATS["csv"].write(FRAME)


def test_a_full_disk_leaves_the_old_file_whole_and_is_named(tmp_path, monkeypatch):
    path, write = tmp_path / "a.csv", Path.write_bytes
    path.write_bytes(b"old")

    def full_disk(part, content):
        write(part, content[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space") as error:
        write_table(FRAME, path)
    assert error.value.filename == str(path)
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]
    assert path.read_bytes() == b"old"


def test_what_is_there_keeps_who_may_read_it_and_stays_a_link(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, b"through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)


def test_two_threads_write_files_of_one_folder(tmp_path, monkeypatch):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    moved, busy = Path.replace, []

    def replace(part, path):
        if not busy:  # the other writes while the first has yet to move its part
            busy.append(threading.Thread(target=write_whole, args=(other, b"b")))
            busy[0].start()
            busy[0].join()
        return moved(part, path)

    monkeypatch.setattr(Path, "replace", replace)
    write_whole(one, b"a")
    assert (one.read_bytes(), other.read_bytes()) == (b"a", b"b")
    assert sorted(tmp_path.iterdir()) == [one, other]
