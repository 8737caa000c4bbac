"""Loss curves show every run, on one scale, with its lowest validation loss marked."""

from dataclasses import replace

import numpy as np
import pytest

from treelab.figures.curves import Curve, loss_figure, loss_panels, thin


def curve(name="GradTree", n=50, start=2.0):
    epoch = np.arange(1, n + 1, dtype=float)
    train = start / epoch
    return Curve(name, "#0072B2", epoch, train, train + 0.1 * np.sqrt(epoch))


def lines(figure, name):
    return [t for t in figure.data if t.legendgroup == name and "lines" in t.mode]


def test_training_is_solid_and_validation_dashed():
    train, valid = lines(loss_figure([curve()]), "GradTree")
    assert (train.line.dash, valid.line.dash) == ("solid", "dash")
    assert train.line.color == valid.line.color == "#0072B2"


def test_losses_keep_their_unit():
    one, panel = loss_figure([curve(start=40.0)]), loss_panels([curve(start=40.0)])
    assert lines(one, "GradTree")[0].y[0] == 40.0
    assert lines(panel, "GradTree")[0].y[0] == 40.0


def test_a_loss_far_above_the_baseline_is_named_at_the_edge():
    far = Curve("CART", "#6B7280", np.ones(1), np.zeros(1), np.full(1, 15.5))
    figure = loss_figure([curve(start=0.5), far], baseline=0.66)
    assert figure.layout.yaxis.range[1] < 2
    texts = [note.text for note in figure.layout.annotations]
    assert "▲ CART: 15.5 on validation rows" in texts
    assert not any("GradTree" in text for text in texts)


def test_a_baseline_far_above_all_losses_is_named_and_squeezes_none():
    figure = loss_figure([curve(start=0.01, n=4)], baseline=2.0)
    assert figure.layout.yaxis.range[1] < 1
    assert [note.text for note in figure.layout.annotations] == ["▲ baseline 2.00"]
    assert not figure.layout.shapes
    near = loss_figure([curve(start=0.6)], baseline=0.66)
    assert near.layout.yaxis.range[1] > 0.66
    assert len(near.layout.shapes) == 1


def test_losses_close_together_fill_the_chart():
    flat = replace(curve(n=9), train_loss=np.linspace(0.52, 0.5, 9))
    flat = replace(flat, valid_loss=flat.train_loss)
    low, top = loss_figure([flat], baseline=0.6).layout.yaxis.range
    assert low > 0.4
    assert top > 0.6


def test_progress_goes_to_the_end_for_every_run():
    figure = loss_figure([curve(n=3)], x_title="progress of the training (%)")
    assert figure.layout.xaxis.range[1] == 102


def test_the_dot_marks_the_lowest_validation_loss():
    one = curve()
    (dot,) = [t for t in loss_figure([one]).data if t.mode == "markers"]
    assert dot.marker.symbol == one.symbol
    assert dot.x[0] == one.x[np.argmin(one.valid_loss)]


def test_each_run_has_one_legend_entry():
    figure = loss_figure([curve("GradTree"), curve("GradTree 2")])
    named = [t.name for t in figure.data if t.showlegend is not False]
    assert named == ["GradTree", "GradTree 2", "training rows", "validation rows"]


def test_losses_not_measured_are_left_out():
    one = curve(n=4)
    holes = Curve(one.name, one.color, one.x, one.train_loss, np.full(4, np.nan))
    train, valid = lines(loss_figure([holes]), "GradTree")
    assert len(train.x) == 4
    assert len(valid.x) == 0


def test_a_single_point_is_seen():
    train, _ = lines(loss_figure([curve(n=1)]), "GradTree")
    assert "markers" in train.mode


def test_dashes_are_explained_where_both_are_drawn():
    assert len(loss_figure([]).data) == 0
    unseen = replace(curve(), valid_loss=np.full(50, np.nan))
    named = [t.name for t in loss_figure([unseen]).data if t.showlegend is not False]
    assert named == ["GradTree"]


@pytest.mark.parametrize("n_runs", [1, 2, 3, 7])
def test_every_run_has_its_panel(n_runs):
    figure = loss_panels([curve(f"run {i}") for i in range(n_runs)])
    assert len({t.xaxis for t in figure.data if t.legendgroup}) == n_runs


@pytest.mark.parametrize("n_points", [1, 600, 601, 10_000])
def test_thinning_keeps_both_ends(n_points):
    rows = thin(n_points)
    assert rows[0] == 0
    assert rows[-1] == n_points - 1
    assert len(rows) <= 600


def test_what_comes_before_a_curve_is_dotted_even_where_no_curve_is_yet():
    before = {"before_x": np.array([1.0, 30.0]), "before_loss": np.array([0.7, 0.5])}
    none = np.empty(0)
    figure = loss_figure([Curve("a", "#0072B2", none, none, none, **before)])
    (dotted,) = [trace for trace in figure.data if trace.line.dash == "dot"]
    assert dotted.y.tolist() == [0.7, 0.5]
    assert figure.layout.xaxis.range[1] > 30
    assert [trace.name for trace in figure.data if trace.showlegend] == ["a"]


def test_names_from_outside_are_escaped():
    figure = loss_figure([curve("<b>bold</b>")])
    assert "<b>" not in figure.data[0].name


def starts(figure):
    """The marks at which curves begin."""
    return [trace for trace in figure.data if trace.marker.symbol == "line-ns-open"]


@pytest.mark.parametrize("draw", [loss_figure, loss_panels])
def test_a_start_is_marked_at_the_first_point_and_named_on_hover(draw):
    begins = replace(curve("a"), start="start: a <greedy> tree")
    (mark,) = starts(draw([begins, curve("b")]))
    assert "start: a &lt;greedy&gt; tree" in mark.hovertemplate
    assert mark.x[0] == begins.x[0]
    assert mark.y[0] == begins.valid_loss[0]


def test_a_start_without_validation_stands_on_the_training_loss():
    begins = curve("a")
    begins = replace(begins, start="start", valid_loss=np.full(len(begins.x), np.nan))
    (mark,) = starts(loss_panels([begins]))
    assert mark.y[0] == begins.train_loss[0]
