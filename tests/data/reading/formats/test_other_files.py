"""Arrow, JSON lines, ARFF, Stata, SPSS, SAS and zip files, and damaged ones of each."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather

import treelab
from tests.data.reading.files import refusal
from tests.data.reading.formats.workbooks import sheet_xml, xlsx, zipped
from treelab.data.reading import extent
from treelab.data.reading.read_table import read_table
from treelab.trees.cells import CellForm, forms_of
from treelab.trees.dates import decimal_years

GIVEN = pd.DataFrame(
    {
        "n": [1.5, np.nan, 3.0],
        "word": ["a", "b", "ü"],
        "day": pd.to_datetime(
            ["2019-01-01", "2020-01-01", "2019-07-02T12"], format="ISO8601"
        ),
    }
)
JSON = '{"n": 1, "w": "a"}\n\n{"w": "b", "n": null, "on": true}\n{"n": 2.5, "l": [1]}\n'
ARFF = """% made by hand
@RELATION people
@attribute 'first name' String
@attribute age NUMERIC
@attribute code {0, 1, 'a, b'}
@data
'Ann O\\'Neil', 31, 1
% nobody
Bob, ?, 'a, b'
Cid, 4.5, 0
"""


def arrow(compression="lz4") -> bytes:
    """An Arrow file."""
    file = io.BytesIO()
    feather.write_feather(GIVEN, file, compression=compression)
    return file.getvalue()


def written(write, path, **choices) -> bytes:
    """What pyreadstat writes."""
    write(GIVEN, path, **choices)
    return path.read_bytes()


def test_arrow_files_are_read_by_their_types():
    frame = read_table(arrow(), "t.feather").frame
    assert frame["n"].isna().tolist() == [False, True, False]
    assert frame["word"].tolist() == ["a", "b", "ü"]
    assert frame["day"].tolist() == [2019.0, 2020.0, 2019.5]
    sentence = refusal(arrow()[:-200], "t.feather")
    assert "an Arrow or Feather file that is damaged" in sentence


@pytest.mark.slow
def test_an_arrow_file_that_unpacks_to_gigabytes_is_refused():
    file = io.BytesIO()
    table = pa.table({"word": ["x" * 2**24] * 8, "n": range(8)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        for _ in range(16):  # 2 GiB
            writer.write_table(table)
    assert len(file.getvalue()) < 2**17
    assert "1.5 GiB of memory" in refusal(file.getvalue(), "t.arrow")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "name"),
    [
        (pyreadstat.write_dta, "t.dta"),
        (pyreadstat.write_sav, "t.sav"),
        (pyreadstat.write_xport, "t.xpt"),
    ],
)
def test_files_of_statistics_programs_are_read(write, name, tmp_path):
    content = written(write, tmp_path / name)
    result = read_table(content, name)
    assert result.frame["n"].isna().tolist() == [False, True, False]
    assert result.frame["word"].tolist() == ["a", "b", "ü"]
    assert result.frame["day"].tolist() == pytest.approx([2019, 2020, 2019.5])
    assert result.dates == ["day"]
    if name == "t.sav":
        assert "damaged or cut off" in refusal(content[:200], name)


def test_codes_with_labels_become_their_labels(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [31.0, 99.0, 5.0]})
    labels = {"sex": {1.0: "man", 2.0: "woman"}, "age": {99.0: "no answer"}}
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    found = read_table(path).frame
    assert found["sex"].tolist() == ["man", "woman", "man"]
    assert found["age"].tolist() == [31, 99, 5]
    # What a code is hangs on training, not on the other rows of a later file.
    later = pd.DataFrame({"sex": [2.0, 3.0], "age": [99.0, 99.0]})
    pyreadstat.write_sav(later, path, variable_value_labels=labels)
    assert read_table(path).frame["age"].tolist() == ["no answer"] * 2
    again = read_table(path, as_in=forms_of(found)).frame
    assert again["sex"].tolist() == ["woman", "3"]
    assert again["age"].tolist() == [99, 99]


def test_codes_that_are_text_become_their_labels_whatever_the_other_rows_hold(tmp_path):
    labels = {"sex": {"m": "man", "f": "woman"}, "place": {1.0: "north", 2.0: " "}}
    frame = pd.DataFrame({"sex": ["m", "", "f"], "place": [1.0, 2.0, 1.0]})
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    found = read_table(path, as_text=["place"]).frame
    assert found["sex"].dropna().tolist() == ["man", "woman"]
    assert found["place"].tolist() == ["north", "2", "north"]
    assert read_table(path, as_in=forms_of(found)).frame.equals(found)


def test_times_of_statistics_programs_are_hours_beyond_a_day_too(tmp_path):
    path = tmp_path / "t"
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "t": [5400.0, 90_000.0, np.nan]})
    for write in (pyreadstat.write_sav, pyreadstat.write_xport):
        write(frame, path, variable_format={"t": "TIME8"})
        result = read_table(path)
        assert result.frame["t"].tolist()[:2] == [1.5, 25]
        assert "'t' holds times, which became hours" in result.notes[0]


def test_a_model_of_times_of_a_statistics_program_reads_them_from_other_files(tmp_path):
    seconds = np.arange(0, 90_000.0, 600)
    frame = pd.DataFrame({"t": seconds, "late": (seconds > 45_000) * 1.0})
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_format={"t": "TIME8"})
    table = read_table(tmp_path / "t.sav").frame
    assert forms_of(table)["t"].unit == "hours"
    model = treelab.CartClassifier().fit(table[["t"]], table["late"])
    clock = [f"{s // 3600:.0f}:{s // 60 % 60:02.0f}" for s in seconds]
    assert model.score(pd.DataFrame({"t": clock}), table["late"]) == 1
    csv = read_table("\n".join(["t,n", *(f"{t},1" for t in clock)]).encode()).frame
    for forms in (forms_of(table), forms_of(csv)):
        found = read_table(tmp_path / "t.sav", as_in=forms | {"late": CellForm()})
        assert found.frame["t"].tolist() == table["t"].tolist()


def test_dates_are_dates_however_stata_spss_and_sas_show_them(tmp_path):
    shown = {"a": "%tdDD/NN/CCYY", "b": "%tcDDmonCCYY_HH:MM", "c": "%tm", "d": "%tq"}
    cells = [[21915.0] * 2, [21915 * 86_400_000.0] * 2, [720, np.nan], [240, 241]]
    frame = pd.DataFrame(dict(zip(shown, cells)))
    pyreadstat.write_dta(frame, tmp_path / "t.dta", variable_format=shown)
    found = read_table(tmp_path / "t.dta")
    assert found.dates == list(shown)
    assert found.frame.iloc[0].tolist() == [2020] * 4
    assert found.frame["d"][1] == pytest.approx(2020.25, abs=0.01)
    month = pd.DataFrame({"n": [1.0, 2.0], "m": [13_797_216_000.0] * 2})
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(month, path, variable_format={"m": "MOYR8"})
    assert read_table(path).frame["m"].tolist() == [2020, 2020]
    moment = pd.DataFrame(
        {"n": [1.0, 2.0], "m": [1_893_456_000.0, np.nan], "o": [3, 4]}
    )
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(moment, path, variable_format={"m": "DTDATE9"})
    found = read_table(path).frame
    assert list(found) == ["n", "m", "o"]
    assert found["m"].tolist()[:1] == [2020]


def test_weeks_of_stata_are_dates_and_its_business_days_are_named(tmp_path):
    shown = {"w": "%tw", "b": "%tbnyse", "y": "%ty"}
    frame = pd.DataFrame({"w": [3124.0, -5.0], "b": [5.0, 6.0], "y": [2020.0, 2021.0]})
    pyreadstat.write_dta(frame, tmp_path / "t.dta", variable_format=shown)
    found = read_table(tmp_path / "t.dta")
    assert found.dates == ["w"]
    days = pd.to_datetime(pd.Series(["2020-01-29", "1959-11-26"]))
    assert found.frame["w"].tolist() == decimal_years(days).tolist()
    assert found.frame["y"].tolist() == [2020, 2021]
    assert any("'b' holds business days" in note for note in found.notes)
    numbers = {name: CellForm() for name in shown}  # as a model before learned them
    again = read_table(tmp_path / "t.dta", as_in=numbers).frame
    assert again["w"].tolist() == [3124, -5]


def test_a_transport_file_of_several_data_sets_is_refused(tmp_path):
    content = written(pyreadstat.write_xport, tmp_path / "t.xpt")
    assert "holds 2 data sets" in refusal(content + content[240:], "t.xpt")


def test_json_lines_are_read_with_gaps_and_without_lists():
    result = read_table(JSON.encode(), "t.jsonl")
    assert result.frame["n"].tolist()[::2] == [1, 2.5]
    assert result.frame["w"].tolist()[:2] == ["a", "b"]
    assert result.frame["on"].isna().tolist() == [True, False, True]
    assert "'l' is left out" in "\n".join(result.notes)
    assert "line 3 is no JSON record" in refusal('{"a": 1}\n{"a": 2}\n{"a"', "t.jsonl")
    assert "line 2 is no JSON record" in refusal('{"a": 1}\n[1, 2]\n', "t.jsonl")
    assert "line 1 is no JSON record" in refusal('{\n "a": 1}\n', "t.json")
    assert "Write a record of numbers" in refusal('{"a": {"0": 1, "1": 2}}', "t.json")


def test_json_lines_with_ever_new_names_are_refused_in_time(monkeypatch):
    monkeypatch.setattr(extent, "MOST_COLUMNS", 100)
    lines = "".join(f'{{"a{i}": 1}}\n' for i in range(200))
    assert "101 columns; at most 100" in refusal(lines, "t.jsonl")


def test_arff_is_read_with_its_kinds():
    frame = read_table(ARFF.encode(), "t.arff").frame
    assert frame["first name"].tolist() == ["Ann O'Neil", "Bob", "Cid"]
    assert frame["age"].tolist()[::2] == [31, 4.5]
    assert frame["code"].tolist() == ["1", "a, b", "0"]
    assert "line 11 has 2 fields where 3" in refusal(ARFF + "Dan, 1\n", "t.arff")
    assert "line 11 is a sparse row" in refusal(ARFF + "{0 Dan}\n", "t.arff")


def test_arff_may_quote_each_cell_in_its_own_way():
    rows = """'it''s', "it's", 'two\\nlines'\n'a, b', "say \\"hi\\"", 'tis\n"x",,?\n"""
    head = "@relation r\n@attribute a string\n@attribute b string\n@attribute c string"
    frame = read_table(f"{head}\n@data\n{rows}".encode(), "t.arff").frame
    assert frame["a"].tolist() == ["it's", "a, b", "x"]
    assert frame["b"].tolist()[:2] == ["it's", 'say "hi"']
    assert frame["c"].tolist()[:2] == ["two\nlines", "'tis"]
    assert frame.isna().to_numpy().tolist()[2] == [False, True, True]


def test_a_question_mark_in_arff_is_missing_whatever_training_rows_held():
    table = pd.DataFrame({"w": ["a", None, "-"], "n": [1.0, 2.0, np.nan]})
    file = io.BytesIO()
    table.to_parquet(file)
    forms = forms_of(read_table(file.getvalue(), "t.parquet").frame)
    later = b"@relation r\n@attribute w {a,-}\n@attribute n numeric\n@data\n-,1\n?,?\n"
    read = read_table(later, "t.arff", as_in=forms)
    assert read.frame["w"].tolist()[0] == "-"
    assert read.frame.isna().to_numpy().tolist() == [[False, False], [True, True]]
    assert read.written["w"].tolist() == ["-", "?"]


def test_a_zip_of_one_table_is_unpacked():
    table = b"a,b\n1,x\n2,y\n"
    archive = zipped(**{"data__t_0_csv": table, "__MACOSX__._t_0_csv": b"?"})
    assert read_table(archive, "t.zip").frame["a"].tolist() == [1, 2]
    book = xlsx(A=sheet_xml([["a", "b"], [1, 2], [3, 4]]))
    assert len(read_table(zipped(t_0_xlsx=book), "t.zip").frame) == 2
    two = refusal(zipped(t_0_csv=table, u_0_csv=table), "t.zip")
    assert "2 files: 't.csv', 'u.csv'" in two
    assert "a zip archive with no file" in refusal(zipped(), "t.zip")
    assert "in a zip archive" in refusal(zipped(t_0_zip=archive), "t.zip")
    assert "'b' in t.zip" not in refusal(zipped(b=b"a,b\n1\n"), "t.zip")
    assert "damaged zip archive" in refusal(archive[:60], "t.zip")


def test_a_zip_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(extent, "MOST_BYTES", 2**20)
    archive = zipped(t_0_csv=b"a,b\n" + b"1,2\n" * 2**19)
    assert "more than 1 MiB" in refusal(archive, "t.zip")
    lie = archive.replace((2**21 + 4).to_bytes(4, "little"), (99).to_bytes(4, "little"))
    assert "damaged zip archive" in refusal(lie, "t.zip")
