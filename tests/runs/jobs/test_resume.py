"""A run that was paused or cut off goes on where it was, and ends as it would have."""

import json
import signal
import time

import numpy as np
import pytest

from tests.runs.conftest import small_table, taken_up
from tests.runs.jobs import apart
from treelab.data.problem import Problem
from treelab.runs.jobs import resume as checkpoints
from treelab.runs.jobs.resume import can_train_longer, train_longer
from treelab.runs.jobs.run_one import run_one

PAPER = {"recipe": "paper", "n_restarts": 2, "max_epochs": 40, "batch_size": 64}
SETTINGS = {
    "gradtree": {"n_restarts": 2, "n_steps": 40, "max_leaf_nodes": 4},
    "grande": {"n_estimators": 16, "max_epochs": 60, "patience": 60},
    "get": {"max_depth": 2, "n_steps": 100, "n_starts": 3},
    "argmin": {"depth": 2, "max_epochs": 40, "patience": 40},
}


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint at every step."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)


def tree_of(store, run_id):
    """A run's model, to compare."""
    return json.dumps(store.model(run_id).to_dict())


def pauser(store, run_id, at):
    """A callback that asks for a pause after some reports."""
    n_reports = 0

    def callback(_):
        nonlocal n_reports
        n_reports += 1
        if n_reports == at:
            store.request_pause(run_id)
            time.sleep(0.11)  # so that the recorder writes again, and learns of it

    return callback


def test_a_paused_run_goes_on_and_ends_with_the_same_tree(store, problem):
    whole, paused = (store.create("gradtree", PAPER, problem) for _ in range(2))
    run_one(whole, store.home)
    callback = pauser(store, paused, at=3)
    assert run_one(paused, store.home, callbacks=[callback]) == "paused"
    run = store.run(paused)
    assert (run.error, run.has_model) == ("", False)
    assert 0 < run.progress < 1
    n_points = len(store.events(paused))
    assert store.resume(paused)
    assert run_one(paused, store.home) == "done"
    assert tree_of(store, paused) == tree_of(store, whole)
    curve, expected = store.events(paused), store.events(whole)
    assert len(curve) >= n_points
    assert curve["epoch"].is_monotonic_increasing
    assert curve["epoch"].iloc[-1] == expected["epoch"].iloc[-1]
    assert store.run(paused).attempts == 2


def test_who_was_taken_for_dead_writes_no_checkpoint(store, problem):
    run_id = store.create("gradtree", PAPER, problem)
    folder, known = store.folder(run_id) / checkpoints.FOLDER, {}

    def files():
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def take(_):
        if not known and folder.exists():
            taken_up(store, run_id)
            known.update(files())

    assert run_one(run_id, store.home, callbacks=[take]) == "interrupted"
    assert files() == known != {}


def test_a_checkpoint_of_other_settings_is_not_used(store, problem):
    run_id = store.create("gradtree", PAPER, problem)
    run_one(run_id, store.home, callbacks=[pauser(store, run_id, at=3)])
    run = store.run(run_id)
    assert not checkpoints.checkpointer_of(store, run).is_empty
    run.settings["n_restarts"] = 3
    assert checkpoints.checkpointer_of(store, run).is_empty


@pytest.mark.slow
def test_a_damaged_checkpoint_is_not_used(store, problem):
    whole, run_id = (store.create("gradtree", PAPER, problem) for _ in range(2))
    run_one(whole, store.home)
    run_one(run_id, store.home, callbacks=[pauser(store, run_id, at=3)])
    for path in (store.folder(run_id) / checkpoints.FOLDER).iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    store.resume(run_id)
    assert run_one(run_id, store.home) == "done"
    assert tree_of(store, run_id) == tree_of(store, whole)


def test_a_full_disk_costs_the_checkpoint_and_not_the_run(store, problem, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("treelab.training.checkpointer.os.fsync", full)
    run_id = store.create("gradtree", PAPER, problem)
    with pytest.warns(UserWarning, match="No checkpoint was written"):
        assert run_one(run_id, store.home) == "done"


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["argmin", "gradtree"])
def test_a_finished_run_is_trained_longer(store, problem, learner):
    settings = PAPER | {"max_epochs": 10}
    if learner == "argmin":
        settings = {"depth": 2, "pruning_strength": (0.0, 9.0), "max_epochs": 10}
    first = store.create(learner, settings, problem)
    run_one(first, store.home)
    run = store.run(first)
    assert can_train_longer(store, run)
    store.add_plan(first, "more", "{}")  # whose training is not the learner's alone
    assert not can_train_longer(store, run)
    (store.folder(first) / "more.json").unlink()
    longer = train_longer(store, run)
    again = store.create(learner, settings | {"max_epochs": 20}, problem)
    assert [run_one(each, store.home) for each in (longer, again)] == ["done"] * 2
    assert tree_of(store, longer) == tree_of(store, again)
    assert store.run(first).has_model


def test_a_run_deleted_while_it_trains_leaves_no_checkpoint(store, problem):
    run_id = store.create("gradtree", PAPER, problem)
    run_one(run_id, store.home, callbacks=[lambda _: store.delete(run_id)])
    assert not store.folder(run_id).exists()


@pytest.mark.slow
def test_a_training_with_a_schedule_is_not_trained_longer(store, problem):
    run_id = store.create("gradtree", {"n_steps": 4, "n_restarts": 1}, problem)
    run_one(run_id, store.home)
    assert not (store.folder(run_id) / checkpoints.FOLDER).exists()
    with pytest.raises(ValueError, match="a known end"):
        train_longer(store, store.run(run_id))


def ended(process) -> int:
    """The exit code of a process, once it has ended."""
    process.join()
    return process.exitcode


@pytest.mark.slow
@pytest.mark.parametrize("learner", SETTINGS)
def test_a_process_killed_twice_costs_no_tree(store, problem, learner):
    options = {"device": "cpu"}
    whole, killed = (
        store.create(learner, SETTINGS[learner], problem, **options) for _ in range(2)
    )
    assert ended(apart.start(apart.train, whole, store.home)) == 0
    for moment in (0.3, 0.7):
        process = apart.start(apart.train, killed, store.home, moment)
        assert ended(process) == -signal.SIGKILL
        assert store.interrupt_dead_runs() == [killed]
        assert store.resume(killed)
        assert not checkpoints.checkpointer_of(store, store.run(killed)).is_empty
    assert ended(apart.start(apart.train, killed, store.home)) == 0
    assert store.run(killed).attempts == 3
    assert tree_of(store, killed) == tree_of(store, whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "settings", "n_pieces", "moments"),
    [
        ("cart", {}, 15, [9]),  # three times five folds
        # As many folds, then 20 steps of random trees in them, and 20 on all rows, the
        # loss of the start before each.
        (
            "gradtree",
            {"n_restarts": 2, "n_steps": 20, "max_leaf_nodes": 4},
            57,
            [12, 25],
        ),
    ],
)
def test_a_process_killed_in_a_cross_validation_trains_no_fold_again(
    store, problem, tmp_path, learner, settings, n_pieces, moments
):
    def train(run_id, name, last):
        file = tmp_path / name
        process = apart.start(apart.train_counted, run_id, store.home, file, last)
        return ended(process), len(file.read_text().splitlines())

    whole = store.create(learner, settings, problem, device="cpu")
    assert train(whole, "whole", -1) == (0, n_pieces)
    for last in moments:
        killed = store.create(learner, settings, problem, device="cpu")
        name = f"killed at {last}"
        assert train(killed, name, last) == (-signal.SIGKILL, last)
        assert store.interrupt_dead_runs() == [killed]
        assert store.resume(killed)
        # The piece in which it was killed is done again, and writing may be a piece
        # behind.
        code, n_done = train(killed, name, -1)
        assert code == 0
        assert n_pieces < n_done <= n_pieces + 2
        assert tree_of(store, killed) == tree_of(store, whole)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["cart", "optimal"])
def test_a_learner_that_grows_a_tree_at_once_ends_with_the_same_tree(store, learner):
    if learner == "optimal":
        pytest.importorskip("pystreed")
    frame = small_table(2000)
    frame["noise"] = np.random.default_rng(1).normal(size=len(frame)).round(3)
    table_id = store.add_table(frame, "larger")
    columns = ("size", "color", "noise")
    problem = Problem(table_id, "larger", "kind", columns, task="binary")
    whole, killed = (store.create(learner, {}, problem, device="cpu") for _ in range(2))
    assert ended(apart.start(apart.train, whole, store.home)) == 0
    trained = store.run(whole)
    for moment in (0.0, 0.2):  # of the time it takes
        process = apart.start(apart.train, killed, store.home)
        while process.is_alive() and store.run(killed).state != "running":
            time.sleep(0.002)
        time.sleep(moment * trained.elapsed)
        assert process.is_alive()
        process.kill()
        process.join()
        assert store.interrupt_dead_runs() == [killed]
        assert store.resume(killed)
    assert ended(apart.start(apart.train, killed, store.home)) == 0
    assert store.run(killed).attempts == 3
    assert tree_of(store, killed) == tree_of(store, whole)
