"""The soak finds what is lost, and nothing is."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.soak import KILLS, Ledger, planned
from tests.runs.conftest import problem_in
from treelab.runs.jobs.run_one import run_one
from treelab.runs.store.run_store import RunStore


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "home")


@pytest.fixture
def finished(store):
    """A finished run, and the ledger that remembers it."""
    run_id = store.create("cart", {"tune": False}, problem_in(store))
    assert run_one(run_id, store.home) == "done"
    ledger = Ledger(store)
    ledger.add_run(run_id)
    assert ledger.losses() == []
    return run_id, ledger


def test_what_is_lost_is_named(store, finished):
    run_id, ledger = finished
    store.set_title(run_id, "another")
    assert ledger.losses() == [f"run {run_id} is different"]
    (store.home / "tables" / f"{store.tables()[0].id}.parquet").write_bytes(b"")
    assert len(ledger.losses()) == 2
    store.delete(run_id)
    assert "There is no run" in ledger.losses()[0]


def test_each_kill_comes_as_often_and_the_order_is_drawn():
    names = planned(30, seed=1)
    assert {names.count(kill) for kill in KILLS} == {10}
    assert names == planned(30, seed=1) != planned(30, seed=2)


@pytest.mark.slow
@pytest.mark.timeout(590)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_short_soak_loses_nothing(tmp_path):
    out = tmp_path / "soak.json"
    command = [sys.executable, "-m", "benchmarks", "soak", "--kills", "1"]
    command += ["--learners", "argmin"]  # is done soonest
    ended = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, timeout=580
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    happened = json.loads(out.read_text())
    troubles = {row["trouble"] for row in happened}
    assert troubles >= {"both killed", "event rows damaged"}
