"""Commands in a shell, whose runs train on a Dask cluster of two workers."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from benchmarks.contenders import Contender, Outcome
from benchmarks.runner import Results, measure
from benchmarks.tables import read_manifest
from tests.runs.conftest import small_table
from tests.runs.workers.cluster.local_cluster import LocalCluster, wait
from tests.served_app import ROOT, free_port
from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="a command is ended by a signal"),
]
distributed = pytest.importorskip("distributed")

QUICK = ["--set", "n_steps=30", "--set", "n_restarts=2", "--set", "max_leaf_nodes=8"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers."""
    found = LocalCluster(tmp_path_factory.mktemp("dask"))
    for name in ("one", "two"):
        found.ensure_worker(name)
    with distributed.Client(found.address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    yield found
    found.close()


@pytest.fixture
def start(cluster, on_server, tmp_path):
    """Start a command on a small table; return its process and its store."""
    table = tmp_path / "small.csv"
    small_table().to_csv(table, index=False)
    store = RunStore(tmp_path / "home")
    here = {"TREELAB_CLUSTER": cluster.address, "TREELAB_HOME": str(store.home)}

    def begin(command: str, *arguments: str) -> tuple[subprocess.Popen, RunStore]:
        named = [command, str(table), "--target", "kind", *arguments]
        process = subprocess.Popen(
            [sys.executable, "-m", "treelab", *named],
            cwd=ROOT,
            env=os.environ | here,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return process, store

    return begin


def ended(process: subprocess.Popen) -> str:
    """Wait for a command that ends well and trained there; return what it printed."""
    out, errors = process.communicate(timeout=200)
    assert process.returncode == 0, out + errors
    assert "Training on the Dask cluster at tcp://" in errors
    assert "2 workers" in errors
    return out


def trained_there(store: RunStore) -> list[str]:
    """The states of the runs, all of which a worker of the cluster trained."""
    runs = store.runs()
    assert all(" of " in run.summary["device"] for run in runs)
    return [run.state for run in runs]


def test_folds_train_on_the_cluster(start):
    process, store = start("train", "--learner", "gradtree", *QUICK, "--folds", "3")
    printed = ended(process)
    assert "mean" in printed
    assert trained_there(store) == ["done"] * 3


def test_a_sweep_tries_and_trains_on_the_cluster(start):
    process, store = start(
        *("sweep", "--learner", "gradtree", *QUICK, "--preset", "none"),
        *("--space", "max_depth=2,3,4", "--trials", "4", "--json"),
    )
    found = json.loads(ended(process))
    assert {trial["state"] for trial in found["trials"]} <= {"done", "pruned"}
    assert len(found["trials"]) == 4
    assert trained_there(store) == ["done"]


def test_ctrl_c_stops_the_run_there(start):
    long = ["--set", "n_steps=4000", "--set", "max_leaf_nodes=8"]  # reports each 400
    process, store = start("train", "--learner", "gradtree", *long)
    wait(lambda: [run for run in store.runs() if run.epoch > 0], "a report")
    process.send_signal(signal.SIGINT)
    ended(process)
    assert trained_there(store) == ["stopped"]


def test_without_a_scheduler_no_run_is_made(on_server, tmp_path, monkeypatch, capsys):
    table, home = tmp_path / "small.csv", tmp_path / "home"
    small_table().to_csv(table, index=False)
    monkeypatch.setenv("TREELAB_CLUSTER", f"tcp://127.0.0.1:{free_port()}")
    monkeypatch.setattr("treelab.runs.workers.cluster.CONNECT_SECONDS", 1)
    command = ["train", str(table), "--target", "kind", "--home", str(home)]
    assert main(command) == 2
    assert "No Dask scheduler answers" in capsys.readouterr().err
    assert RunStore(home).runs() == []


def test_fits_of_a_benchmark_go_to_both_workers(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_CLUSTER", cluster.address)
    table = pd.DataFrame({"x": np.arange(60.0), "y": np.tile(["no", "yes"], 30)})
    table.to_csv(tmp_path / "one.csv", index=False)
    fact = {"name": "one", "file": "one.csv", "target": "y", "task": "binary"}
    fact |= {"categorical": [], "papers": [], "reference": {}}
    (tmp_path / "manifest.json").write_text(json.dumps([fact]))

    def place(X, y, X_test, task, seed):
        time.sleep(0.3)
        own = distributed.get_worker().name
        return Outcome(np.full(len(X_test), "yes"), 1, facts={"one": own == "one"})

    def fails(X, y, X_test, task, seed):
        raise RuntimeError("out of luck")

    results = Results(tmp_path / "results.jsonl")
    fits = {"place": place, "again": place, "fails": fails}
    contenders = [Contender(name, fit) for name, fit in fits.items()]
    tables = read_manifest(tmp_path)
    measure(tables, contenders, results, protocol="random", trials=4)
    found = results.frame()
    assert len(found) == 12
    assert set(found["one"].dropna()) == {True, False}
    errors = found.loc[found["contender"] == "fails", "error"]
    assert errors.str.contains("out of luck").all()
