"""Predictions against the truth, drawn."""

import numpy as np
import pytest

from treelab.figures.predictions import confusion_figure, scatter_figure
from treelab.figures.style import contrast, mix, palette


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_each_cell_has_its_count_in_a_colour_that_can_be_read(mode):
    confusion = np.array([[8, 2], [5, 5]])
    figure = confusion_figure(confusion, ["yes", "<b>no</b>"], mode=mode)
    cells = {(note.y, note.x): note for note in figure.layout.annotations}
    assert [cells[i, j].text for i in (0, 1) for j in (0, 1)] == ["8", "2", "5", "5"]
    colors = palette(mode)
    for (i, j), note in cells.items():
        fraction = confusion[i, j] / 10
        background = mix(colors.accent, colors.background, fraction)
        assert contrast(note.font.color, background) >= 3
    assert not any("<b>" in name for name in figure.layout.xaxis.ticktext)


def test_many_classes_are_colours_alone():
    assert not confusion_figure(np.eye(20, dtype=int), range(20)).layout.annotations


def test_values_stand_about_the_diagonal():
    truth, predicted = np.array([1.0, 5.0]), np.array([2.0, 9.0])
    diagonal, points = scatter_figure(truth, predicted, name="weight (kg)").data
    assert list(diagonal.x) == list(diagonal.y) == [1.0, 9.0]
    assert list(points.y) == [2.0, 9.0]


def test_names_of_many_classes_are_turned_so_that_all_fit():
    two, six = (confusion_figure(np.eye(n, dtype=int), range(n)) for n in (2, 6))
    assert two.layout.xaxis.tickangle == 0
    assert six.layout.xaxis.tickangle == -40


def test_a_surrogates_target_is_imitated_not_true():
    matrix = confusion_figure(np.eye(2, dtype=int), "ab", target_is="imitated")
    assert matrix.layout.yaxis.title.text == "imitated class"
    points = scatter_figure(*np.eye(2), name="weight", target_is="imitated")
    assert points.layout.xaxis.title.text == "imitated weight"


def test_predicted_times_are_drawn_as_times():
    truth, predicted = np.array([0.5, 2.0]), np.array([0.75, 1.5])
    figure = scatter_figure(truth, predicted, name="took", times=True)
    words = ("0:30", "1:00", "1:30", "2:00")
    assert figure.layout.xaxis.ticktext == figure.layout.yaxis.ticktext == words
    texts = [list(own) for own in figure.data[1].customdata]
    assert texts == [["0:30", "0:45"], ["2:00", "1:30"]]
