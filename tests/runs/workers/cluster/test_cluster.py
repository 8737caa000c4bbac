"""Runs on a Dask cluster of two workers in other folders, over PostgreSQL."""

import signal
import sys
import time

import psutil
import pytest

from tests.runs.conftest import problem_in
from tests.runs.store import postgres
from tests.runs.workers.cluster.local_cluster import LocalCluster, wait
from tests.runs.workers.slow_tree import SPEC
from treelab.learners.common.settings import Values
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.rashomon import create_more
from treelab.runs.jobs.repeats import create_repeats
from treelab.runs.jobs.run_one import run_one
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.database import reading
from treelab.runs.store.files import OWNER
from treelab.runs.store.run_store import RunStore
from treelab.runs.store.workers import ProcessId
from treelab.runs.sweeps import SweepPlan, read_study, trial_table
from treelab.runs.workers.queue import Queue

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
pytest.importorskip("distributed")

COMMAND = (sys.executable, "-m", "tests.runs.workers.slow_worker")
LONG = {"epochs": 400, "pause": 0.1}
QUICK = {"n_steps": 30, "n_restarts": 2, "max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler; tests see to it that there are workers."""
    found = LocalCluster(tmp_path_factory.mktemp("dask"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def module_queue(cluster, tmp_path_factory):
    """The queue of the app's machine, whose one worker hands runs on."""
    with postgres.started() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELAB_CLUSTER", cluster.address)
        patch.setenv("TREELAB_STORE", url)
        patch.delenv("TREELAB_SLOTS", raising=False)
        patch.setitem(LEARNERS, SPEC.key, SPEC)
        queue = Queue(RunStore(tmp_path_factory.mktemp("home")), command=COMMAND)
        queue.ensure_workers()
        yield queue
        queue.shut_down()
        queue.store.database.engine.dispose()


@pytest.fixture
def queue(cluster, module_queue):
    """That queue, with two living workers."""
    for name in ("one", "two"):
        cluster.ensure_worker(name)
    wait(lambda: "2 workers" in module_queue.device(), "two workers")
    return module_queue


@pytest.fixture
def train_here(tmp_path, monkeypatch):
    """Train in this process, in a store in a file; return that store and the run."""

    def train(learner, settings):
        with monkeypatch.context() as patch:
            patch.delenv("TREELAB_STORE")
            here = RunStore(tmp_path / "here")
            run_id = here.create(learner, settings, problem_in(here))
            run_one(run_id, here.home)
        return here, run_id

    return train


@pytest.fixture
def store(queue):
    """The app's store."""
    return queue.store


def submitted(queue, learner="slow", problem=None, **settings) -> str:
    """Queue a run."""
    problem = problem or problem_in(queue.store)
    run_id = queue.store.create(learner, settings, problem)
    queue.submit(run_id)
    return run_id


def ended(queue, *ids):
    """Wait until runs have ended; return them."""

    def all_ended():
        queue.check()
        return all(has_ended(queue.store.run(run_id)) for run_id in ids)

    wait(all_ended, f"the end of {ids}")
    return [queue.store.run(run_id) for run_id in ids]


def has_ended(run):
    """Whether a run has ended for good: if its worker died, it is soon sent again."""
    is_sent_again = run.state == "interrupted" and time.time() - run.finished < 3
    return run.is_finished and not is_sent_again


def in_training(queue, cluster, run_id):
    """Wait until a run has reported from a worker of the cluster; return its name."""
    wait(lambda: queue.store.run(run_id).epoch > 0, "a report")
    return owner(queue.store, cluster, run_id)


def owner(store, cluster, run_id):
    """The name of the worker that trains a run."""
    with reading(store.database) as db:
        row = db.execute("SELECT owner FROM runs WHERE id = ?", (run_id,)).fetchone()
    names = {process.pid: name for name, process in cluster.workers.items()}
    return names.get(ProcessId.parse(row["owner"]).pid, "")


def model_bytes(store, run_id):
    """The files of a model, that with the id of its run apart, and its scores."""
    folder = store.folder(run_id) / "model"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert files.pop(OWNER) == run_id.encode()
    return files, store.run(run_id).metrics


def test_runs_train_as_they_do_here(queue, train_here):
    wanted = [
        ("cart", {}),
        ("gradtree", QUICK),
        ("grande", {"n_estimators": 8, "depth": 3, "max_epochs": 5}),
        ("slow", {"epochs": 5}),
    ]
    ids = [submitted(queue, learner, **settings) for learner, settings in wanted]
    runs = ended(queue, *ids)
    assert [(run.state, run.error) for run in runs] == [("done", "")] * len(runs)
    for run_id, (learner, settings) in zip(ids, wanted):
        here, own = train_here(learner, settings)
        assert model_bytes(queue.store, run_id) == model_bytes(here, own)
        columns = ["epoch", "train_loss", "valid_loss", "stage"]
        there, locally = queue.store.events(run_id), here.events(own)
        assert there["epoch"].tolist()[-1:] == locally["epoch"].tolist()[-1:]
        assert set(columns) <= set(there)
    assert queue.store.snapshots(ids[1])
    assert queue.store.path(ids[1]) is not None
    assert not (queue.store.folder(ids[1]) / "checkpoint").exists()
    assert all(" of " in run.summary["device"] for run in runs)


def test_other_runs_go_the_same_way(queue):
    store, problem = queue.store, problem_in(queue.store)
    first = submitted(queue, "gradtree", problem, **QUICK)
    (run,) = ended(queue, first)
    repeats = create_repeats(store, [run], 2)
    more = create_more(store, run, n_restarts=2)
    frame = store.table(problem.table_id)
    own = clusters_problem(frame, table_id=problem.table_id, table_name="small")
    found = store.create(CLUSTERS.key, {"max_epochs": 10}, own)
    for run_id in (*repeats, more, found):
        queue.submit(run_id)
    runs = ended(queue, *repeats, more, found)
    assert [(run.state, run.error) for run in runs] == [("done", "")] * 4
    assert [run.problem.seed for run in runs[:2]] == [1, 2]
    assert store.rashomon(more) is not None
    assert "cluster" in store.table(runs[-1].problem.table_id)


def test_stop_reaches_the_worker(queue, cluster):
    run_id = submitted(queue, **LONG)
    in_training(queue, cluster, run_id)
    asked = time.time()
    queue.store.request_stop(run_id)
    (run,) = ended(queue, run_id)
    assert (run.state, run.has_model) == ("stopped", True)
    assert run.finished - asked < 10


def test_a_paused_run_goes_on_where_it_was(queue, cluster, train_here):
    settings = QUICK | {"n_steps": 400}
    run_id = submitted(queue, "gradtree", **settings)
    in_training(queue, cluster, run_id)
    queue.store.request_pause(run_id)
    (run,) = ended(queue, run_id)
    assert run.state == "paused"
    assert any((queue.store.folder(run_id) / "checkpoint").iterdir())
    assert queue.store.resume(run_id)
    queue.submit(run_id)
    (run,) = ended(queue, run_id)
    assert (run.state, run.attempts) == ("done", 2)
    here, own = train_here("gradtree", settings)
    assert model_bytes(queue.store, run_id) == model_bytes(here, own)


def test_a_deleted_run_frees_its_worker(queue, cluster):
    run_id = submitted(queue, **LONG)
    in_training(queue, cluster, run_id)
    queue.store.delete(run_id)
    wait(lambda: not queue.store.folder(run_id).exists(), "the folder is gone")
    others = [submitted(queue, epochs=3) for _ in range(2)]
    assert {run.state for run in ended(queue, *others)} == {"done"}


def test_a_run_whose_worker_is_killed_trains_on_another(queue, cluster):
    ids = [submitted(queue, epochs=60, pause=0.1) for _ in range(2)]
    victim, other = (in_training(queue, cluster, run_id) for run_id in ids)
    assert {victim, other} == {"one", "two"}
    cluster.kill(victim)
    runs = ended(queue, *ids)
    assert [(run.state, run.attempts) for run in runs] == [("done", 2), ("done", 1)]
    epochs = queue.store.events(ids[0])["epoch"]
    assert epochs.is_monotonic_increasing


def test_a_sweep_with_a_killed_worker_ends_complete(queue, cluster):
    store = queue.store
    # Long enough that the kill finds the search under way, on a busy machine, too.
    space = {"max_leaf_nodes": Values((4, 6, 8)), "n_steps": Values((100, 150))}
    plan = SweepPlan(space, n_trials=8, scoring="folds", n_folds=2)
    run_id = create_sweep(store, "gradtree", QUICK, problem_in(store), plan)
    queue.submit(run_id)

    def n_done():
        study = read_study(store.folder(run_id))
        return 0 if study is None else (trial_table(study)["state"] == "done").sum()

    wait(lambda: n_done() >= 2, "two trials")
    cluster.kill("one")
    (run,) = ended(queue, run_id)
    assert (run.state, run.error) == ("done", "")
    table = trial_table(read_study(store.folder(run_id)))
    tried = table[table["state"] != "interrupted"]
    assert len(tried) == 8
    assert set(tried["state"]) <= {"done", "pruned"}
    assert "sweep of 8 trials" in run.summary["notes"][0]
    assert run.metrics["test"]


def test_a_stopped_sweep_trains_with_the_best_so_far(queue):
    store = queue.store
    space = {"epochs": Values((60, 70, 80))}
    plan = SweepPlan(space, n_trials=30, scoring="validation")
    run_id = create_sweep(store, "slow", {"pause": 0.01}, problem_in(store), plan)
    queue.submit(run_id)
    wait(lambda: store.run(run_id).epoch >= 2, "two trials")
    store.request_stop(run_id)
    (run,) = ended(queue, run_id)
    assert (run.state, run.has_model) == ("stopped", True)


def test_runs_go_on_where_the_apps_worker_dies(queue, cluster):
    run_id = submitted(queue, epochs=30, pause=0.1)
    in_training(queue, cluster, run_id)
    (worker,) = queue.workers()
    psutil.Process(worker.process.pid).send_signal(signal.SIGKILL)
    (run,) = ended(queue, run_id)
    assert (run.state, run.attempts) == ("done", 1)


def test_without_a_scheduler_runs_are_resumable_and_pages_say_why(queue, cluster):
    run_id = submitted(queue, **LONG)
    in_training(queue, cluster, run_id)
    # First: a worker that ends beside a living scheduler has its run queued again.
    cluster.scheduler.kill()
    wait(lambda: "scheduler" in queue.startup_error(), "a sentence for pages")
    cluster.close()
    (run,) = ended(queue, run_id)
    assert run.state == "interrupted"
    assert run.can_resume
