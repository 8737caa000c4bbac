"""Monitors of several stages share a history; what is retained has its own curve."""

import math

import numpy as np

from treelab.training.events import Monitor


def losses(*values):
    """Losses of candidates, training and validation alike."""
    return np.array(values), np.array(values)


def test_a_preparation_is_reported_and_is_not_on_the_history():
    reports = []
    first = Monitor(
        20,
        [reports.append],
        snapshot=object,
        stage="cross-validation",
        is_preparation=True,
    )
    first.report(4, 0.5, 0.5)
    then = first.next_stage("training", 6, snapshot=object)
    then.report(0, 0.9, 0.9)
    then.report(6, 0.2, 0.3)
    assert reports[0].valid_loss == 0.5
    assert reports[0].snapshot is None
    assert [r.epoch for r in reports] == [4, 0, 6]
    assert [r.total_epoch for r in reports] == [4, 4, 10]
    assert [r.max_epochs for r in reports] == [20, 10, 10]
    history = then.history_frame()
    assert history["epoch"].tolist() == [0, 6]
    assert history["stage"].tolist() == ["training"] * 2


def test_later_stages_count_epochs_on():
    first = Monitor(5)
    first.report(2, 0.5, 0.5)
    second = first.next_stage("polish", 3)
    second.report(1, 0.4, 0.4)
    assert second.history_frame()["epoch"].tolist() == [2, 3]
    assert second.max_epochs == 5


def test_the_leader_on_validation_is_reported_else_the_leader_in_training():
    reports = []
    monitor = Monitor(3, [reports.append])
    monitor.report(1, np.array([1.0, 2.0, 3.0]), np.array([9.0, 8.0, math.nan]))
    monitor.report(2, np.array([1.0, 2.0]), np.full(2, math.nan))
    assert [r.train_loss for r in reports] == [2, 1]


def test_the_curve_becomes_that_of_the_retained_candidate():
    reports = []
    first = Monitor(9, [reports.append], stage="soft")
    first.report(1, *losses(0.9))
    monitor = first.next_stage("training", 8)
    monitor.report(0, *losses(0.5, 0.8))
    monitor.report(1, *losses(0.7, 0.6))
    monitor.retain(1, {0: lambda: "start"})
    assert monitor.history_frame()["valid_loss"].tolist() == [0.9, 0.8, 0.6]
    retained = reports[-1].retained
    assert retained.history["valid_loss"].tolist() == [0.9, 0.8, 0.6]
    assert retained.snapshots[0]() == "start"


def test_each_stage_may_be_told_its_candidate_when_all_have_ended():
    first = Monitor(9)
    first.report(1, *losses(0.9, 0.7))
    second = first.next_stage("later", 8)
    second.report(1, *losses(0.5, 0.8))
    first.retain(0)
    second.retain(1)
    assert second.history_frame()["valid_loss"].tolist() == [0.9, 0.8]
    assert second.history_frame()["epoch"].tolist() == [1, 2]
