"""Files that a model meets after training are read as its training rows were."""

import io
import json
from datetime import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xgboost
import xlsxwriter
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from treelab import CartClassifier, from_lightgbm, from_sklearn
from treelab.cli.main import main
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import TableError
from treelab.learners.common import certainty
from treelab.runs.store.run_store import RunStore
from treelab.trees.cells import CellForm, forms_of
from treelab.trees.feature import forms_of_model

PLAIN = ("--learner", "cart", "--set", "tune=false")  # how cells are read is the same


def rows_of(cells: dict[str, str], n_rows: int = 240) -> pd.DataFrame:
    """Make a table of text whose target is that of the cell, with a column of noise."""
    rng = np.random.default_rng(0)
    column = rng.choice(list(cells), n_rows)
    noise = rng.integers(0, 9, n_rows).astype(str)
    return pd.DataFrame({"a": column, "n": noise, "y": [cells[c] for c in column]})


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Train and predict in an empty store; return what was printed."""
    monkeypatch.setenv("TREELAB_HOME", str(tmp_path / "home"))
    # How far probabilities are shrunk would take most of the time to measure.
    monkeypatch.setattr(certainty, "FEWEST_ROWS", np.inf)

    def file(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, "utf-8")
        return str(tmp_path / name)

    def train(frame: pd.DataFrame, *more: str, delimiter: str = ",") -> str:
        table = file("train.csv", frame.to_csv(index=False, sep=delimiter))
        command = ["train", table, "--target", "y", *PLAIN, *more]
        assert main([*command, "--json"]) == 0
        return json.loads(capsys.readouterr().out)["id"]

    def predict(run: str, text: str, *more: str) -> tuple[list[str], str]:
        new = file("new.csv", text)
        assert main(["predict", run, new, "--columns", "table,prediction", *more]) == 0
        printed = capsys.readouterr()
        lines = printed.out.splitlines()
        delimiter = ";" if ";" in text else ","
        own = text.replace(delimiter, ",").splitlines()
        if delimiter == ",":
            assert [line.rpartition(",")[0] for line in lines] == own
        predicted = pd.read_csv(io.StringIO(printed.out))["prediction"].tolist()
        return predicted, printed.err

    shell.file, shell.train, shell.predict = file, train, predict
    return shell


@pytest.mark.parametrize(
    ("cells", "new", "classes"),
    [
        ({"none": "p", "mild": "q", "severe": "q"}, ["none"], ["p"]),
        ({"none": "p", "mild": "q", "severe": "q"}, ["none", "mild"], ["p", "q"]),
        ({"V22": "p", "7.10": "p", "7.1": "q"}, ["7.10", "7.1"], ["p", "q"]),
        ({"1": "q", "A1": "p", "unknown": "p", "2": "q"}, ["unknown", "2"], ["p", "q"]),
        ({"007": "p", "7": "q", "0070": "q"}, ["7"], ["q"]),
        ({"1E5": "p", "1E6": "q", "X": "q"}, ["1E5", "1E6"], ["p", "q"]),
        ({"inf": "p", "low": "q"}, ["inf"], ["p"]),
        ({"5%": "p", "90%": "q", "12%": "p"}, ["80%", "6%"], ["q", "p"]),
        ({"5 kg": "p", "90 kg": "q", "12kg": "p"}, ["80 kg", "6 kg"], ["q", "p"]),
        ({"−5": "p", "90": "q", "12": "q"}, ["−4", "-3", "80"], ["p", "p", "q"]),
        ({"2021-01": "p", "2020-12": "p", "2021-11": "q"}, ["2021-10"], ["q"]),
        (
            {"31/01/2021": "p", "01/11/2021": "q"},
            ["03/11/2021", "11/03/2021"],
            ["q", "p"],
        ),
    ],
)
def test_a_row_is_predicted_alone_as_among_others(shell, cells, new, classes):
    run = shell.train(rows_of(cells))
    text = "a,n\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(new))
    assert shell.predict(run, text)[0] == classes


def test_classes_of_half_numbers_are_learned_and_scored(shell):
    run = shell.train(rows_of({"1": "0.5", "5": "1.5"}))
    assert RunStore().run(run).metrics["test"]["accuracy"] == 1
    found, said = shell.predict(run, "a,n,y\n1,1,0.5\n5,2,1.50\n")
    assert found == [0.5, 1.5]
    assert "accuracy 1.00" in said


def test_thousands_stay_thousands(shell):
    cells = {
        "7,670.50": "big",
        "1,234.00": "small",
        "8,100.00": "big",
        "900.25": "small",
    }
    run = shell.train(rows_of(cells), delimiter=";")
    assert shell.predict(run, "a;n\n1,234;1\n8,100;2\n")[0] == ["small", "big"]


def test_a_category_that_training_rows_lacked_is_said(shell):
    run = shell.train(rows_of({"mild": "p", "severe": "q"}))
    _, said = shell.predict(run, "a,n\nnone,1\n")
    assert "holds 'none' in 1 row, which no training row held" in said


def test_a_cell_that_cannot_be_read_is_refused_with_its_place(shell, capsys):
    run = shell.train(rows_of({"31/01/2021": "p", "01/11/2021": "q"}))
    new = shell.file("new.csv", "a,n\n31/01/2021,1\n2021.5,2\n")
    assert main(["predict", run, new]) == 2
    said = capsys.readouterr().err
    assert "'a' holds '2021.5' in line 3" in said
    assert "dates, day first, such as '31/01/2021'" in said


def test_a_delimiter_at_the_end_of_each_row_is_no_column_where_that_is_clear():
    cells = "".join(f"{1.5 * i},{'uvw'[i % 3]},{i}\n" for i in range(30))
    forms = forms_of(read_table(f"a,b,c\n{cells}".encode()).frame)

    def read(text):
        return read_table(text.encode(), as_in=forms).frame.to_dict("list")

    assert read("a,b,c\n1,u,3,\n") == {"a": [1], "b": ["u"], "c": [3]}
    assert read("a,c\n1.5,3,\n") == {"a": [1.5], "c": [3]}  # R names no row 1.5
    assert read("a,c\n1,3,\n1,4,\n") == {"a": [1, 1], "c": [3, 4]}
    named = read("a,b,c\nx,2.5,u,\n")  # R's names of rows
    assert (named["a"], named["b"]) == ([2.5], ["u"])
    with pytest.raises(TableError, match="the first may be the name of the row"):
        read("a,c\n1,3,\n")


def test_parts_of_dates_are_learned_and_read_as_the_dates_are_written(shell, capsys):
    frame = rows_of(
        {
            f"28/{m:02d}/{y}": "pq"[m > 6]
            for m in range(1, 13)
            for y in range(1990, 2020)
        }
    )
    run = shell.train(frame, "--dates", "a:month,days")
    new = "a,n\n04/11/2022,1\n11/04/2022,2\n"
    assert shell.predict(run, new)[0] == ["q", "p"]
    out = str(shell.file("model.json", ""))
    assert main(["export", run, "--format", "json", "-o", out]) == 0
    for table, code in (("train.csv", 0), ("words.csv", 2)):
        words = frame.assign(a="June").to_csv(index=False)
        path = shell.file(table, words if code else frame.to_csv(index=False))
        assert main(["import", out, path, "--target", "y"]) == code
    assert "'a' holds 'June'" in capsys.readouterr().err


def test_a_model_from_elsewhere_reads_parts_of_a_tables_dates(shell, capsys):
    frame = rows_of({f"2021-{m:02d}-15": "pq"[m > 6] for m in range(1, 13)})
    X = pd.DataFrame({"month of a": pd.to_datetime(frame["a"]).dt.month})
    model = xgboost.XGBClassifier(n_estimators=2, max_depth=1)
    model.fit(X, frame["y"] == "q").save_model(out := shell.file("model.json", ""))
    command = [
        *("import", out, shell.file("t.csv", frame.to_csv(index=False))),
        *("--target", "y", "--classes", "p", "q", "--json"),
    ]
    assert main(command) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["metrics"]["test"]["accuracy"] == 1
    assert shell.predict(run["id"], "a,n\n2022-11-04,1\n2022-04-11,2\n")[0] == list(
        "qp"
    )


def test_true_and_false_are_numbers_to_a_model_that_was_trained_so(shell, capsys):
    frame = rows_of({"True": "q", "False": "p"})
    model = DecisionTreeClassifier().fit(frame[["a"]] == "True", frame["y"])
    from_sklearn(model).save(out := shell.file("model.treelab", ""))
    command = ["import", out, "", "--target", "y", "--json"]
    command[2] = shell.file("t.csv", frame.to_csv(index=False))
    assert main(command) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["metrics"]["test"]["accuracy"] == 1
    assert shell.predict(run["id"], "a,n\nTRUE,1\nfalse,2\n0,3\n")[0] == list("qpp")
    other = frame.replace({"True": "yes"}).to_csv(index=False)
    command[2] = shell.file("other.csv", other)
    assert main(command) == 2
    assert "reads 'a' as numbers, but other.csv holds 'yes'" in capsys.readouterr().err


def test_a_model_from_elsewhere_is_scored_as_it_predicts(shell, capsys):
    frame = rows_of({"1.0": "True", "2.0": "False", "2.5": "True"})
    X = pd.DataFrame({"a": frame["a"].astype(float).astype("category")})
    X["n"] = frame["n"].astype(int)
    model = HistGradientBoostingClassifier(
        max_iter=3, categorical_features="from_dtype"
    )
    model.fit(X, frame["y"] == "True")
    from_sklearn(model).save(out := shell.file("model.treelab", ""))

    def imported(text, code=0):
        command = ["import", out, shell.file("t.csv", text), "--target", "y", "--json"]
        assert main(command) == code
        printed = capsys.readouterr()
        return printed.err if code else (json.loads(printed.out), printed.err)

    run, said = imported(frame.to_csv(index=False, sep=";", decimal=","))
    assert run["metrics"]["test"]["accuracy"] == 1
    assert "no training row held" not in said
    assert shell.predict(run["id"], "a,n\n2.00,1\n2.5,2\n")[0] == [False, True]
    _, said = imported(frame.replace("2.5", "3.5").to_csv(index=False))
    assert "Column 'a' holds '3.5' in" in said
    assert "numbers in %" in imported(frame.assign(n=frame["n"] + "%").to_csv(), 2)


def test_a_mark_that_is_a_category_of_a_model_is_not_lost_at_its_import(shell, capsys):
    frame = rows_of({"NA": "p", "DE": "q", "FR": "q"})
    model = LGBMClassifier(n_estimators=2, verbose=-1)
    model.fit(frame[["a"]].astype("category"), frame["y"])
    from_lightgbm(model).save(out := shell.file("model.treelab", ""))
    table = shell.file("t.csv", frame.to_csv(index=False))
    assert main(["import", out, table, "--target", "y"]) == 2
    assert "by --keep-na 'a'" in capsys.readouterr().err
    assert main(["import", out, table, "--target", "y", "--keep-na", "a"]) == 0


@pytest.mark.parametrize("way", [(), ("--decimal", ",")])
def test_a_test_file_is_read_as_the_table_is(shell, capsys, way):
    cells = {"7,917": "big", "4,155": "big", "1,298": "small", "2,100": "small"}
    frame, delimiter = rows_of(cells), "," if way else ";"
    test = frame.iloc[:40].to_csv(index=False, sep=delimiter)
    run = shell.train(
        *(frame, *way, "--test-file", shell.file("test.csv", test)), delimiter=delimiter
    )
    assert RunStore().run(run).metrics["test"]["accuracy"] == 1
    table = RunStore().table(RunStore().run(run).problem.table_id)
    assert sorted(table["a"].unique()) == [1.298, 2.1, 4.155, 7.917]


def test_words_that_look_missing_in_a_test_file_are_words(shell):
    frame = rows_of({"none": "p", "mild": "q", "severe": "q"})
    test = frame[frame["a"] == "none"].iloc[:6].to_csv(index=False)
    run = shell.train(frame, "--test-file", shell.file("test.csv", test))
    assert RunStore().run(run).metrics["test"]["accuracy"] == 1


def test_a_person_says_what_is_missing_and_what_is_text(shell):
    cells = {"NA": "p", "-999": "p", "1": "q", "1.0": "p"}
    told = shell.train(rows_of(cells), "--keep-na", "a")
    (feature,) = {f for f in RunStore().model(told).features if f.column == "a"}
    assert feature.categories == ("-999", "1", "1.0", "NA")
    told = shell.train(
        rows_of({"-999": "p", "1": "p", "2": "q"}), "--missing", "a:-999"
    )
    table = RunStore().table(RunStore().run(told).problem.table_id)
    assert table["a"].min() == 1
    assert table["a"].hasnans
    (form,) = {f.form for f in RunStore().model(told).features if f.column == "a"}
    assert form.missing_numbers == (-999,)
    _, said = shell.predict(told, "a,n\n-999,1\n2,1\n")
    assert "Cells with \"-999\" count as missing: 1 in 'a'." in said
    told = shell.train(rows_of({"1.0": "p", "1": "q", "2": "q"}), "--as-text", "a")
    assert shell.predict(told, "a,n\n1.0,1\n1,1\n")[0] == ["p", "q"]


def test_a_column_that_is_not_there_cannot_be_spoken_of(shell, capsys):
    table = shell.file("t.csv", rows_of({"1": "p", "2": "q"}).to_csv(index=False))
    assert main(["train", table, "--target", "y", "--missing", "b:7"]) == 2
    assert "no column 'b'" in capsys.readouterr().err


def test_explain_reads_a_row_of_a_new_table(shell, capsys):
    run = shell.train(rows_of({"none": "p", "mild": "q", "severe": "q"}))
    new = shell.file("new.csv", "n,a\n1,none\n2,mild\n")
    for row, label in enumerate("pq", start=1):
        assert main(["explain", run, "--table", new, "--row", str(row)]) == 0
        assert capsys.readouterr().out.startswith(f"Prediction: {label}")
    assert main(["explain", run, "--table", new, "--row", "3"]) == 2
    assert "--row must be from 1 to 2" in capsys.readouterr().err


def test_a_workbooks_numbers_are_not_text(shell, tmp_path):
    cells = {"7.917,5": "big", "1,298": "small", "2,1": "small", "9.000": "big"}
    run = shell.train(rows_of(cells), delimiter=";")
    book = tmp_path / "new.xlsx"
    pd.DataFrame({"a": [1.298, 7917.5, 9000], "n": [1, 2, 3]}).to_excel(
        book, index=False
    )
    out = tmp_path / "out.csv"
    assert main(["predict", run, str(book), "-o", str(out)]) == 0
    written = pd.read_csv(out)
    assert written["prediction"].tolist() == ["small", "big", "big"]
    assert written["a"].tolist() == [1.298, 7917.5, 9000]


def test_true_and_false_are_alike_however_they_are_written(shell, tmp_path, capsys):
    frame = rows_of({"TRUE": "p", "FALSE": "q"})
    run = shell.train(frame)
    book = tmp_path / "new.xlsx"
    pd.DataFrame({"a": [True, False], "n": [1, 2]}).to_excel(book, index=False)
    lines = '{"a": true, "n": 1}\n{"a": false, "n": 2}\n'
    for new in (book, shell.file("new.jsonl", lines)):
        assert main(["predict", run, str(new), "--columns", "prediction"]) == 0
        assert capsys.readouterr().out.split() == ["prediction", "p", "q"]
    typed = tmp_path / "typed.parquet"
    frame.assign(a=frame["a"] == "TRUE").to_parquet(typed)
    command = ["train", str(typed), "--target", "y", *PLAIN, "--json"]
    assert main(command) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["metrics"]["test"]["accuracy"] == 1
    assert shell.predict(run["id"], "a,n\nTRUE,1\nfalse,2\n")[0] == ["p", "q"]


def test_points_part_thousands_where_other_columns_have_decimal_commas(shell):
    frame = rows_of({"1.000": "small", "3.670": "big", "970": "small", "2.900": "big"})
    frame["n"] += ",5"
    run = shell.train(frame, delimiter=";")
    predicted = shell.predict(run, "a;n\n3.100;1,5\n3100;1,5\n1.010;1,5\n")[0]
    assert predicted == ["big", "big", "small"]


@pytest.mark.slow
def test_typed_columns_of_another_kind_are_refused(shell, tmp_path, capsys):
    new = tmp_path / "new.parquet"
    for cells, typed in [
        ({"5%": "p", "90%": "q"}, [0.05, 0.9]),
        ({"2021-01-31": "p", "2020-11-01": "q"}, [20210131, 20201101]),
        ({"1.5": "p", "7.5": "q"}, pd.to_datetime(["2020-01-31", "2021-01-31"])),
        ({"1.5": "p", "7.5": "q"}, [True, False]),
    ]:
        run = shell.train(rows_of(cells))
        pd.DataFrame({"a": typed, "n": [1, 2]}).to_parquet(new)
        assert main(["predict", run, str(new)]) == 2
        assert "but the training rows held" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["-999", "-999,00", "-999,0"])
def test_a_number_that_is_missing_is_so_however_it_is_written(shell, cell):
    frame = rows_of({"-999,0": "p", "1,5": "p", "2,5": "q"})
    run = shell.train(frame, "--missing", "a:-999,0", delimiter=";")
    _, said = shell.predict(run, f"a;n\n{cell};1\n2,5;1\n")
    assert f'Cells with "{cell}" count as missing' in said


def test_negative_numbers_come_back_as_they_came(shell, tmp_path):
    run = shell.train(rows_of({"-50,5": "p", "7,5": "q"}), delimiter=";")
    out = tmp_path / "out.csv"
    new = shell.file("new.csv", "a;n\n-50,5;1\n")
    assert main(["predict", run, new, "-o", str(out)]) == 0
    assert out.read_text().splitlines()[1].startswith('"-50,5",1,p')


def test_a_model_of_dates_in_a_frame_reads_dates_in_a_file():
    days = pd.Series(pd.date_range("2020-01-01", periods=60))
    y = np.where(days < "2020-02-01", "p", "q")
    model = CartClassifier(random_state=0).fit(pd.DataFrame({"when": days}), y)
    forms = forms_of_model(model.tree_)
    read = read_table(b"when\n2020-01-05\n2020-02-20\n", as_in=forms, one_column=True)
    assert model.tree_.predict(read.frame).tolist() == ["p", "q"]


@pytest.mark.parametrize("word", ["Øl", "Ñu", "it’s", "½ cup", "New  York"])
def test_a_word_alone_in_a_file_of_another_encoding_or_kind(
    shell, tmp_path, capsys, word
):
    run = shell.train(rows_of({word: "p", "other": "q"}))
    text = tmp_path / "new.csv"
    text.write_bytes(f"a,n\n{word},1\n".encode("cp1252"))
    book = tmp_path / "new.xlsx"
    pd.DataFrame({"a": [word], "n": [1]}).to_excel(book, index=False)
    for new in (text, book):
        assert main(["predict", run, str(new), "--columns", "table,prediction"]) == 0
        assert capsys.readouterr().out.splitlines()[1] == f"{word},1,p"


def workbook(rows: list[list]) -> bytes:
    """Write a workbook of these cells; text that begins with = is a formula's error."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(
        file, {"in_memory": True, "default_date_format": "d.m.yy"}
    )
    book.add_worksheet("empty")
    sheet = book.add_worksheet("cells")
    for i, row in enumerate(rows, start=1):
        for j, cell in enumerate(row, start=2):
            if isinstance(cell, str) and cell.startswith("="):
                sheet.write_formula(i, j, "=1/0", None, cell[1:])
            elif cell is not None:
                sheet.write(i, j, cell)
    book.close()
    return file.getvalue()


def test_errors_of_a_workbook_are_said(shell, tmp_path, capsys):
    run = shell.train(rows_of({"1": "p", "2": "p", "7": "q"}))
    new = tmp_path / "new.xlsx"
    new.write_bytes(workbook([["n", "a"], [1, "=#DIV/0!"], ["=#N/A", 7], [2, 1]]))
    out = tmp_path / "out.csv"
    assert main(["predict", run, str(new), "-o", str(out)]) == 0
    said = capsys.readouterr().err
    assert "Cells with \"#DIV/0!\" count as missing: 1 in 'a'." in said
    assert "Cells with \"#N/A\" count as missing: 1 in 'n'." in said
    assert [line.split(",")[:2] for line in out.read_text().splitlines()[1:]] == [
        ["1", "#DIV/0!"],
        ["#N/A", "7"],
        ["2", "1"],
    ]


def test_typed_cells_of_a_workbook_come_back_as_they_came():
    day = datetime(2020, 1, 31)
    rows = [["day", "sure", "id", "n"], [day, True, 1234567890123456, 1.5]]
    content = workbook([*rows, [None, False, 1234567890123457, 2]])
    read = read_table(content, as_in={"n": CellForm()})
    assert read.written["day"].dt.date.tolist()[0] == day.date()
    assert read.written["sure"].tolist() == [True, False]
    assert read.written["id"].tolist() == [1234567890123456, 1234567890123457]
    trained = read_table(content)
    assert trained.frame["id"].tolist() == ["1234567890123456", "1234567890123457"]
    assert trained.dates == ["day"]


def test_typed_columns_of_parquet_come_back_as_they_came():
    frame = pd.DataFrame(
        {
            "zone": pd.to_datetime(["2020-01-31", None]).tz_localize("Europe/Berlin"),
            "whole": pd.array([1, None], dtype="Int64"),
            "sure": pd.array([True, None], dtype="boolean"),
            "price": [Decimal("7.10"), None],
            "small": np.array([1, 2], dtype=np.int8),
            "n": [1.5, 2.0],
        }
    )
    cells = read_table(frame.to_parquet(), as_in={"n": CellForm()}).written
    pd.testing.assert_frame_equal(
        pd.read_parquet(io.BytesIO(cells.to_parquet())),
        pd.read_parquet(io.BytesIO(frame.to_parquet())),
    )
    assert cells.to_csv() == frame.to_csv()


def test_typed_dates_may_be_read_as_text(shell, tmp_path, capsys):
    frame = rows_of({"2021-01-31": "p", "2021-02-01": "q", "2021-02-02": "p"})
    typed = tmp_path / "typed.parquet"
    frame.assign(a=pd.to_datetime(frame["a"])).to_parquet(typed)
    command = ["train", str(typed), "--target", "y", *PLAIN, "--as-text"]
    assert main([*command, "a", "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["id"]
    (form,) = {f.form for f in RunStore().model(run).features if f.column == "a"}
    assert form.kind == "category"
    assert shell.predict(run, "a,n\n2021-02-01,1\n2021-02-02,1\n")[0] == ["q", "p"]
    assert main(["predict", run, str(typed), "--columns", "prediction"]) == 0
    assert capsys.readouterr().out.split()[1:] == frame["y"].tolist()
    days = frame.assign(a=pd.to_datetime(frame["a"]))
    assert RunStore().model(run).predict(days).tolist() == frame["y"].tolist()


def test_blank_lines_of_one_column_are_rows(shell):
    run = shell.train(rows_of({"1": "p", "2": "q"})[["a", "y"]])
    text = "a\n1\n\n2\n"
    assert len(shell.predict(run, text)[0]) == 3
    frame = read_table(text.encode(), as_in={"a": CellForm()}, one_column=True).frame
    np.testing.assert_array_equal(frame["a"], [1, np.nan, 2])


def test_one_column_with_decimal_commas_is_one_column(shell, tmp_path):
    frame = rows_of({"1,5": "p", "2,5": "q"})[["a", "y"]]
    run = shell.train(frame, delimiter=";")
    out = tmp_path / "out.csv"
    new = shell.file("new.csv", "a\n2,5\n1,5\n")
    assert main(["predict", run, new, "-o", str(out)]) == 0
    assert pd.read_csv(out)["prediction"].tolist() == ["q", "p"]


def test_row_names_that_may_be_values_are_refused(shell, capsys):
    run = shell.train(rows_of({"1": "p", "2": "q"}))
    new = shell.file("new.csv", "a,n,more\n1,2,5,\n")
    assert main(["predict", run, new]) == 2
    assert "the first may be the name of the row" in capsys.readouterr().err


def test_a_file_without_names_has_the_columns_of_training(shell, tmp_path, capsys):
    frame = rows_of({"1": "p", "2": "q"})[["y", "a", "n"]].assign(one="7")
    table = shell.file("t.csv", frame.to_csv(index=False, header=False))
    command = ["train", table, "--target", "column_1", *PLAIN, "--json"]
    assert main(command) == 0
    run = json.loads(capsys.readouterr().out)["id"]
    new = frame.to_csv(index=False, header=False)
    assert (
        main(["predict", run, shell.file("n.csv", new), "--columns", "prediction"]) == 0
    )
    assert capsys.readouterr().out.split()[1:] == frame["y"].tolist()
    new = frame.drop(columns="y").to_csv(index=False, header=False)
    assert main(["predict", run, shell.file("n.csv", new)]) == 2
    assert "there are 3 in place of the 4" in capsys.readouterr().err


def test_what_no_split_reads_is_said_and_refuses_nothing(shell, tmp_path, capsys):
    run = shell.train(rows_of({"1": "p", "2": "q"}))
    (tree,) = [RunStore().model(run)]
    assert tree.columns == ("a",)
    predicted, said = shell.predict(run, "a,n\n2,junk\n1,5\n")
    assert predicted == ["q", "p"]
    assert "'n' holds 'junk' in line 2" in said
    assert "no split of the model reads it" in said


def test_a_target_written_otherwise_is_not_scored_on_its_whole_numbers(shell):
    run = shell.train(rows_of({"1": "9.5", "2": "10"}))
    predicted, said = shell.predict(run, "a;n;y\n1;5;9,5\n2;5;10\n")
    assert predicted == [9.5, 10]
    assert "'y' holds '9,5' in line 2" in said
    assert "nothing is scored" in said


def test_explain_takes_what_predict_takes_of_a_file(shell, tmp_path, capsys):
    run = shell.train(rows_of({"none": "p", "mild": "q", "severe": "q"}))
    book = tmp_path / "two.xlsx"
    with pd.ExcelWriter(book) as file:
        for sheet, cell in (("one", "none"), ("two", "mild")):
            new = pd.DataFrame({"a": [cell], "n": [1]})
            new.to_excel(file, sheet_name=sheet, index=False)
    command = ["explain", run, "--table", str(book), "--row", "1"]
    for sheet, label in (("one", "p"), ("two", "q")):
        assert main([*command, "--sheet", sheet]) == 0
        assert capsys.readouterr().out.startswith(f"Prediction: {label}")


def test_numbers_with_a_unit_are_categories_where_a_person_says_so(shell):
    frame = rows_of({"7 kg": "p", "8 kg": "q", "9 kg": "p"})
    run = shell.train(frame, "--kind", "a:category")
    assert shell.predict(run, "a,n\n8 kg,1\n9 kg,1\n")[0] == ["q", "p"]


def test_a_column_of_numbers_with_a_few_words_is_numbers_where_a_person_says_so(shell):
    frame = rows_of({f"{k / 2:.1f}": "low" if k < 9 else "high" for k in range(20)})
    frame.loc[[3, 40], "a"] = "spilt"
    frame["id"] = [f"k{k}" for k in range(len(frame))]  # left out, unless one says so
    run = shell.train(frame, "--kind", "a:number", "--kind", "id:category")
    assert RunStore().run(run).problem.columns == ("a", "n", "id")
    run = shell.train(frame, "--kind", "a:number")
    new = "a,n,memo\n4.1,1,1\n4.6,1,2\nspilt,1,oh\n"
    predicted, notes = shell.predict(run, new)
    assert predicted[:2] == ["low", "high"]
    assert "'oh' on line 4. Correct them, or leave them empty." in notes
    assert "kind" not in notes  # the model's are fixed


def test_whole_numbers_beside_decimal_commas_have_these_later(shell, capsys):
    frame = rows_of({"8159": "big", "2494": "small", "7000": "big", "1000": "small"})
    frame["n"] += ",5"
    run = shell.train(frame, delimiter=";")
    assert shell.predict(run, "a;n\n8159,0;1,5\n2494;1,5\n")[0] == ["big", "small"]
    new = shell.file("new.csv", "a;n\n8.159;1,5\n")
    assert main(["predict", run, new]) == 2
    assert "held numbers with decimal commas" in capsys.readouterr().err
    frame["n"] = "7"  # no column shows the sign
    run = shell.train(frame, delimiter=";")
    assert shell.predict(run, "a;n\n8159.0;1\n")[0] == ["big"]


def test_a_decimal_sign_that_is_named_is_not_that_of_the_training_rows(shell, capsys):
    run = shell.train(rows_of({"7.9": "big", "4.1": "big", "1.2": "small"}))
    assert shell.predict(run, "a;n\n7,9;1\n1,2;1\n", "--decimal", ",")[0] == [
        "big",
        "small",
    ]
    new = shell.file("new.csv", "a;n\n7.9;1\n")
    assert main(["predict", run, new, "--decimal", ","]) == 2
    said = capsys.readouterr().err
    assert "holds '7.9' in line 2, which is no number with decimal commas" in said
    assert "training rows" not in said


def test_cells_that_a_column_made_numbers_cannot_read_are_told(shell):
    cells = {"7.9": "big", "4.1": "big", "1.2": "small", "lost": "small"}
    run = shell.train(rows_of(cells), "--kind", "a:number")
    _, said = shell.predict(run, "a;n\n7,9;1\n1,2;1\n3.3;1\n")
    assert (
        "Column 'a' holds '7,9' and '1,2' in 2 rows, which the model does not read as "
        "numbers: they count as missing." in said
    )
    assert "missing" not in shell.predict(run, "a,n\n7.9,1\n1.2,1\n")[1]


def test_a_decimal_sign_that_is_named_reads_columns_made_numbers(shell):
    cells = {"7.9": "big", "4.1": "big", "1.2": "small", "lost": "small"}
    run = shell.train(rows_of(cells), "--kind", "a:number")
    table = "a;n\n7,9;1\n1,2;1\n3.3;1\n"
    found, said = shell.predict(run, table, "--decimal", ",")
    assert found[:2] == ["big", "small"]
    assert "Column 'a' holds '3.3' in 1 row" in said
