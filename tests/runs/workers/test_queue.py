"""The queue hands runs to the workers of this machine, or to a cluster."""

import sys
import time

import pytest

from tests.runs.conftest import problem_in, small_table
from tests.runs.workers.test_worker_pool import BROKEN
from treelab.cli.main import main
from treelab.runs.store import workers as process
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.runs.workers.queue import Queue, planned_slots
from treelab.training.events import Progress


def test_no_slot_means_no_worker(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem)
    queue.submit(run_id)
    queue.check()
    assert queue.workers() == []
    assert queue.position(run_id) == 1


def test_a_run_that_waits_knows_when_it_begins_at_the_latest(
    store, problem, monkeypatch
):
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    queue = Queue(store, command=BROKEN)
    store.worker_registry.register("cpu:0", ProcessId.here())
    runs, next_one, later = (store.create("slow", {}, problem) for _ in range(3))
    for run_id in (runs, next_one, later):
        queue.submit(run_id)
    store.start(runs, ProcessId.here())
    assert queue.expected_start(next_one) is None  # nothing reported yet
    now = time.time()
    with monkeypatch.context() as before:
        before.setattr("treelab.runs.store.events.time.time", lambda: now - 10)
        store.add_events(runs, [Progress(0, 100, 1.0, 1.0, 0.0)])
    store.add_events(runs, [Progress(50, 100, 1.0, 1.0, 10.0)])
    assert queue.expected_start(next_one) == pytest.approx(10, abs=2)
    assert queue.expected_start(later) is None
    assert queue.expected_start(runs) is None


def test_a_missing_dask_is_a_sentence(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[cluster\]\""):
        Queue(store).submit(store.create("slow", {}, problem))


def test_a_store_that_other_machines_do_not_see_is_a_sentence(
    store, problem, monkeypatch, capsys
):
    pytest.importorskip("distributed")
    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem)
    words = "set TREELAB_STORE to the address of a PostgreSQL database"
    with pytest.raises(ValueError, match=words):
        queue.submit(run_id)
    assert words in queue.startup_error()
    queue.check()
    assert queue.workers() == store.queued() == []
    home = str(store.home)
    assert main(["worker", "--slot", "cluster", "--home", home]) == 2
    assert words in capsys.readouterr().err
    frame, table = small_table(), store.home / "small.csv"
    frame.to_csv(table, index=False)
    assert main(["train", str(table), "--target", "kind", "--home", home]) == 2
    assert words in capsys.readouterr().err


def test_with_a_cluster_the_one_worker_here_hands_runs_on(
    on_server, tmp_path, monkeypatch
):
    pytest.importorskip("distributed")
    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    assert planned_slots() == ["cluster"]
    monkeypatch.setattr(Queue, "ensure_workers", lambda _: None)
    store = RunStore(tmp_path)
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem_in(store))
    queue.submit(run_id)
    assert store.queued() == [run_id]
    assert queue.device() == "Dask cluster at tcp://somewhere:8786"
    store.start(run_id, ProcessId.here())
    here = ProcessId.here().host
    assert store.run(run_id).machine == ""
    monkeypatch.setattr(process.socket, "gethostname", lambda: "other")
    assert store.run(run_id).machine == here


def test_a_cluster_that_cannot_train_is_a_sentence_on_the_page(
    on_server, tmp_path, monkeypatch
):
    pytest.importorskip("distributed")
    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    store = RunStore(tmp_path)
    queue, registry = Queue(store, command=BROKEN), store.worker_registry
    registry.register("cluster", ProcessId.here())
    registry.heartbeat("cluster", ProcessId.here(), "idle", "a cluster, 2 workers")
    assert (queue.device(), queue.startup_error()) == ("a cluster, 2 workers", "")
    registry.heartbeat("cluster", ProcessId.here(), "away", "No scheduler answers.")
    assert queue.startup_error() == "No scheduler answers."
    assert queue.device() == "Dask cluster at tcp://somewhere:8786"
