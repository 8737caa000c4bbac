"""Real databases that compute an exported expression for each row of a table."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pytest


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


class Engine(ABC):
    """One kind of database."""

    types: ClassVar[dict[str, str]] = {  # what it calls a column of each kind
        "double": "DOUBLE PRECISION",
        "float": "REAL",
        "whole": "BIGINT",
        "decimal": "NUMERIC(30, 10)",
        "text": "VARCHAR",
        "flag": "BOOLEAN",
        "day": "DATE",
        "moment": "TIMESTAMP",
    }
    mark = "?"

    def select(
        self, expression: str, columns: dict[str, tuple[str, Sequence]], more: str = ""
    ) -> list:
        """Compute an expression for each row.

        Parameters
        ----------
        expression : str
        columns : dict of str to (str, sequence)
            The type and the cells of each column.
        more : str
            What stands behind ``FROM "rows"``.
        """
        types = [f"{quoted(name)} {self.types[t]}" for name, (t, _) in columns.items()]
        rows = [
            (place, *cells)
            for place, cells in enumerate(
                zip(*(cells for _, cells in columns.values()))
            )
        ]
        marks = ", ".join([self.mark] * (len(columns) + 1))
        return self.run(
            f'CREATE TABLE "rows" ({", ".join(["place INTEGER", *types])})',
            f'INSERT INTO "rows" VALUES ({marks})',
            rows,
            f'SELECT {expression} FROM "rows" {more or "ORDER BY place"}',
        )

    @abstractmethod
    def run(self, create: str, insert: str, rows: list, select: str) -> list:
        """Make a new table and return the first column of a query."""


class Sqlite(Engine):
    """It keeps NaN as NULL, and text in a column of numbers."""

    types: ClassVar = Engine.types | {"none": ""}

    def run(self, create: str, insert: str, rows: list, select: str) -> list:
        database = sqlite3.connect(":memory:")
        database.execute(create)
        database.executemany(insert, rows)
        return [found for (found,) in database.execute(select)]


class DuckDb(Engine):
    def run(self, create: str, insert: str, rows: list, select: str) -> list:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as database:
            database.execute(create)
            # All rows at once: one by one they take longer than the query.
            head, marks = insert.split("VALUES ")
            every = f"{head}VALUES {', '.join([marks] * len(rows))}"
            database.execute(every, [cell for cells in rows for cell in cells])
            return [found for (found,) in database.sql(select).fetchall()]


class PostgreSql(Engine):
    mark = "%s"

    def __init__(self, url: str):
        self.url = url

    def run(self, create: str, insert: str, rows: list, select: str) -> list:
        import psycopg

        with psycopg.connect(self.url) as database:
            # Gone with the connection.
            database.execute(create.replace("CREATE", "CREATE TEMPORARY", 1))
            with database.cursor() as cursor:
                cursor.executemany(insert, rows)
            return [found for (found,) in database.execute(select).fetchall()]
