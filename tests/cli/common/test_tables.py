"""What of a file a command reads: the sheet, the line of the header, a query."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from tests.data.reading.formats.workbooks import sheet_xml, xlsx
from treelab.cli.main import build_parser
from treelab.cli.tables import read_problem


def test_a_sheet_and_the_row_of_its_header_are_chosen(home, tmp_path, refused, capsys):
    rows = [["x", "y"], ["size", "kind"], *([i % 7, "ab"[i % 2]] for i in range(40))]
    book = tmp_path / "book.xlsx"
    book.write_bytes(xlsx(A=sheet_xml(rows), B=sheet_xml(rows[1:])))
    train = ["train", str(book), "--target", "kind"]
    assert "2 sheets: 'A', 'B'. Choose one" in refused(*train)
    chosen = [*train, "--sheet", "A", "--header", "2"]
    frame, problem = read_problem(build_parser().parse_args(chosen))
    assert list(frame.columns) == ["size", "kind"]
    assert problem.target == "kind"
    assert "The sheet 'A' was read" in capsys.readouterr().err


def test_a_test_file_has_a_sheet_and_a_header_of_its_own(home, tmp_path, refused):
    rows = [["x", "y"], ["size", "kind"], *([i % 7, "ab"[i % 2]] for i in range(40))]
    book = tmp_path / "book.xlsx"
    book.write_bytes(xlsx(A=sheet_xml(rows[1:]), B=sheet_xml(rows[:12])))
    train = ["train", str(book), "--target", "kind", "--sheet", "A"]
    assert "of a test file with --test-sheet" in refused(
        *train, "--test-file", str(book)
    )
    chosen = ["--test-file", str(book), "--test-sheet", "B", "--test-header", "2"]
    frame, problem = read_problem(build_parser().parse_args([*train, *chosen]))
    assert problem.split(frame).n_rows("test") == 10
    for option in (["--test-sheet", "B"], ["--test-header", "0"]):
        assert "are of --test-file" in refused(*train, *option)


def test_a_query_is_run_on_a_database(home, tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (size INT, kind TEXT)")
        rows = [(i % 7, "ab"[i % 2]) for i in range(60)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    query = ["--query", "SELECT * FROM t WHERE size < 4", "--target", "kind"]
    frame, _ = read_problem(build_parser().parse_args(["train", str(path), *query]))
    assert len(frame) == 36
    query_of_test = "SELECT * FROM t WHERE size > 3"
    tested = ["--test-file", str(path), "--test-query", query_of_test]
    given = build_parser().parse_args(["train", str(path), *query, *tested])
    frame, problem = read_problem(given)
    assert problem.split(frame).n_rows("test") == 24


def test_columns_that_are_named_are_not_predicted_from(tmp_path):
    path = tmp_path / "t.csv"
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(40, 3)), columns=["a", "b", "y"])
    table.to_csv(path, index=False)
    command = ["train", str(path), "--target", "y", "--learner", "cart"]

    def columns(*without):
        given = [part for name in without for part in ("--without", name)]
        return read_problem(build_parser().parse_args([*command, *given]))[1].columns

    assert columns("b") == ("a",)
    with pytest.raises(ValueError, match="has no column 'c'; it has 'a'"):
        columns("c")
    with pytest.raises(ValueError, match="column"):
        columns("a", "b")
    with pytest.raises(ValueError, match="leaves 'y' out, which is the target"):
        columns("y")
