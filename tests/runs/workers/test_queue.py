"""The queue hands runs to the workers of this machine, or to a cluster."""

import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.runs.workers.test_worker_pool import BROKEN
from treelab.runs.store.process import ProcessId
from treelab.runs.workers.queue import Queue
from treelab.training.events import Progress


def test_no_slot_means_no_worker(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem)
    queue.submit(run_id)
    assert queue.check() == []
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
        store.add_event(runs, Progress(0, 100, 1.0, 1.0, 0.0))
    store.add_event(runs, Progress(50, 100, 1.0, 1.0, 10.0))
    assert queue.expected_start(next_one) == pytest.approx(10, abs=2)
    assert queue.expected_start(later) is None
    assert queue.expected_start(runs) is None


def test_a_missing_dask_is_a_sentence(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match="pip install distributed"):
        Queue(store).submit(store.create("slow", {}, problem))


def test_a_cluster_gets_the_id_and_the_home_and_no_worker_starts(
    store, problem, monkeypatch
):
    pool = ThreadPoolExecutor(1)
    asked = []

    class Client:
        def __init__(self, address, timeout):
            asked.append(address)

        def get_executor(self):
            return pool

    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    monkeypatch.setitem(
        sys.modules, "distributed", types.SimpleNamespace(Client=Client)
    )
    queue = Queue(store, command=BROKEN)
    ids = [store.create("slow", {}, problem) for _ in range(2)]
    for run_id in ids:
        queue.submit(run_id)
    pool.shutdown(wait=True)
    assert [store.run(run_id).state for run_id in ids] == ["done", "done"]
    assert asked == ["tcp://somewhere:8786"]
    assert queue.workers() == []
    assert "somewhere" in queue.device()
