"""Databases for the tests of exported SQL."""

import pytest

from tests.runs.store import postgres
from tests.trees.code import engines


@pytest.fixture(scope="session")
def postgresql():
    """Address of a PostgreSQL server."""
    with postgres.started() as url:
        yield url


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def engine(request) -> engines.Engine:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return engines.Sqlite()
    if request.param == "duckdb":
        return engines.DuckDb()
    return engines.PostgreSql(request.getfixturevalue("postgresql"))
