"""The pool starts the workers that are missing, and explains why one does not start."""

import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest
from filelock import FileLock

from treelab.runs.store.workers import ProcessId
from treelab.runs.workers import queue as queues
from treelab.runs.workers.queue import MOST_FAILURES, Queue, lower_priority

BROKEN = (sys.executable, "-c", "raise SystemExit('torch is not installed')")


@pytest.fixture
def pool(store, monkeypatch):
    """The pool of a machine that gets one worker, which cannot start."""
    monkeypatch.setattr(queues, "planned_slots", lambda: ["cpu:0"])
    pool = Queue(store, BROKEN)
    yield pool
    pool.shut_down(timeout=10)


def test_workers_that_cannot_start_are_given_up_with_a_reason(pool):
    until = time.monotonic() + 60
    while not pool.startup_error() and time.monotonic() < until:
        pool.ensure_workers()
        time.sleep(0.02)
    assert "ends while it starts: torch is not installed" in pool.startup_error()
    for _ in range(5):
        pool.ensure_workers()
    assert len(pool._children) == MOST_FAILURES


def test_where_nothing_is_shared_two_processes_start_at_a_time(store, monkeypatch):
    slots = ["quick", "cpu:0", "cpu:1", "cpu:2"]
    monkeypatch.setattr(queues, "planned_slots", lambda: slots)
    monkeypatch.setattr(queues, "FORKS", False)
    pool = Queue(store, (sys.executable, "-c", "import time; time.sleep(60)"))
    pool.ensure_workers()
    pool.ensure_workers()
    first, _ = pool.workers()
    store.worker_registry.heartbeat(first.slot, first.process, "idle", "CPU")
    pool.ensure_workers()
    assert len({worker.process for worker in pool.workers()}) == 3
    pool.shut_down(timeout=10)


def test_while_another_process_starts_workers_this_one_starts_none(pool, store):
    with FileLock(store.home / "workers.lock"):
        pool.ensure_workers()
        assert pool.workers() == []
    pool.ensure_workers()
    assert len(pool._children) == 1


def test_what_another_process_has_just_started_is_not_started_again(pool, monkeypatch):
    looks = iter([{"cpu:0": 0}, {}])  # before the lock, and behind it
    monkeypatch.setattr(pool, "_missing", lambda: next(looks))
    pool.ensure_workers()
    assert pool._children == []


def test_a_worker_without_a_heartbeat_counts_as_dead(pool, store, monkeypatch):
    elsewhere = replace(ProcessId.here(), host="elsewhere")
    store.worker_registry.register("cpu:0", elsewhere)
    assert [worker.process for worker in pool.workers()] == [elsewhere]
    monkeypatch.setattr(queues, "SILENT_SECONDS", 0.0)
    assert pool.workers() == []
    pool.ensure_workers()
    (worker,) = store.worker_registry.workers()
    assert worker.process != elsewhere


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has classes instead")
def test_the_priority_of_a_process_is_lowered_and_never_raised():
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
    ) as p:
        process = psutil.Process(p.pid)
        process.nice(12)  # raising it is refused without privilege
        lower_priority(process)
        assert process.nice() == 12
        p.communicate(b"\n")
