"""SQLite databases: a table or a SELECT is read, and nothing else is done."""

import sqlite3

import pytest

from treelab.data.reading.formats import sqlite
from treelab.data.reading.read_table import read_table
from treelab.data.reading.table_error import ChoiceError, TableError

MAKE = """
CREATE TABLE people (name TEXT, age INT, born TEXT, photo BLOB);
INSERT INTO people VALUES ('Ann', 31, '1990-01-01', x'00'), ('Bob', NULL, NULL, NULL);
"""


@pytest.fixture
def path(tmp_path):
    """A database with a table, and a journal that was closed."""
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(MAKE)
    connection.close()
    return path


def test_the_only_table_is_read(path):
    result = read_table(path)
    assert result.frame["name"].tolist() == ["Ann", "Bob"]
    assert result.frame["age"].isna().tolist() == [False, True]
    assert result.dates == ["born"]


def test_one_of_several_tables_is_chosen_or_a_select_is_run(path):
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE VIEW "a ""b"" " AS SELECT name, age + 1 FROM people')
    connection.close()
    with pytest.raises(ChoiceError, match="2 tables") as caught:
        read_table(path)
    assert caught.value.choices == ['a "b" ', "people"]
    assert read_table(path, sheet='a "b" ').frame.shape == (2, 2)
    query = "WITH p AS (SELECT * FROM people) SELECT name, upper(name) AS u FROM p"
    assert read_table(path, query=query).frame["u"].tolist() == ["ANN", "BOB"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DROP TABLE people", "only one SELECT is run"),
        ("ATTACH 'other.db' AS other", "only one SELECT is run"),
        ("PRAGMA query_only = OFF", "only one SELECT is run"),
        ("SELECT 1 AS a, 2 AS b; SELECT 1", "one statement at a time"),
        ("SELECT nobody FROM people", "no such column"),
        ("SELECT name, name FROM people", "two columns 'name'"),
        ("SELECT name, age FROM people WHERE age > 99", "gives no rows"),
        ("SELECT 1 AS a, zeroblob(1000000000) AS b", "too big"),
        ("", "gives no rows"),
    ],
)
def test_what_is_no_select_is_refused_and_changes_nothing(path, query, words):
    before = path.read_bytes()
    with pytest.raises(TableError, match="t") as caught:
        read_table(path, query=query)
    assert words in str(caught.value)
    assert path.read_bytes() == before


def test_a_query_that_does_not_end_is_broken_off(path, monkeypatch):
    monkeypatch.setattr(sqlite, "MOST_SECONDS", 0.05)
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "
    with pytest.raises(TableError, match=r"more than 0\.05 s"):
        read_table(path, query=endless + "SELECT max(n) AS n, 1 AS m FROM c")


def test_a_damaged_database_is_refused(path):
    content = path.read_bytes()
    for damaged in (content[:1000], content[:100] + b"\xff" * (len(content) - 100)):
        with pytest.raises(TableError, match="damaged or cut off"):
            read_table(damaged, "t.db")
