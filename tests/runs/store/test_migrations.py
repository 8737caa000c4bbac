"""A database of an older schema is brought to ours: whole, once, or not at all."""

import sqlite3

import pytest

from treelab.runs.store import database
from treelab.runs.store.database import StoreError, read_version, reading
from treelab.runs.store.run_store import RunStore

VERSION_1 = """
CREATE TABLE tables (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, n_rows INTEGER NOT NULL,
    n_columns INTEGER NOT NULL, created REAL NOT NULL
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, learner TEXT NOT NULL,
    settings TEXT NOT NULL, problem TEXT NOT NULL, device TEXT NOT NULL,
    priority INTEGER NOT NULL, submitted INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'queued',
    created REAL NOT NULL, started REAL, finished REAL,
    epoch REAL NOT NULL DEFAULT 0, max_epochs INTEGER NOT NULL DEFAULT 0,
    stage TEXT NOT NULL DEFAULT '',
    metrics TEXT NOT NULL DEFAULT '{}', summary TEXT NOT NULL DEFAULT '{}',
    error TEXT NOT NULL DEFAULT '', has_model INTEGER NOT NULL DEFAULT 0,
    stop_requested INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0,
    owner TEXT, heartbeat REAL
);
CREATE INDEX runs_by_state ON runs (state, priority, created);
CREATE TABLE events (
    number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, epoch REAL NOT NULL,
    train_loss REAL, valid_loss REAL, metric REAL, seconds REAL, stage TEXT
);
CREATE INDEX events_by_run ON events (run_id, number);
CREATE TABLE workers (
    slot TEXT PRIMARY KEY, process TEXT NOT NULL, state TEXT NOT NULL,
    device_name TEXT NOT NULL DEFAULT '', started REAL NOT NULL,
    heartbeat REAL NOT NULL, failures INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE apps (process TEXT PRIMARY KEY);
INSERT INTO runs (id, title, learner, settings, problem, device, priority, state,
    created) VALUES ('cart-a', 'mine', 'cart', '{}',
    '{"table_id": "t", "table_name": "small", "target": "kind",
      "columns": ["size"], "task": "binary"}', 'auto', 0, 'done', 1.0);
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path):
    """The file of a store as version 1 wrote it, with a run."""
    path = tmp_path / "treelab.sqlite"
    db = sqlite3.connect(path)
    db.executescript(VERSION_1)
    db.close()
    return path


def version(path) -> int:
    with reading(path) as db:
        return read_version(db)


def test_a_store_of_version_1_opens_with_its_runs(old):
    (run,) = RunStore(old.parent).runs()
    assert (run.title, run.repeat_of) == ("mine", "")
    assert version(old) == len(database.STEPS)


def test_missing_steps_run_once_and_in_order(old, monkeypatch):
    n_steps = len(database.STEPS)
    add_note = "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'the run '"
    fill_note = "UPDATE runs SET note = note || title"
    steps = (*database.STEPS, add_note)
    monkeypatch.setattr(database, "STEPS", steps)
    RunStore(old.parent)
    monkeypatch.setattr(database, "STEPS", (*steps, fill_note))
    RunStore(old.parent)
    store = RunStore(old.parent)
    assert version(old) == n_steps + 2
    assert [run.title for run in store.runs()] == ["mine"]
    with reading(old) as db:
        assert db.execute("SELECT note FROM runs").fetchone()["note"] == "the run mine"


def test_a_step_that_fails_changes_nothing(old, monkeypatch):
    break_down = "ALTER TABLE runs ADD COLUMN note TEXT; UPDATE runs SET absent = 1"
    monkeypatch.setattr(database, "STEPS", (database.STEPS[0], break_down))
    with pytest.raises(StoreError, match="no such column"):
        RunStore(old.parent)
    assert version(old) == 1
    monkeypatch.undo()
    assert [run.title for run in RunStore(old.parent).runs()] == ["mine"]


def test_a_newer_store_is_refused(old, monkeypatch):
    monkeypatch.setattr(database, "STEPS", (*database.STEPS, ""))
    RunStore(old.parent)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="newer treelab"):
        RunStore(old.parent)
