"""The queue hands runs to the workers of this machine, or to a cluster."""

import sys
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.runs.workers.test_worker_pool import BROKEN
from treelab.runs.workers.queue import Queue


def test_no_slot_means_no_worker(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem)
    queue.submit(run_id)
    assert queue.check() == []
    assert queue.workers() == []
    assert queue.position(run_id) == 1


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
