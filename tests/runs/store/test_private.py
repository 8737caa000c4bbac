"""Only the owner of the data folder reads what is in it."""

import os
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from tests.runs.conftest import problem_in
from tests.runs.store.test_run_store import grown_tree, running
from treelab.runs.jobs.run_one import train
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.queue import Queue

ROOT = Path(__file__).parents[3]


def mode(path: Path) -> int:
    """Who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    """An account that lets everybody read what it makes."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_no_other_account_reads_the_data_folder(tmp_path, open_umask, monkeypatch):
    home = tmp_path / "home"
    store = RunStore(home)
    problem = problem_in(store)
    run_id = running(store, problem)
    store.add_snapshot(run_id, 1, grown_tree())
    store.add_model(run_id, grown_tree())
    failed = running(store, problem, "cart")
    monkeypatch.setattr("treelab.runs.jobs.run_one.fit_learner", None)
    assert train(store, failed) == "failed"
    monkeypatch.setenv("TREELAB_SLOTS", "1")
    pool = Queue(store, [sys.executable, "-c", ""])
    pool.ensure_workers()
    pool.shut_down(1)
    assert mode(home) == 0o700
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {
        *(".sqlite", ".lock", ".parquet", ".json", ".safetensors", ".txt", ".log")
    }
    assert {path.name: mode(path) for path in files if mode(path) != 0o600} == {}


def test_a_folder_that_was_there_keeps_its_mode(tmp_path):
    before = mode(tmp_path)
    RunStore(tmp_path)
    assert mode(tmp_path) == before


def test_the_app_listens_on_this_machine_alone():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    assert config["server"]["address"] == "localhost"
