"""DuckDB files: a table or a SELECT is read, and nothing else is done."""

import errno
import os
import sys
from pathlib import Path

import pytest

from treelab.data.reading.formats.duckdb_process import as_parquet
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import ChoiceError, TableError

duckdb = pytest.importorskip("duckdb")

MAKE = """
CREATE TABLE people (name TEXT, age INT, born DATE, cost DECIMAL(9, 2), mood
    ENUM('good', 'bad'), photo BLOB, waited INTERVAL);
INSERT INTO people VALUES
    ('Ann', 31, '1990-01-01', 1.25, 'good', 'x', INTERVAL 1 DAY),
    ('Bob', NULL, NULL, NULL, NULL, NULL, NULL);
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A database with a table."""
    path = tmp_path_factory.mktemp("duckdb") / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(MAKE)
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A database with two tables, one in a schema, and a view of another file."""
    path = tmp_path_factory.mktemp("duckdb") / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            'CREATE SCHEMA s; CREATE TABLE s."a ""b""" AS SELECT 1 AS x, 2 AS y; '
            "CREATE TABLE k AS SELECT 1 AS x, 2 AS y;"
            f"CREATE VIEW v AS SELECT * FROM read_text('{__file__}')"
        )
    return path


def read(path, sheet=None, query=None, seconds=20):
    """The table of a file, read in this process."""
    about, written = as_parquet(path.read_bytes(), "t", sheet, query, seconds)
    found = read_table(written, "t", one_column=True)
    return found.frame.to_dict("list"), [*about["notes"], *found.notes]


def test_the_only_table_is_read_with_the_kinds_of_its_columns(path):
    result = read_table(path)
    frame = result.frame
    assert list(frame.columns) == ["name", "age", "born", "cost", "mood"]
    assert frame["name"].tolist() == ["Ann", "Bob"]
    assert frame["age"].isna().tolist() == [False, True]
    assert frame["cost"].tolist()[0] == 1.25
    assert frame["mood"].tolist()[0] == "good"
    assert result.dates == ["born"]
    notes = "\n".join(result.notes)
    assert "'photo' is left out" in notes
    assert "'waited' is left out: it holds spans of time" in notes


def test_one_of_several_tables_is_chosen_or_a_select_is_run(path, several):
    with pytest.raises(ChoiceError, match="3 tables") as caught:
        read(several)
    assert caught.value.choices == ["k", "v", 's.a "b"']
    assert read(several, sheet='s.a "b"')[0] == {"x": [1], "y": [2]}
    query = "WITH p AS (FROM people) SELECT sum(age) AS s, count(*) AS n FROM p"
    assert read(path, query=query)[0] == {"s": [31], "n": [2]}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DROP TABLE people", "only one SELECT is run"),
        ("ATTACH 'other.db' AS other", "only one SELECT is run"),
        ("COPY people TO 'people.csv'", "only one SELECT is run"),
        ("SET threads = 9", "only one SELECT is run"),
        ("INSTALL httpfs", "only one SELECT is run"),
        ("SELECT 1 AS a, 2 AS b; SELECT 1", "only one SELECT is run"),
        (f"SELECT * FROM read_text('{__file__}')", "reads this database alone"),
        (f"SELECT * FROM '{__file__}'", "does not exist"),
        ("SELECT * FROM glob('/*')", "reads this database alone"),
        ("SELECT * FROM MAKE", "does not exist"),  # Python's variables are no tables
        ("SELECT nobody FROM people", "not found"),
        ("SELECT name::INT AS n, age FROM people", "Conversion Error"),
        ("SELECT name, name FROM people", "two columns 'name'"),
        ("SELECT name, age FROM people WHERE age > 99", "gives no rows"),
        ("SELECT waited FROM people", "no column of numbers or text"),
        ("", "only one SELECT is run"),
    ],
)
def test_what_is_no_select_of_this_file_is_refused(path, query, words, tmp_path):
    before = path.read_bytes()
    with pytest.raises(TableError, match="t") as caught:
        read(path, query=query)
    assert words in str(caught.value)
    assert path.read_bytes() == before


def test_a_view_of_another_file_is_refused(several):
    with pytest.raises(TableError, match="reads this database alone"):
        read(several, sheet="v")


def test_a_query_that_does_not_end_is_broken_off(path):
    endless = (
        "SELECT sum(a * b) AS s, 1 AS n FROM range(10000000) s(a), range(100000) t(b)"
    )
    with pytest.raises(TableError, match=r"more than 0\.3 s"):
        read(path, query=endless, seconds=0.3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds its memory")
def test_a_query_that_needs_all_memory_is_refused(path):
    with pytest.raises(TableError, match="400MB of memory"):
        read_table(
            path,
            query="SELECT a, a + 1 AS b FROM range(1000000000) t(a) ORDER BY random()",
        )


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "is full"), (errno.EACCES, "cannot be written")],
)
def test_a_disk_without_room_for_a_copy_is_told(path, monkeypatch, number, words):
    def refuse(self, content):
        raise OSError(number, os.strerror(number))

    content = path.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(TableError, match=words) as caught:
        as_parquet(content, "t.duckdb", None, None, 20)
    assert "TMPDIR" in str(caught.value)


@pytest.mark.parametrize("damage", ["cut off", "overwritten", "header only"])
def test_a_damaged_database_is_refused(path, damage):
    content = path.read_bytes()
    damaged = {
        "cut off": content[: len(content) // 2],
        "overwritten": content[:4096] + b"\xff" * (len(content) - 4096),
        "header only": content[:100],
    }[damage]
    with pytest.raises(TableError, match="damaged, cut off"):
        read_table(damaged, "t.duckdb")


def test_without_the_package_it_says_what_to_install(path, monkeypatch):
    from treelab.data.reading import read_table as reader

    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    with pytest.raises(TableError, match="pip install duckdb"):
        read_table(path)


def test_a_text_with_these_letters_is_no_database():
    assert read_table(b"a,b,c,d\nDUCK,1,2,3\nGOOS,4,5,6\n").frame["b"].tolist() == [
        1,
        4,
    ]
