"""The bars of estimator weights."""

import numpy as np
import pytest

from treelab.figures.ensembles import weights_figure
from treelab.figures.style import LEARNER_COLORS


def test_bars_add_up_to_the_whole_prediction():
    bars = weights_figure([317, 88], [0.94, 0.02], 1024).data[0]
    assert sum(bars.x) == pytest.approx(1)
    assert list(bars.y) == ["tree 317", "tree 88", "1,022 others"]
    assert list(bars.customdata) == [317, 88, -1]
    assert list(bars.text) == ["94%", "2%", "4%"]


def test_no_bar_stands_for_others_where_there_are_none():
    bars = weights_figure([1, 0], [0.6, 0.4], 2).data[0]
    assert list(bars.y) == ["tree 1", "tree 0"]


def test_the_tree_that_is_shown_stands_out():
    colors = weights_figure([5, 7], [0.5, 0.3], 9, shown=7).data[0].marker.color
    assert colors[1] == LEARNER_COLORS["grande"]
    assert colors[0] != colors[1]


def test_trees_that_disagree_are_hatched():
    figure = weights_figure([5, 7], [0.5, 0.3], 9, agree=np.array([True, False]))
    assert list(figure.data[0].marker.pattern.shape) == ["", "/", ""]
