"""The recorder writes at once, then not too often, and loses neither low nor last."""

import numpy as np
import pytest

from tests.runs.store.test_run_store import grown_tree, report, running
from treelab.runs.jobs import fit as module
from treelab.runs.jobs.fit import EventRecorder, Interrupted
from treelab.training.events import Monitor


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    hands = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: hands[0])
    return hands


@pytest.fixture
def run_id(store, problem):
    """A run under way."""
    return running(store, problem)


def test_the_first_report_is_written_at_once(store, run_id, clock):
    EventRecorder(store, run_id)(report(1))
    assert store.events(run_id)["epoch"].tolist() == [1]


@pytest.mark.slow
def test_reports_are_written_ten_times_a_second_at_most(store, run_id, clock):
    record = EventRecorder(store, run_id)
    written = []
    for epoch in range(1, 201):  # two hundred epochs in one second
        record(report(epoch))
        clock[0] += 0.005
        written.append(len(store.events(run_id)))
    record.write()
    assert len(set(written)) <= 11
    assert len(store.events(run_id)) <= 22
    assert store.events(run_id)["epoch"].iloc[-1] == 200


def test_the_lowest_point_of_the_curve_is_written(store, run_id, clock):
    record = EventRecorder(store, run_id)
    losses = [0.9, 0.8, float("nan"), 0.1, 0.7, 0.6]
    for epoch, loss in enumerate(losses, start=1):
        record(report(epoch, valid_loss=loss))
    record.write()
    assert store.events(run_id)["epoch"].tolist() == [1, 4, 6]


def test_snapshots_come_every_few_seconds_and_seldom_when_they_are_slow(
    store, run_id, clock
):
    record, tree = EventRecorder(store, run_id), grown_tree()
    cost = [0.0]

    def snapshot():
        clock[0] += cost[0]
        return tree

    def train(seconds):
        for _ in range(seconds * 2):
            clock[0] += 0.5
            train.epoch += 1
            record(report(train.epoch, snapshot=snapshot))

    train.epoch = 0
    train(20)
    often = len(store.snapshots(run_id))
    assert 8 <= often <= 11
    cost[0] = 1.0
    train(40)
    assert 2 <= len(store.snapshots(run_id)) - often <= 4
    last = store.snapshot(run_id, store.snapshots(run_id)[-1])
    assert last.target == store.run(run_id).problem.target != tree.target


def test_an_ensemble_gives_no_snapshot(store, run_id, clock):
    EventRecorder(store, run_id)(report(1, snapshot=lambda: None))
    assert store.snapshots(run_id) == []


def test_a_stop_reaches_the_training_with_the_next_write(store, run_id, clock):
    record = EventRecorder(store, run_id)
    assert not record(report(1))
    store.request_stop(run_id)
    assert not record(report(2))
    clock[0] += 0.2
    assert record(report(3))
    assert record(report(4))


def test_a_deleted_run_is_told_to_stop_and_takes_no_snapshot(store, run_id, clock):
    store.delete(run_id)
    assert EventRecorder(store, run_id)(report(1, snapshot=grown_tree))


def test_a_process_that_has_to_end_aborts_the_training(store, run_id, clock):
    record = EventRecorder(store, run_id, should_abort=lambda: True)
    with pytest.raises(Interrupted):
        record(report(1))
    record.write()
    assert len(store.events(run_id)) == 1


def test_a_preparation_moves_the_run_and_has_a_curve_until_the_end(
    store, run_id, clock
):
    record = EventRecorder(store, run_id)
    record(report(5, stage="cross-validation", is_preparation=True))
    assert len(store.events(run_id)) == 0
    assert store.preparation(run_id)["epoch"].tolist() == [5]
    assert store.run(run_id).stage == "cross-validation"
    record(report(0, stage="training", epochs_before=5))  # at once: another stage
    assert store.events(run_id)["epoch"].tolist() == [0]
    assert store.run(run_id).progress == 0.5
    assert len(store.preparation(run_id)) == 1
    Monitor(3, [record]).retain(0)  # the training has ended
    assert len(store.preparation(run_id)) == 0


def test_the_curve_of_the_retained_candidate_replaces_the_leaders(store, run_id, clock):
    monitor = Monitor(3, [EventRecorder(store, run_id)], snapshot=grown_tree)
    monitor.report(0, np.array([0.5, 0.8]), np.array([0.5, 0.8]))
    monitor.report(2, np.array([0.7, 0.6]), np.array([0.7, 0.6]))
    monitor.retain(1, {0: grown_tree, 3: grown_tree})
    assert store.events(run_id)["valid_loss"].tolist() == [0.8, 0.6]
    assert store.snapshots(run_id) == [0, 3]


def test_seconds_before_the_learners_clock_started_count(store, run_id, clock):
    record = EventRecorder(store, run_id)
    clock[0] += 30.0  # the learner grows its first trees
    monitor = Monitor(10, [record])
    clock[0] += 2.0
    monitor.report(1, 1.0, 1.2)
    record.write()
    monitor.retain(0)
    assert store.events(run_id)["seconds"].tolist() == [32.0]
