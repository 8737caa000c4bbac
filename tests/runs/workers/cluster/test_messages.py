"""A run trained in a store of its own, whose messages make the app's store."""

import time

import pandas as pd
import pytest

from treelab.runs.jobs.run_one import run_one, train
from treelab.runs.store.process import ProcessId
from treelab.runs.store.run_store import RunStore
from treelab.runs.workers.cluster.connection import misfits
from treelab.runs.workers.cluster.payload import (
    check_version,
    run_payload,
    table_content,
)
from treelab.runs.workers.cluster.received import Received, write_files
from treelab.runs.workers.cluster.remote_store import RemoteStore
from treelab.training.events import HISTORY


def train_elsewhere(store, run_id, folder):
    """Train a running run as a machine of the cluster does; write all of it home."""
    run = store.run(run_id)
    received, sent = Received(store, run_id), []
    there = RemoteStore(folder, lambda kind, facts: sent.append((kind, facts)))
    table = table_content(store, run.problem.table_id)
    assert there.unpack(run_payload(store, run), table) == run_id
    there.start(run_id, ProcessId.here())
    train(there, run_id)
    for item in [*sent, ("files", {"files": there.changed_files(run_id)})]:
        received.write(item)
    ending = there.run(run_id)
    store.finish(run_id, ending.state, metrics=ending.metrics, error=ending.error)
    return there


def files_of(store, run_id):
    """The files of a run's model."""
    folder = store.folder(run_id) / "model"
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_comes_home_is_what_a_run_here_leaves(store, problem, tmp_path):
    there, here = (store.create("slow", {}, problem) for _ in range(2))
    store.start(there, ProcessId.here())
    train_elsewhere(store, there, tmp_path / "there")
    run_one(here, store.home)
    assert store.run(there).metrics == store.run(here).metrics
    assert files_of(store, there) == files_of(store, here)
    one, other = (store.events(run_id)["epoch"].tolist() for run_id in (there, here))
    assert (one[0], one[-1]) == (other[0], other[-1])
    assert store.run(there).epoch == 5
    assert store.snapshots(there)


def test_the_store_of_a_training_is_a_file_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("TREELAB_STORE", "postgresql://nobody@nowhere/treelab")
    there = RemoteStore(tmp_path / "there", lambda *_: None)
    assert there.runs() == []


def test_a_failure_comes_home_with_its_traceback(store, problem, tmp_path):
    run_id = store.create("slow", {"fail_at": 3}, problem)
    store.start(run_id, ProcessId.here())
    train_elsewhere(store, run_id, tmp_path / "there")
    run = store.run(run_id)
    assert (run.state, run.has_model) == ("failed", False)
    assert "not a number" in run.error
    assert "Traceback" in store.log(run_id)


def test_a_second_attempt_replaces_the_curve_of_the_first(store, problem, tmp_path):
    run_id = store.create("slow", {}, problem)
    store.start(run_id, ProcessId.here())
    store.replace_events(
        run_id, pd.DataFrame([[7.0, 1.0, 1.0, 0.0, ""]], columns=HISTORY)
    )
    store.finish(run_id, "interrupted")
    store.resume(run_id)
    store.start(run_id, ProcessId.here())
    train_elsewhere(store, run_id, tmp_path / "there")
    assert store.events(run_id)["epoch"].max() == 5
    assert store.run(run_id).attempts == 2


def test_a_table_that_came_damaged_is_refused(store, problem, tmp_path):
    run_id = store.create("slow", {}, problem)
    there = RemoteStore(tmp_path / "there", lambda *_: None)
    payload = run_payload(store, store.run(run_id))
    with pytest.raises(ValueError, match="damaged"):
        there.unpack(payload, b"other bytes")


def test_another_treelab_is_refused(store, problem):
    payload = run_payload(store, store.run(store.create("slow", {}, problem)))
    check_version(payload)
    with pytest.raises(ValueError, match=r"has 0\.0\.1\. Install the same"):
        check_version(payload | {"version": "0.0.1"})


def test_only_what_changed_is_sent_again(store, problem, tmp_path):
    run_id = store.create("slow", {}, problem)
    store.start(run_id, ProcessId.here())
    there = train_elsewhere(store, run_id, tmp_path / "there")
    assert there.changed_files(run_id) == {}
    time.sleep(0.01)
    log = there.folder(run_id) / "log.txt"
    log.write_text("a line")
    assert there.changed_files(run_id) == {"log.txt": b"a line"}
    log.unlink()
    assert there.changed_files(run_id) == {"log.txt": None}


@pytest.mark.parametrize(
    "name", ["../other/model.json", "edits.json", "snapshots/../../x", "/etc/passwd"]
)
def test_no_file_is_written_that_a_training_does_not_write(tmp_path, name):
    with pytest.raises(ValueError, match="a file named"):
        write_files(tmp_path / "run", {name: b"x"})
    assert list(tmp_path.rglob("*")) == []


def test_a_model_is_replaced_whole(tmp_path):
    write_files(tmp_path, {"model/model.json": b"1", "model/old": b"1"})
    write_files(tmp_path, {"model/model.json": b"2", "model/old": None})
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["model.json"]
    assert (tmp_path / "model" / "model.json").read_bytes() == b"2"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ModuleNotFoundError("No module named 'treelab'"), "it has no treelab"),
        (OSError("gone"), "it does not answer"),
        (("0.0.1", "3.12.1"), r"it has treelab 0.0.1, here is"),
    ],
)
def test_workers_that_differ_are_named_with_what_differs(answer, words):
    class Client:
        def run(self, *_, on_error):
            return {"tcp://a:1": answer}

    assert words in misfits(Client())["tcp://a:1"]


def test_the_payload_holds_the_run_from_whose_tree_it_begins(store, problem, tmp_path):
    from treelab.runs.jobs.rashomon.more_trees import create_more

    first = store.create("slow", {}, problem)
    run_one(first, store.home)
    child = create_more(store, store.run(first))
    payload = run_payload(store, store.run(child))
    there = RemoteStore(tmp_path / "there", lambda *_: None)
    there.unpack(payload, table_content(store, problem.table_id))
    assert files_of(there, first) == files_of(store, first)
    assert there.model(first).n_leaves == store.model(first).n_leaves
    assert isinstance(there, RunStore)
