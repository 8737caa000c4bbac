"""Runs change state atomically, whoever else is at it."""

import json
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

import pytest

from treelab.runs.store.database import change, writing
from treelab.runs.store.run import FINISHED
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.training.events import Progress

ME = ProcessId.here()


def dead_process() -> ProcessId:
    """A process that has been, and is no more."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    found = ProcessId.of(child.pid)
    child.kill()
    child.wait()
    child.stdin.close()
    return found


@pytest.fixture
def queued(store, problem):
    """Make runs that wait for a worker."""

    def make(*learners):
        ids = [store.create(learner, {}, problem) for learner in learners]
        for run_id in ids:
            store.submit(run_id)
        return ids

    return make


def test_quick_learners_go_first_then_the_oldest(store, queued):
    slow, quick, later = queued("slow", "cart", "slow")
    assert store.queued() == [quick, slow, later]
    assert [store.claim_next(ME) for _ in range(4)] == [quick, slow, later, None]


def test_a_quick_slot_takes_quick_learners_alone(store, queued):
    _, quick = queued("slow", "cart")
    assert store.claim_next(ME, quick_only=True) == quick
    assert store.claim_next(ME, quick_only=True) is None


def test_a_run_is_not_taken_before_it_is_submitted(store, problem):
    run_id = store.create("cart", {}, problem)
    assert store.claim_next(ME) is None
    store.submit(run_id)
    assert store.claim_next(ME) == run_id


def test_many_workers_take_each_run_once(store, queued):
    ids = queued(*["slow"] * 40)
    start = threading.Barrier(8)

    def work():
        start.wait()
        mine = RunStore(store.home)
        return [run_id for _ in range(40) if (run_id := mine.claim_next(ME))]

    with ThreadPoolExecutor(8) as pool:
        taken = [f.result() for f in [pool.submit(work) for _ in range(8)]]
    assert sorted(chain(*taken)) == sorted(ids)


@pytest.mark.parametrize("first", sorted(FINISHED))
def test_who_comes_second_changes_nothing(store, queued, first):
    (run_id,) = queued("slow")
    store.start(run_id, ME)
    assert store.finish(run_id, first, summary={"leaves": 3})
    for second in FINISHED:
        assert not store.finish(run_id, second, error="too late")
    run = store.run(run_id)
    assert (run.state, run.error, run.summary) == (first, "", {"leaves": 3})
    assert not store.start(run_id, ME)


def test_of_many_who_end_a_run_one_succeeds(store, queued):
    for run_id in queued(*["slow"] * 5):
        store.start(run_id, ME)
        states = sorted(FINISHED) * 2
        with ThreadPoolExecutor(8) as pool:
            ended = list(pool.map(lambda s, r=run_id: store.finish(r, s), states))
        assert sum(ended) == 1
        assert store.run(run_id).state == states[ended.index(True)]


def test_a_run_ends_in_a_state_that_there_is(store, queued):
    (run_id,) = queued("slow")
    with pytest.raises(ValueError, match="'ready'"):
        store.finish(run_id, "ready")


def test_a_queued_run_stops_at_once_and_a_running_one_is_asked(store, queued):
    waits, runs = queued("slow", "slow")
    store.start(runs, ME)
    for run_id in (waits, runs):
        store.request_stop(run_id)
    assert store.run(waits).state == "stopped"
    assert not store.run(waits).has_model
    assert (store.run(runs).state, store.run(runs).stop_requested) == ("running", True)
    assert not store.add_events(runs, [Progress(1, 2, 0.5, 0.5, 0.1)])
    assert len(store.events(runs)) == 1  # the point itself is not lost


def test_a_run_is_paused_and_goes_on_with_its_curve(store, queued):
    (run_id,) = queued("slow")
    store.start(run_id, ME)
    store.request_pause(run_id)
    assert not store.add_events(run_id, [Progress(1, 2, 0.5, 0.5, 0.1)])
    assert store.why_ending(run_id, 1) == "pause"
    assert not store.resume(run_id)  # still running
    assert store.finish(run_id, "paused")
    assert store.resume(run_id)
    run = store.run(run_id)
    assert (run.state, run.attempts, len(store.events(run_id))) == ("queued", 1, 1)
    assert not run.stop_requested
    assert not run.pause_requested
    assert store.claim_next(ME) is None  # before it is submitted
    store.submit(run_id)
    assert store.claim_next(ME) == run_id
    assert store.run(run_id).attempts == 2


def test_a_queued_run_is_paused_at_once(store, queued):
    (run_id,) = queued("slow")
    store.request_pause(run_id)
    assert store.run(run_id).state == "paused"
    assert store.claim_next(ME) is None


@pytest.mark.parametrize("state", sorted(FINISHED))
def test_runs_that_did_not_end_by_themselves_are_resumed(store, queued, state):
    (run_id,) = queued("slow")
    store.start(run_id, ME)
    store.finish(run_id, state, error="why")
    resumable = state in ("failed", "interrupted", "paused")
    assert store.run(run_id).can_resume == resumable
    assert store.resume(run_id) == resumable
    run = store.run(run_id)
    assert (run.state, run.error) == (("queued", "") if resumable else (state, "why"))


def test_of_many_who_resume_a_run_one_succeeds(store, queued):
    (run_id,) = queued("slow")
    store.start(run_id, ME)
    store.finish(run_id, "interrupted")
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(store.resume, [run_id] * 8)) == 1


@pytest.mark.parametrize("state", [None, *sorted(FINISHED)])
def test_a_run_that_does_not_train_is_deleted_at_once(store, queued, state):
    (run_id,) = queued("slow")
    if state is not None:
        store.start(run_id, ME)
        store.finish(run_id, state)
    store.delete(run_id)
    assert store.runs() == []
    assert not store.folder(run_id).exists()


def test_a_run_that_trains_is_hidden_stopped_and_then_deleted(store, queued):
    (run_id,) = queued("slow")
    store.start(run_id, ME)
    store.delete(run_id)
    assert store.runs() == []
    assert store.folder(run_id).exists()
    assert not store.add_events(run_id, [Progress(1, 2, 0.5, 0.5, 0.1)])  # asks to stop
    assert store.finish(run_id, "stopped")
    assert not store.folder(run_id).exists()
    assert len(store.events(run_id)) == 0


def test_a_run_is_interrupted_when_its_process_died_and_keeps_its_curve(store, queued):
    died, lives = queued("slow", "slow")
    store.start(died, dead_process())
    store.start(lives, ME)
    store.add_events(died, [Progress(1, 2, 0.5, 0.5, 0.1)])
    assert store.interrupt_dead_runs() == [died]
    assert store.interrupt_dead_runs() == []
    assert store.run(died).state == "interrupted"
    assert "ended in the middle" in store.run(died).error
    assert len(store.events(died)) == 1
    assert store.run(lives).state == "running"


def test_a_run_lasts_to_the_last_word_of_its_process(store, queued):
    (run_id,) = queued("slow")
    store.start(run_id, dead_process())
    change(store.database, "UPDATE runs SET started = 1000, heartbeat = 1042")
    store.interrupt_dead_runs()  # the next morning
    assert store.run(run_id).elapsed == 42
    store.resume(run_id)
    assert store.run(run_id).elapsed == 42


def test_a_run_elsewhere_is_interrupted_when_it_is_silent(store, queued, monkeypatch):
    (run_id,) = queued("slow")
    owner = replace(ME, host="elsewhere")
    store.start(run_id, owner)
    assert store.interrupt_dead_runs() == []
    monkeypatch.setattr("treelab.runs.store.states.SILENT_SECONDS", 0.0)
    store.heartbeat(owner)
    assert store.interrupt_dead_runs() == [run_id]


def test_a_run_whose_maker_died_before_it_was_submitted_is_interrupted(store, problem):
    made = (
        "import json, sys; from treelab.data.problem import Problem;"
        "from treelab.runs.store.run_store import RunStore;"
        "problem = Problem.from_dict(json.loads(sys.argv[2]));"
        "print(RunStore(sys.argv[1]).create('cart', {}, problem))"
    )
    said = json.dumps(problem.to_dict())
    command = [sys.executable, "-c", made, str(store.home), said]
    run_id = subprocess.check_output(command, text=True).strip()
    waits = store.create("cart", {}, problem)  # its maker lives
    assert store.run(run_id).state == "queued"
    assert store.interrupt_dead_runs() == [run_id]
    assert store.interrupt_dead_runs() == []
    run = store.run(run_id)
    assert run.is_finished
    assert "before the training began" in run.error
    assert store.run(waits).state == "queued"


def test_a_deleted_run_whose_process_died_is_removed(store, queued):
    (run_id,) = queued("slow")
    store.start(run_id, dead_process())
    store.delete(run_id)
    store.interrupt_dead_runs()
    assert not store.folder(run_id).exists()
    shutil.rmtree(store.home)


@pytest.mark.parametrize("state", ["running", "queued"])
def test_who_finds_a_process_dead_ends_no_run_that_others_took_since(
    store, problem, monkeypatch, state
):
    run_id, gone = store.create("slow", {}, problem), replace(ME, started=1.0)
    if state == "running":
        store.start(run_id, gone)
    else:
        with writing(store.database) as db:
            db.execute("UPDATE runs SET owner = ?", (str(gone),))
    dead = store.dead_runs()
    assert [*dead] == [run_id]
    assert store.interrupt_dead_runs() == [run_id]
    assert store.resume(run_id)  # and its process is alive
    if state == "running":
        store.start(run_id, ME)
    monkeypatch.setattr(store, "dead_runs", lambda gone: dead)  # as seen before
    assert store.interrupt_dead_runs() == []
    assert store.run(run_id).state == state
