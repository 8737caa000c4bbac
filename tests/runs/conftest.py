"""A run store with a small table, the slow tree among the learners, a server."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, text

from tests.runs.store import postgres
from tests.runs.workers.slow_tree import SPEC
from treelab.data.problem import Problem
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.runs.store.states import TRAINER_ENDED
from treelab.runs.store.workers import ProcessId

_numbers = itertools.count()


def small_table(n_rows: int = 120) -> pd.DataFrame:
    """Numbers, categories and missing values, and two classes."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=n_rows)
    color = rng.choice(["red", "green", "blue"], n_rows)
    kind = np.where((size > 0) == (color == "red"), "yes", "no")
    size[::11] = np.nan
    return pd.DataFrame({"size": size, "color": color, "kind": kind})


def problem_in(store: RunStore) -> Problem:
    """Predict the small table's ``kind``."""
    table_id = store.add_table(small_table(), "small")
    return Problem(table_id, "small", "kind", ("size", "color"), task="binary")


def taken_up(store, run_id):
    """Let another process take up a run, whose own was taken for dead."""
    assert store.finish(run_id, "interrupted", error=TRAINER_ENDED)
    assert store.resume(run_id)
    assert store.start(run_id, ProcessId("elsewhere", 1, 1.0))


@pytest.fixture(autouse=True)
def slow_tree(monkeypatch):
    """The slow tree, for the length of a test."""
    monkeypatch.setitem(LEARNERS, SPEC.key, SPEC)


@pytest.fixture
def store(tmp_path):
    """An empty run store."""
    return RunStore(tmp_path / "home")


@pytest.fixture
def problem(store):
    """A problem whose table is in the store."""
    return problem_in(store)


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
