"""Tasks on the cluster: what is heard once, what is lost, and what becomes of runs."""

from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from treelab.runs.store.database import StoreError
from treelab.runs.store.process import ProcessId
from treelab.runs.workers.cluster import uplink as uplink_module
from treelab.runs.workers.cluster.remote_run import MOST_LOST, MOST_UNBEGUN, RemoteRun
from treelab.runs.workers.cluster.tasks import ClusterTask
from treelab.runs.workers.cluster.uplink import Uplink

BEGUN = ("begun", {"worker": "tcp://a:1", "host": "node"})


class Tasks(list):
    """Tasks that go nowhere."""

    def submit(self, job, payload, table_id, *_, workers):
        self.append(ClusterTask("token", table_id))
        return self[-1]

    def drop(self, task):
        self.remove(task)


@pytest.fixture
def tasks():
    return Tasks()


@pytest.fixture
def remote(store, problem, tasks):
    """A run on the cluster, whose worker has begun."""
    run_id = store.create("slow", {}, problem)
    store.start(run_id, ProcessId.here())
    found = RemoteRun(store, run_id, tasks, {"tcp://a:1": "one (a:1)"})
    found.begin()
    tasks[0].take({"attempt": "x", "number": 1, "items": [BEGUN]})
    return found


def message(number, attempt="x", *items):
    """A message of a task."""
    return {"attempt": attempt, "number": number, "items": list(items)}


def test_a_message_that_comes_twice_is_heard_once():
    task = ClusterTask("token", "table")
    assert task.take(message(1, "x", BEGUN)) == [BEGUN]
    assert task.take(message(1, "x", BEGUN)) == []
    assert (task.address, task.host, task.is_lost) == ("tcp://a:1", "node", False)


def test_a_task_that_dask_began_again_is_lost():
    task = ClusterTask("token", "table")
    task.take(message(1, "x", BEGUN))
    assert task.take(message(1, "y", BEGUN)) == []
    assert task.is_lost


def test_a_run_whose_workers_end_is_tried_again_then_waits(remote, store, tasks):
    for attempt in range(1, MOST_LOST + 1):
        remote.settle(tasks[0])
        assert store.run(remote.run_id).state == "running"
        assert store.run(remote.run_id).attempts == attempt + 1
        tasks[0].take(message(1, "x", BEGUN))
    remote.settle(tasks[0])
    run = store.run(remote.run_id)
    assert (run.state, run.can_resume, remote.is_over) == ("interrupted", True, True)
    assert run.error.startswith("The cluster's worker one (a:1) on node ended in the")
    assert not tasks


def test_a_run_that_was_lost_on_its_way_is_sent_again(remote, store, tasks):
    remote.settle(tasks[0])
    for _ in range(MOST_UNBEGUN):
        remote.settle(tasks[0])
    assert store.run(remote.run_id).attempts == 2
    remote.settle(tasks[0])
    assert store.run(remote.run_id).attempts == 3


@pytest.mark.parametrize("address", ["", "tcp://a:1"])
def test_a_task_that_lost_its_table_goes_on_once_it_has_begun(address):
    cancelled = SimpleNamespace(status="cancelled")
    task = ClusterTask("token", "table", cancelled, address=address)
    assert task.is_over == (not address)


def test_a_run_that_was_to_stop_is_not_tried_again(remote, store, tasks):
    store.request_stop(remote.run_id)
    remote.settle(tasks[0])
    assert store.run(remote.run_id).state == "interrupted"


def test_what_is_asked_of_a_run_is_asked_of_its_task(remote, store, tasks):
    remote.step(0)
    assert tasks[0].ask == ""
    store.request_pause(remote.run_id)
    remote.step(0)
    assert tasks[0].ask == "pause"
    store.delete(remote.run_id)
    remote.step(0)
    assert tasks[0].ask == "abort"


def test_a_full_disk_at_the_end_is_tried_again(remote, store, tasks, monkeypatch):
    ending = {"state": "done", "error": "", "metrics": {}, "summary": {"device": "CPU"}}
    tasks[0].take(message(2, "x", ("ended", ending)))

    def full(*_, **__):
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(store, "finish", full)
        with pytest.raises(StoreError):
            remote.settle(tasks[0])
    remote.settle(tasks[0])
    run = store.run(remote.run_id)
    assert (run.state, run.summary) == ("done", {"device": "CPU of node"})


def test_what_cannot_be_written_fails_the_run_with_a_sentence(remote, store, tasks):
    remote.receive(tasks[0], [("files", {"files": {"../x": b""}})])
    assert tasks[0].ask == "abort"
    remote.settle(tasks[0])
    run = store.run(remote.run_id)
    assert (run.state, run.error) == (
        "failed",
        "A training on the cluster sent a file named '../x'.",
    )


class Box:
    """Dask's queue and variable, as the uplink uses them."""

    def __init__(self, name, client):
        client[name] = self
        self.fails, self.got, self.word = 0, [], None

    def put(self, value, timeout):
        self.got.append(value)
        if self.fails:
            self.fails -= 1
            raise TimeoutError

    def get(self, timeout):
        if self.word is None:
            raise TimeoutError
        return self.word

    def qsize(self):
        return 0


@pytest.fixture
def boxes(monkeypatch):
    monkeypatch.setattr(uplink_module, "Queue", Box)
    monkeypatch.setattr(uplink_module, "Variable", Box)
    monkeypatch.setattr(uplink_module, "SEND_SECONDS", 0.01)
    return {}


def make_uplink(boxes, asked=None):
    """An uplink without Dask."""
    link = {"queue": "queue", "word": "word", "token": "t"}
    return Uplink(boxes, link, list, (asked if asked is not None else []).append)


def test_what_seems_not_to_have_come_is_sent_as_it_was(boxes):
    uplink = make_uplink(boxes)
    boxes["word"].word = {"beat": 1, "wanted": {"t": ""}}
    boxes["queue"].fails = 1
    with uplink:
        uplink.send("first", {})
        uplink.end({"state": "done"})
    first, again, last = boxes["queue"].got
    assert first == again
    assert [first["number"], last["number"]] == [1, 2]
    assert [kind for kind, _ in last["items"]] == ["ended"]


def test_a_task_hears_what_is_asked_and_that_nobody_is_there(boxes, monkeypatch):
    asked: list[str] = []
    uplink = make_uplink(boxes, asked)
    boxes["word"].word = {"beat": 1, "wanted": {"t": "stop"}}
    for _ in range(2):
        uplink._listen()
    assert (asked, uplink.is_unwanted) == (["stop"], False)
    monkeypatch.setattr(uplink_module, "SILENT_SECONDS", -1.0)
    uplink._listen()
    assert uplink.is_unwanted


def test_a_task_that_is_not_named_is_unwanted(boxes):
    uplink = make_uplink(boxes)
    boxes["word"].word = {"beat": 1, "wanted": {}}
    uplink._listen()
    assert uplink.is_unwanted
