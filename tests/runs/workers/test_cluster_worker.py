"""What the worker that hands runs on to a Dask cluster does when things go wrong."""

from types import SimpleNamespace

import pytest

from tests.runs.conftest import problem_in
from treelab.runs.jobs import sweep
from treelab.runs.store import states
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.server import Server
from treelab.runs.store.states import GIVEN_UP, TRAINER_ENDED
from treelab.runs.store.workers import ProcessId
from treelab.runs.workers.cluster import MARK, misfits

pytest.importorskip("distributed")
ONE, TWO = "tcp://a:1", "tcp://b:1"


class Client:
    """A Dask client whose workers are here and begin nothing by themselves."""

    status = "running"

    def __init__(self, *addresses):
        self.addresses = list(addresses)
        self.sent = []

    def scheduler_info(self, n_workers):
        return {"workers": dict.fromkeys(self.addresses)}

    def run(self, function, *arguments, workers=None, on_error):
        return {own: function(*arguments) for own in workers or self.addresses}

    def cancel(self, futures, force):
        for future in futures:
            future.cancelled = True

    def processing(self):
        return dict.fromkeys(self.addresses, ())

    def submit(self, function, *arguments, workers, **_):
        future = SimpleNamespace(status="pending", cancelled=False, at=workers)
        future.done = lambda: future.status != "pending"
        future.exception = lambda timeout: OSError("No space is left.")
        future.result = lambda timeout: function(*arguments)
        self.sent.append(future)
        return future


@pytest.fixture
def client():
    return Client(ONE)


@pytest.fixture
def worker(on_server, tmp_path, client, monkeypatch):
    """The worker of this machine, over PostgreSQL."""
    from treelab.runs.workers import cluster_worker

    monkeypatch.setenv("TREELAB_CLUSTER", "tcp://somewhere:8786")
    monkeypatch.setattr(cluster_worker, "connect", lambda _: client)
    monkeypatch.setattr(cluster_worker, "fire_and_forget", lambda _: None)
    monkeypatch.setattr(cluster_worker, "LOOK_SECONDS", 0.0)
    return cluster_worker.ClusterWorker(RunStore(tmp_path / "home"))


@pytest.fixture
def store(worker, tmp_path):
    return RunStore(tmp_path / "home")


def waiting(store) -> str:
    """A run that waits."""
    run_id = store.create("slow", {}, problem_in(store))
    store.submit(run_id)
    return run_id


def begun(store) -> str:
    """The next run, taken by a worker of the cluster."""
    return store.claim_next(ProcessId.here())


def test_each_worker_takes_a_run_and_then_another(worker, store, client):
    first, second = waiting(store), waiting(store)
    worker._step()
    worker._step()
    (sent,) = client.sent  # the one worker has no room for the second
    assert sent.at == [ONE]
    sent.status = "finished"
    worker._step()
    assert [store.run(run_id).state for run_id in (first, second)] == ["done", "queued"]
    client.sent[1].status = "finished"
    worker._step()
    assert store.run(second).has_model
    worker._step()
    assert len(client.sent) == 2


@pytest.fixture
def silent(monkeypatch):
    """Who is gone counts as dead at once."""
    monkeypatch.setattr(states, "GONE_SECONDS", -1.0)


def test_a_run_whose_workers_end_is_taken_again_then_waits(
    worker, store, client, silent
):
    run_id = waiting(store)
    for attempt in (1, 2, 3):
        client.addresses = [ONE]
        worker._step()
        assert len(client.sent) == attempt
        assert begun(store) == run_id
        worker._step()
        assert store.run(run_id).state == "running"
        client.addresses = []
        worker._step()
        assert (store.run(run_id).state == "queued") == (attempt < 3)
    assert store.run(run_id).error == GIVEN_UP
    assert store.run(run_id).can_resume


def test_a_run_whose_process_fell_silent_is_taken_again(worker, store, client):
    run_id = waiting(store)
    worker._step()
    begun(store)
    store.finish(run_id, "interrupted", error=TRAINER_ENDED)
    worker._step()
    assert store.run(run_id).state == "queued"


def test_a_run_that_was_to_stop_is_not_taken_again(worker, store, client):
    run_id = waiting(store)
    worker._step()
    begun(store)
    store.request_stop(run_id)
    store.finish(run_id, "interrupted", error=TRAINER_ENDED)
    worker._step()
    assert store.run(run_id).state == "interrupted"
    assert len(client.sent) == 1


def test_a_task_whose_worker_went_before_it_began_goes_to_another(
    worker, store, client
):
    waiting(store)
    worker._step()
    client.addresses = [TWO]
    worker._step()
    assert client.sent[0].cancelled
    assert [each.at for each in client.sent[1:]] == [[TWO]]


def test_a_worker_that_breaks_off_is_named_and_the_run_goes_to_another(
    worker, store, client, silent
):
    run_id = waiting(store)
    worker._step()
    begun(store)  # and its end could not be written
    client.sent[0].status = "error"
    client.addresses = [ONE, TWO]
    worker._known = {ONE, TWO}
    worker._step()
    assert "No space is left." in worker._misfits[ONE]
    assert store.run(run_id).state == "queued"


def test_who_helps_a_sweep_tries_one_trial_and_looks_for_runs_again(
    worker, store, client, monkeypatch
):
    tried = []
    monkeypatch.setattr(sweep, "help_sweep", lambda _, run_id: not tried.append(run_id))
    monkeypatch.setattr(RunStore, "in_stage", lambda *_: ["sweep-a"])
    worker._step()
    client.sent[0].status = "finished"
    worker._step()
    assert tried == ["sweep-a"]


def test_a_sweep_at_which_help_broke_is_helped_no_more(
    worker, store, client, monkeypatch
):
    monkeypatch.setattr(sweep, "help_sweep", lambda *_: 1 / 0)
    monkeypatch.setattr(RunStore, "in_stage", lambda *_: ["sweep-a"])
    worker._step()
    client.sent[0].status = "finished"
    worker._step()
    assert len(client.sent) == 1


def test_a_worker_with_another_folder_or_no_database_trains_nothing(store, client):
    assert misfits(client, store) == {}
    there = Client(ONE)

    def run(function, *arguments, workers=None, on_error):
        if workers:  # asked what it sees
            (store.home / MARK).write_text("another folder's")
        return client.run(function, *arguments, on_error=on_error)

    there.run = run
    assert "is not the one" in misfits(there, store)[ONE]
    store.database = Server("postgresql://nobody@localhost:1/none")
    assert "cannot use the store" in misfits(client, store)[ONE]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ModuleNotFoundError("No module named 'treelab'"), "it has no treelab"),
        (OSError("gone"), "it does not answer"),
        (("0.0.1", "3.12.1"), r"it has treelab 0.0.1, here is"),
    ],
)
def test_workers_that_differ_are_named_with_what_differs(answer, words):
    class Other:
        def run(self, *_, on_error):
            return {ONE: answer}

    assert words in misfits(Other())[ONE]


def test_logs_show_no_password():
    assert "secret" not in repr(Server("postgresql://ann:secret@host/name"))
