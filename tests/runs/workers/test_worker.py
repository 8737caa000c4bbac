"""What a worker records of itself, and when it ends; see also its processes."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from tests.runs.conftest import taken_up
from treelab.runs.jobs.run_one import PROCESS_ENDED
from treelab.runs.store.workers import ProcessId
from treelab.runs.workers import worker as module
from treelab.runs.workers.worker import Worker

ME = ProcessId.here()


def test_a_heartbeat_holds_the_memory_that_is_free_now(store, monkeypatch):
    worker, recorded = Worker(store, "cuda:0"), []

    def record(slot, process, state, device_name):
        recorded.append(device_name)
        return True

    # Not in the registry: whoever clears up after a test would end this process.
    monkeypatch.setattr(worker._registry, "heartbeat", record)
    worker._heartbeat()
    free = ["9 of 10 GiB free", "2 of 10 GiB free"]
    texts = iter(free)
    worker._device_name, worker._memory = "Oak 9000", lambda: next(texts)
    worker._heartbeat()
    worker._heartbeat()
    assert recorded == ["", *(f"Oak 9000 · {text}" for text in free)]


def test_of_several_slots_the_quick_one_is_never_that_which_loads_all(
    store, monkeypatch
):
    worker = Worker(store, "quick", "cpu:0", "cpu:1")
    assert (worker._slot, worker._others) == ("cpu:0", ["cpu:1", "quick"])
    monkeypatch.setattr(module, "FORKS", False)
    with pytest.raises(ValueError, match="several slots only on Linux"):
        Worker(store, "cpu:0", "cpu:1")


def test_a_worker_whose_slot_is_another_ones_by_now_ends(store):
    worker = Worker(store, "cpu:0")
    store.worker_registry.register("cpu:0", ME)
    worker._heartbeat()
    assert not worker._has_to_end()
    store.worker_registry.register("cpu:0", replace(ME, pid=ME.pid + 1))
    worker._heartbeat()
    assert worker._has_to_end()


def test_a_worker_that_no_app_needs_ends(store, monkeypatch):
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.0)
    worker = Worker(store, "quick", end_when_unused=True)
    store.worker_registry.register("quick", ME)
    assert worker._is_unused()
    store.worker_registry.register_app(ME)
    assert not worker._is_unused()  # though no heartbeat has noted it yet
    monkeypatch.setattr(module, "UNUSED_SECONDS", 60.0)
    worker._heartbeat()
    assert not worker._is_unused()


@pytest.mark.slow
def test_a_run_that_waited_for_the_warm_up_is_trained_though_its_app_is_gone(
    store, problem, monkeypatch
):
    monkeypatch.setattr(module, "UNUSED_SECONDS", 0.0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    store.submit(run_id := store.create("cart", {}, problem))
    Worker(store, "quick", end_when_unused=True).work()
    assert store.run(run_id).state == "done"


def test_a_worker_ends_the_runs_of_a_dead_process_without_any_page(store, problem):
    gone = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = ProcessId.of(gone.pid)
    gone.communicate()
    run_id = store.create("cart", {}, problem)
    store.start(run_id, process)
    Worker(store, "cpu:0")._heartbeat()
    assert store.run(run_id).state == "interrupted"


@pytest.mark.slow
def test_a_worker_asked_to_end_interrupts_the_run_that_it_begins(
    store, problem, capsys
):
    worker = Worker(store, "quick")
    store.submit(run_id := store.create("slow", {}, problem))
    store.submit(quick := store.create("cart", {}, problem))
    assert worker._train_next()
    assert store.run(quick).state == "done"
    assert not worker._train_next()  # the other waits for a slot of its own
    worker = Worker(store, "cpu:0")
    worker._request_end()
    assert worker._train_next()
    run = store.run(run_id)
    assert (run.state, run.error) == ("interrupted", PROCESS_ENDED)
    assert worker._has_to_end()
    log = [line.split(" ", 2)[2] for line in capsys.readouterr().err.splitlines()]
    assert log == [
        f"{quick} begins",
        f"{quick} ended done",
        f"{run_id} begins",
        f"{run_id} ended interrupted",
    ]


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_training_that_does_not_react_in_time_is_ended_unless_others_have_it(
    store, problem, monkeypatch, is_taken
):
    class Exited(Exception):
        """In the place of the process's end."""

    def leave(code):
        raise Exited(code)

    monkeypatch.setattr(os, "_exit", leave)
    worker = Worker(store, "cpu:0")
    store.worker_registry.register("cpu:0", ME)
    run_id = store.create("slow", {}, problem)
    store.start(run_id, ME)
    worker._training = run_id
    worker._request_end()
    worker._heartbeat()
    assert store.run(run_id).state == "running"
    if is_taken:
        taken_up(store, run_id)
    worker._end_requested = time.monotonic() - module.GRACE_SECONDS - 1
    with pytest.raises(Exited, match=str(128 + signal.SIGTERM)):
        worker._heartbeat()
    assert store.run(run_id).state == ("running" if is_taken else "interrupted")
    assert store.worker_registry.workers() == []


def test_a_deleted_home_ends_the_worker(store, monkeypatch):
    ended = []
    worker = Worker(store, "cpu:0")
    monkeypatch.setattr(store, "exists", lambda: False)
    monkeypatch.setattr(os, "_exit", ended.append)
    worker._heartbeat()
    assert ended == [1]
