"""Worker processes train what waits, and one's death costs one run and no more."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import psutil
import pytest

from tests.runs.conftest import problem_in
from tests.runs.workers.slow_tree import SPEC
from treelab.cli.main import main
from treelab.learners.registry import LEARNERS
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers import queue as queues
from treelab.runs.workers.queue import Queue

COMMAND = (sys.executable, "-m", "tests.runs.workers.slow_worker")
PATIENCE = 90  # seconds; a worker loads torch, on a machine that may be busy


def wait(condition, what, seconds=PATIENCE):
    """Wait until a condition holds, and return what it answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := condition():
            return answer
        time.sleep(0.05)
    pytest.fail(f"not within {seconds} s: {what}")


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    """A queue with one warm worker and a quick one; all are gone in the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELAB_SLOTS", "1")
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        patch.setitem(LEARNERS, SPEC.key, SPEC)
        store = RunStore(tmp_path_factory.mktemp("home"))
        found = Queue(store, command=COMMAND)
        found.ensure_workers()
        wait(lambda: states(found) == {"idle"}, "warm workers")
        yield found
        found.shut_down()
        assert found.workers() == []


@pytest.fixture
def store(queue):
    """The store of the module's workers."""
    return queue.store


@pytest.fixture
def problem(store):
    """A problem whose table is in that store."""
    return problem_in(store)


def states(queue):
    """The states of the living workers."""
    return {worker.state for worker in queue.workers()}


def slots_of(queue):
    """The slots that have a living worker."""
    return {worker.slot for worker in queue.workers()}


def worker_of(queue, slot="cpu:0"):
    """The process of a slot's worker."""
    (worker,) = [w for w in queue.workers() if w.slot == slot]
    return psutil.Process(worker.process.pid)


def submit(queue, problem, learner="slow", **settings):
    """Have a run trained."""
    run_id = queue.store.create(learner, settings, problem)
    queue.submit(run_id)
    return run_id


def begun(store, run_id):
    """Wait until a run has points on its curve."""
    wait(lambda: len(store.events(run_id)) >= 3, "first points")


def ended(store, run_id):
    """Wait until a run has ended, and return it."""
    return wait(lambda: (r := store.run(run_id)).is_finished and r, "the run's end")


def test_a_warm_worker_trains_a_run(queue, store, problem):
    run_id = submit(queue, problem, epochs=5)
    run = ended(store, run_id)
    assert (run.state, run.error) == ("done", "")
    assert store.model(run_id).n_leaves > 1
    wait(lambda: states(queue) == {"idle"}, "an idle worker")


@pytest.mark.slow
def test_a_quick_learner_does_not_wait_behind_a_long_run(queue, store, problem):
    long = submit(queue, problem, epochs=1000, pause=0.05)
    begun(store, long)
    waits = submit(queue, problem, epochs=1)
    assert (queue.position(waits), queue.position(long)) == (1, 0)
    assert ended(store, submit(queue, problem, "cart")).state == "done"
    assert store.run(long).state == "running"
    assert store.run(waits).state == "queued"
    store.request_stop(long)
    assert ended(store, long).state == "stopped"
    assert store.run(long).has_model
    assert ended(store, waits).state == "done"
    assert queue.position(waits) == 0


def test_a_failed_run_leaves_the_worker_at_work(queue, store, problem):
    before = worker_of(queue)
    assert ended(store, submit(queue, problem, fail_at=1)).state == "failed"
    assert ended(store, submit(queue, problem)).state == "done"
    assert worker_of(queue) == before


@pytest.mark.slow
def test_a_run_that_trains_can_be_deleted(queue, store, problem):
    run_id = submit(queue, problem, epochs=1000, pause=0.05)
    begun(store, run_id)
    store.delete(run_id)
    assert run_id not in [run.id for run in store.runs()]
    wait(lambda: not store.folder(run_id).exists(), "the folder's end")


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_curve_stays(queue, store, problem):
    run_id = submit(queue, problem, epochs=1000, pause=0.05)
    begun(store, run_id)
    process = worker_of(queue)
    process.kill()
    process.wait(PATIENCE)
    queue.check()  # or the other worker, which looks once a second, was sooner
    run = store.run(run_id)
    assert (run.state, run.has_model) == ("interrupted", False)
    assert len(store.events(run_id)) >= 3
    assert store.snapshots(run_id)
    assert ended(store, submit(queue, problem)).state == "done"
    assert worker_of(queue) != process
    assert queue.startup_error() == ""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_worker_asked_to_end_interrupts_its_run(queue, store, problem):
    run_id = submit(queue, problem, epochs=1000, pause=0.05)
    begun(store, run_id)
    process = worker_of(queue)
    process.send_signal(signal.SIGTERM)
    run = ended(store, run_id)
    assert run.state == "interrupted"
    assert "asked to end" in run.error
    assert store.events(run_id)["epoch"].iloc[-1] == run.epoch
    wait(
        lambda: "cpu:0" not in {w.slot for w in store.worker_registry.workers()},
        "its end",
    )
    queue.check()
    wait(lambda: states(queue) == {"idle"}, "a new worker")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_a_training_that_does_not_react_is_interrupted(queue, store, problem):
    run_id = submit(queue, problem, pause=300)
    wait(lambda: store.run(run_id).state == "running", "the start")
    process = worker_of(queue)
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)
    assert store.run(run_id).state == "interrupted"
    queue.check()
    wait(lambda: states(queue) == {"idle"}, "a new worker")


def suspend_between_writes(process, store):
    """Suspend a worker, but not while it holds the database's write lock."""
    while True:
        process.suspend()
        with closing(sqlite3.connect(store.home / "treelab.sqlite", timeout=0)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                process.resume()
                continue
            db.rollback()
            return


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGSTOP")
def test_a_worker_that_hangs_is_replaced_and_ends_when_it_wakes(
    queue, store, monkeypatch
):
    process = worker_of(queue)
    suspend_between_writes(process, store)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(queues, "SILENT_SECONDS", 4.0)
            wait(lambda: "cpu:0" not in slots_of(queue), "the silence")
            queue.check()
        assert worker_of(queue) != process
    finally:
        process.resume()
    process.wait(PATIENCE)
    wait(lambda: states(queue) == {"idle"}, "a new worker")


@pytest.mark.slow
def test_two_apps_share_the_workers(queue, store):
    other = Queue(RunStore(store.home), command=COMMAND)
    before = {worker.process for worker in queue.workers()}
    other.ensure_workers()
    queue.ensure_workers()
    assert {worker.process for worker in other.workers()} == before
    assert other._children == []


@pytest.mark.slow
def test_a_slot_that_is_filled_takes_no_second_worker(queue, store, capsys):
    assert main(["worker", "--home", str(store.home), "--slot", "cpu:0"]) == 2
    message = capsys.readouterr().err
    assert "'cpu:0' has a worker already" in message
    assert "Traceback" not in message


@pytest.mark.slow
@pytest.mark.skipif(not queues.FORKS, reason="each process loads torch itself")
def test_slots_share_what_one_process_has_loaded(tmp_path, monkeypatch):
    slots = ["quick", "cpu:0", "cpu:1", "cpu:2"]
    monkeypatch.setattr(queues, "planned_slots", lambda: slots)
    queue = Queue(RunStore(tmp_path / "home"), command=COMMAND)
    try:
        queue.ensure_workers()
        wait(lambda: states(queue) == {"idle"}, "warm workers")
        processes = [worker_of(queue, slot) for slot in slots]
        assert len(set(processes)) == 4
        (parent,) = {process.ppid() for process in (processes[0], *processes[2:])}
        assert parent == processes[1].pid == queue._children[0].pid
        problem = problem_in(queue.store)
        runs = [submit(queue, problem, epochs=1000, pause=0.05) for _ in range(3)]
        for run_id in runs:  # each trains in a process of its own
            begun(queue.store, run_id)
        processes[2].kill()
        wait(lambda: not processes[2].is_running(), "nothing left of it")
        processes[1].kill()  # the last goes on
        wait(lambda: len(slots_of(queue)) == 2, "its end")
        queue.check()
        wait(lambda: len(slots_of(queue)) == 4, "others")
        assert worker_of(queue, slots[3]) == processes[3]
        ended = [run.state for run in queue.store.runs() if run.is_finished]
        assert ended == ["interrupted"] * 2
    finally:
        queue.shut_down()
    assert queue.workers() == []


@pytest.mark.slow
def test_a_deleted_home_ends_its_workers(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_SLOTS", "1")
    monkeypatch.setattr(queues, "planned_slots", lambda: ["quick"])
    store = RunStore(tmp_path / "home")
    queue = Queue(store, command=COMMAND)
    queue.ensure_workers()
    wait(lambda: states(queue) == {"idle"}, "a warm worker")
    process = worker_of(queue, "quick")
    store.home.rename(tmp_path / "elsewhere")
    process.wait(PATIENCE)


@pytest.mark.slow
def test_a_worker_ends_when_no_app_is_left(tmp_path):
    """The app here is a script that asks for workers and ends."""
    script = (
        "import sys\n"
        "from treelab.runs.workers import queue as queues\n"
        "from treelab.runs.store.run_store import RunStore\n"
        "queues.planned_slots = lambda: ['quick']\n"
        "command = (sys.executable, '-m', 'tests.runs.workers.slow_worker')\n"
        "queues.Queue(RunStore(sys.argv[1]), command).ensure_workers()\n"
    )
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-c", script, str(home)], check=True)
    (worker,) = RunStore(home).worker_registry.workers()
    process = psutil.Process(worker.process.pid)
    wait(
        lambda: RunStore(home).worker_registry.workers()[0].state == "idle",
        "a warm worker",
    )
    process.wait(PATIENCE)
    assert RunStore(home).worker_registry.workers() == []
