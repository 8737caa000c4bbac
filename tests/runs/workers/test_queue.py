"""The queue starts what is missing, explains what fails, and can use a cluster."""

import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock

from treelab.runs.workers import slots, worker_pool
from treelab.runs.workers.queue import Queue
from treelab.runs.workers.worker_pool import MOST_FAILURES

BROKEN = (sys.executable, "-c", "raise SystemExit('torch is not installed')")


@pytest.fixture
def one_slot(monkeypatch):
    """A machine that gets one worker."""
    monkeypatch.setattr(worker_pool, "planned_slots", lambda: ["cpu:0"])


def test_no_slot_means_no_worker(store, problem, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "0")
    queue = Queue(store, command=BROKEN)
    run_id = store.create("slow", {}, problem)
    queue.submit(run_id)
    assert queue.check() == []
    assert queue.workers() == []
    assert queue.position(run_id) == 1


def test_workers_that_cannot_start_are_given_up_with_a_reason(store, one_slot):
    queue = Queue(store, command=BROKEN)
    until = time.monotonic() + 60
    while not queue.startup_error() and time.monotonic() < until:
        queue.check()
        time.sleep(0.02)
    assert "ends while it starts: torch is not installed" in queue.startup_error()
    for _ in range(5):
        queue.check()
    assert len(queue._pool._children) == MOST_FAILURES
    queue.shut_down()


def test_while_another_process_starts_workers_this_one_starts_none(store, one_slot):
    queue = Queue(store, command=BROKEN)
    with FileLock(store.home / "workers.lock"):
        queue.ensure_workers()
        assert queue.workers() == []
    queue.ensure_workers()
    assert len(queue._pool._children) == 1
    queue.shut_down()


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


@pytest.mark.parametrize(
    ("wanted", "gpus", "gigabytes", "planned"),
    [
        (None, 0, 16, ["quick", "cpu:0", "cpu:1", "cpu:2", "cpu:3"]),
        (None, 0, 3.2, ["quick", "cpu:0", "cpu:1"]),
        (None, 0, 1, ["quick", "cpu:0"]),
        (None, 2, 16, ["quick", "cuda:0", "cuda:1"]),
        ("2", 1, 16, ["quick", "cuda:0", "cuda:0#1"]),
        ("6", 0, 1, ["quick", *[f"cpu:{k}" for k in range(6)]]),
        ("0", 2, 16, []),
    ],
)
def test_slots_fit_the_machine(monkeypatch, wanted, gpus, gigabytes, planned):
    monkeypatch.delenv("TREELAB_SLOTS", raising=False)
    if wanted is not None:
        monkeypatch.setenv("TREELAB_SLOTS", wanted)
    memory = types.SimpleNamespace(total=gigabytes * 1e9)
    monkeypatch.setattr(slots, "gpu_names", lambda: ("H200",) * gpus)
    monkeypatch.setattr(slots.psutil, "virtual_memory", lambda: memory)
    assert slots.planned_slots() == planned
    devices = [slots.slot_device(slot) for slot in planned]
    assert devices == [
        slot.partition("#")[0] if "cuda" in slot else None for slot in planned
    ]


def test_the_cores_are_shared_among_the_slots_of_the_cpu(monkeypatch):
    monkeypatch.setattr(slots, "gpu_names", lambda: ())
    monkeypatch.setattr(slots.joblib, "cpu_count", lambda: 8)
    monkeypatch.setenv("TREELAB_SLOTS", "4")
    assert slots.threads_a_slot("cpu:3") == 2
    monkeypatch.setenv("TREELAB_SLOTS", "16")
    assert slots.threads_a_slot("cpu:3") == 1


def test_a_number_of_slots_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "many")
    with pytest.raises(ValueError, match="TREELAB_SLOTS must be a whole number"):
        slots.planned_slots()


@pytest.mark.parametrize(
    ("printed", "visible", "names"),
    [
        ("NVIDIA H200\nNVIDIA H200\n", None, ("NVIDIA H200",) * 2),
        ("NVIDIA H200\nNVIDIA H200\n", "1", ("NVIDIA H200",)),
        ("NVIDIA H200\n", "", ()),
        ("NVIDIA H200\n", "-1", ()),
        ("", None, ()),
    ],
)
def test_gpus_are_those_this_process_may_use(
    monkeypatch, tmp_path, printed, visible, names
):
    done = types.SimpleNamespace(returncode=0 if printed else 9, stdout=printed)
    monkeypatch.setattr(slots.shutil, "which", lambda name: name)
    monkeypatch.setattr(slots.subprocess, "run", lambda *a, **k: done)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    slots.gpu_names.cache_clear()
    assert slots.gpu_names() == names
    slots.gpu_names.cache_clear()
