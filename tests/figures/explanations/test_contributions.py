"""The bars of contributions."""

import numpy as np
import pytest

from treelab.figures.explanations import contributions_figure


@pytest.mark.parametrize("n_columns", [0, 1, 9, 30])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_each_bar_begins_where_the_one_above_ends(n_columns, mode):
    changes = np.random.default_rng(n_columns).normal(size=n_columns)
    changes = changes[np.argsort(-np.abs(changes))].tolist()
    names = [f"<b>{k}</b>" for k in range(n_columns)]
    figure = contributions_figure(names, changes, 2.0, title="weight (kg)", mode=mode)
    (bars,) = figure.data
    ends = np.array(bars.base) + np.array(bars.x)
    assert len(bars.x) <= min(n_columns, 9)
    assert sum(bars.x) == pytest.approx(sum(changes))
    assert np.allclose(bars.base[1:], ends[:-1])
    if n_columns:
        assert bars.base[0] == 2.0
        assert ends[-1] == pytest.approx(2.0 + sum(changes))
        assert bars.customdata[0] == "&lt;b&gt;0&lt;/b&gt;"
    low, high = figure.layout.xaxis.range
    assert low < 2.0 + sum(changes) < high
    if n_columns == 30:
        assert figure.layout.yaxis.ticktext[-1] == "22 others"


def test_bars_that_would_not_be_seen_are_one():
    figure = contributions_figure("abc", [9.0, 0.001, -0.0005], 0.0, title="weight")
    assert list(figure.layout.yaxis.ticktext) == ["a", "2 others"]
    assert list(figure.data[0].text) == ["+9.0", "+0.00050"]


def test_bars_have_the_colours_and_values_that_are_given():
    figure = contributions_figure(
        ["day", "age"],
        [0.3, -0.1],
        0.5,
        values=["12 May 2019", "38 years"],
        colors=("#111111", "#222222"),
        title="probability",
    )
    (bars,) = figure.data
    assert list(bars.marker.color) == ["#111111", "#222222"]
    assert list(bars.customdata) == ["day, 12 May 2019", "age, 38 years"]
    assert "12 May 2019" in figure.layout.yaxis.ticktext[0]
