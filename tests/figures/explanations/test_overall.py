"""Pictures of what matters overall."""

import numpy as np
import pytest

from treelab.evaluation.importance import Dependence
from treelab.figures.explanations import dependence_figure, importance_figure


@pytest.mark.parametrize("n_columns", [0, 2, 30])
@pytest.mark.parametrize("with_std", [False, True])
def test_the_most_important_columns_have_a_bar(n_columns, with_std):
    names = [f"<i>{k}" for k in range(n_columns)]
    values = np.linspace(1, -0.1, n_columns)
    std = np.full(n_columns, 0.02) if with_std else None
    figure = importance_figure(names, values, std, title="fall in R²")
    (bars,) = figure.data
    assert list(bars.x) == values[:12].tolist()
    assert (bars.error_x.array is not None) == (with_std and n_columns > 0)
    low, high = figure.layout.xaxis.range
    assert low <= min([0, *bars.x]) <= max([0, *bars.x]) <= high
    assert all("<" not in name for name in figure.layout.yaxis.ticktext or ())


@pytest.mark.parametrize("is_number", [True, False])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_mean_and_the_own_row_stand_before_the_others(is_number, mode):
    values = (
        np.array([1.0, 2.0, 5.0]) if is_number else np.array(["a", "$b", "c"], object)
    )
    lines = np.random.default_rng(0).random((150, 3))
    found = Dependence("size", values, is_number, lines)
    figure = dependence_figure(found, lines[0], title="weight", unit="mm", mode=mode)
    rows, mean, own = figure.data
    assert len(rows.x) == 50 * 4
    assert list(mean.y) == pytest.approx(found.mean.tolist())
    assert list(own.y) == lines[0].tolist()
    assert figure.layout.xaxis.title.text == "size (mm)"
    assert list(mean.x) == ([1, 2, 5] if is_number else [0, 1, 2])
    assert len(dependence_figure(found, title="weight").data) == 2
