import math
from dataclasses import replace

import pytest
import torch

from treelab.training.events import Monitor
from treelab.training.loop import TrainingPlan, TrainResult, train


class Lines(torch.nn.Module):
    """K slopes, each fitted to y = 3x from a start of its own."""

    def __init__(self, starts, valid_losses=None):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(starts))
        self.n_candidates = len(starts)
        self.x = torch.linspace(-1, 1, 64)
        self.scripted = iter(valid_losses) if valid_losses else None

    def batch_loss(self, rows):
        x = self.x[rows]
        return ((self.slope[:, None] * x - 3 * x) ** 2).mean(1)

    def valid_loss(self):
        if self.scripted:
            return torch.tensor(next(self.scripted))
        return (self.slope.detach() - 3) ** 2


def run(lines, callbacks=(), monitor=None, **settings):
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(lines.parameters(), lr=0.1)
    settings = {"max_epochs": 100, "patience": 20, "batch_size": 16} | settings
    plan = TrainingPlan(n_rows=64, **settings)
    monitor = monitor or Monitor(plan.max_epochs, callbacks)
    return train(lines, optimizer, plan, generator=generator, monitor=monitor)


def test_every_candidate_is_fitted_by_itself():
    lines = Lines([0.0, 10.0])
    result = run(lines)
    assert result.best_loss.max() < 1e-3
    assert torch.allclose(lines.slope, torch.tensor(3.0), atol=0.05)


def test_each_candidate_gets_the_parameters_of_its_own_best_epoch():
    slopes = []
    lines = Lines([0.0, 0.0], [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])

    def note(_):
        slopes.append(lines.slope.detach().clone())

    result = run(lines, max_epochs=3, callbacks=[note])
    assert result.best_epoch.tolist() == [1, 3]
    assert lines.slope.tolist() == [slopes[0][0], slopes[2][1]]


def test_patience_ends_training():
    lines = Lines([0.0], [[1.0]] + [[2.0]] * 50)
    result = run(lines, patience=5)
    assert result.reason == "patience"
    assert result.epochs == 6


def test_a_callback_that_returns_true_stops_after_that_epoch():
    result = run(Lines([0.0]), callbacks=[lambda progress: progress.epoch >= 4])
    assert result.reason == "callback"
    assert result.epochs == 4


def test_reports_carry_losses_and_history_matches_them():
    reports = []
    monitor = Monitor(3, [reports.append])
    run(Lines([0.0]), monitor=monitor, max_epochs=3)
    full = [report for report in reports if report.epoch == int(report.epoch)]
    assert [report.epoch for report in full] == [1, 2, 3]
    assert monitor.history_frame()["valid_loss"].tolist() == [
        report.valid_loss for report in full
    ]


def test_stages_share_a_history_and_count_epochs_on():
    first = Monitor(5, stage="first")
    run(Lines([0.0]), monitor=first, max_epochs=2)
    second = replace(first, stage="second", epoch_offset=2)
    result = run(Lines([0.0]), monitor=second, max_epochs=3)
    history = first.history_frame()
    assert history["epoch"].tolist() == [1, 2, 3, 4, 5]
    assert history["stage"].tolist() == ["first"] * 2 + ["second"] * 3
    assert result.best_epoch.tolist() == [3]


def test_a_long_epoch_reports_in_between_and_can_be_stopped_there(monkeypatch):
    monkeypatch.setattr("treelab.training.events.REPORT_SECONDS", -1)
    reports = []

    def stop_at_half(progress):
        reports.append(progress)
        return progress.epoch == 1.5

    result = run(Lines([0.0]), callbacks=[stop_at_half])
    assert [report.epoch for report in reports] == [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2]
    assert [math.isnan(r.valid_loss) for r in reports] == [1, 1, 1, 0, 1, 1, 0]
    assert result.reason == "callback"


def test_one_candidate_that_blows_up_does_not_end_the_others():
    lines = Lines([0.0, 0.0], [[1.0, math.nan], [0.5, math.nan], [0.4, math.nan]])
    result = run(lines, max_epochs=3)
    assert result.epochs == 3
    assert result.best_loss.argmin() == 0
    assert result.best_loss[1] == math.inf


def test_training_ends_when_no_candidate_has_a_finite_loss_with_the_best():
    result = run(Lines([0.0], [[1.0], [math.nan], [0.1]]), max_epochs=3)
    assert result.reason == "nan"
    assert result.epochs == 2
    assert result.best_loss.tolist() == [1.0]


def test_a_loss_never_finite_is_an_error_with_advice():
    with pytest.raises(FloatingPointError, match="smaller learning_rate"):
        run(Lines([0.0], [[math.nan]]))


@pytest.mark.parametrize("n_averaged", [2, 3])
def test_the_mean_of_the_last_checkpoints_is_retained_where_it_is_better(n_averaged):
    slopes = []
    # The first candidate improves three times, the second once; the last row of losses
    # is that of the means.
    script = [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0], [0.5, 0.5]]
    lines = Lines([0.0, 0.0], script)

    def note(_):
        slopes.append(lines.slope.detach().clone())

    result = run(lines, max_epochs=3, callbacks=[note], n_averaged=n_averaged)
    slope = torch.stack(slopes)  # (epochs, K)
    assert lines.slope[0].item() == pytest.approx(slope[-n_averaged:, 0].mean().item())
    assert lines.slope[1].item() == pytest.approx(slope[0, 1].item())
    assert result.best_loss.tolist() == [0.5, 0.5]


def test_a_mean_of_checkpoints_that_is_worse_is_not_retained():
    script = [[3.0, 3.0], [2.0, 2.0], [9.0, 1.0]]
    slopes = []
    lines = Lines([0.0, 0.0], script)
    run(
        lines,
        max_epochs=2,
        callbacks=[lambda _: slopes.append(lines.slope.detach().clone())],
        n_averaged=2,
    )
    assert lines.slope[0] == slopes[1][0]
    assert lines.slope[1] == (slopes[0][1] + slopes[1][1]) / 2


def test_a_training_that_diverged_says_when_and_what_to_try():
    result = TrainResult(torch.zeros(1), torch.zeros(1), reason="nan", epochs=7)
    with pytest.warns(RuntimeWarning, match="epoch 7.*smaller learning_rate"):
        result.warn_if_diverged()


def test_epochs_before_the_first_are_not_retained_and_cost_no_patience():
    lines = Lines([0.0], [[0.0]] * 6 + [[2.0], [1.0]] + [[3.0]] * 50)
    result = run(lines, patience=3, first_epoch=7)
    assert result.best_epoch.tolist() == [8]
    assert result.best_loss.tolist() == [1.0]
    assert (result.reason, result.epochs) == ("patience", 11)


def test_a_stop_before_the_first_epoch_retains_what_is_there():
    lines = Lines([0.0])
    result = run(lines, first_epoch=50, callbacks=[lambda p: p.epoch >= 2])
    assert result.best_epoch.tolist() == [2]


@pytest.mark.parametrize("n_averaged", [1, 3])
def test_without_validation_training_goes_to_its_end(n_averaged):
    slopes = []
    lines = Lines([0.0, 9.0])
    monitor = Monitor(8, [lambda _: slopes.append(lines.slope.detach().clone())])
    result = run(
        lines, monitor=monitor, max_epochs=8, validates=False, n_averaged=n_averaged
    )
    assert result.epochs == 8
    expected = torch.stack(slopes[-n_averaged:]).mean(0)
    torch.testing.assert_close(lines.slope.detach(), expected)
    assert not monitor.history_frame()["valid_loss"].notna().any()


@pytest.mark.parametrize("validates", [True, False])
def test_a_mean_leaves_what_a_schedule_sets_where_the_schedule_left_it(validates):
    lines = Lines([0.0], [[3.0], [2.0], [1.0], [0.5]] if validates else None)
    lines.factor = torch.nn.Parameter(torch.ones(1), requires_grad=False)

    def grow(_):
        lines.factor.data += 1

    run(lines, max_epochs=3, callbacks=[grow], n_averaged=3, validates=validates)
    assert lines.factor.item() == 4.0  # not the mean of what it was


def test_without_validation_a_training_loss_that_is_no_number_ends_it():
    result = run(Lines([math.nan]), max_epochs=8, validates=False)
    assert (result.reason, result.epochs) == ("nan", 1)
