"""The figure of two models' difference."""

from treelab.evaluation.paired_bootstrap import ScoreDifference
from treelab.figures.comparison import difference_figure

COLORS = ("#6B7280", "#0072B2")


def draw(low, high, names=("CART", "GradTree")):
    found = ScoreDifference("macro_f1", 0.5, 0.5 + (low + high) / 2, low, high, 9)
    return difference_figure({"macro_f1": found}, *names, colors=COLORS)


def test_a_clear_difference_has_the_better_models_colour():
    assert draw(0.01, 0.05).data[0].line.color == "#0072B2"
    assert draw(-0.05, -0.01).data[0].line.color == "#6B7280"


def test_an_interval_around_zero_is_hollow_and_grey():
    trace = draw(-0.02, 0.05).data[0]
    assert trace.marker.symbol == "circle-open"
    assert trace.line.color not in COLORS


def test_zero_stays_in_the_middle():
    low, high = draw(0.01, 0.05).layout.xaxis.range
    assert low == -high


def test_two_equal_models_can_be_drawn():
    assert draw(0.0, 0.0).layout.xaxis.range[1] > 0


def test_names_are_no_markup():
    texts = [a.text for a in draw(0.01, 0.05, ("<i>a</i>", "b")).layout.annotations]
    assert "← &lt;i&gt;a&lt;/i&gt; better" in texts
