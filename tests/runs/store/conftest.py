"""Each test of the store, on SQLite and on PostgreSQL."""

import itertools

import pytest
from sqlalchemy import create_engine, text

from tests.runs.store import postgres
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    """Address of a PostgreSQL server."""
    with postgres.started() as url:
        yield url


@pytest.fixture
def on_server(server, monkeypatch):
    """A schema of its own on the server, which ``TREELAB_STORE`` names."""
    name = f"test{next(_numbers)}"
    engine = create_engine(server.replace("://", "+psycopg://"))
    with engine.begin() as db:
        db.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    url = f"{server}&options=-csearch_path%3D{name}"
    monkeypatch.setenv("TREELAB_STORE", url)
    yield url
    Server(url).engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """An empty run store."""
    if request.param == "postgresql":
        request.getfixturevalue("on_server")
    return RunStore(tmp_path / "home")
